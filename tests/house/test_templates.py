"""Templates lie with their subject: what names one finds it, and none lies there that nobody names."""

import re
from pathlib import Path

from django.conf import settings

TEMPLATES = Path(settings.BASE_DIR) / "templates"
NAMED = re.compile(r"[\"']([\w/-]+\.html)(?:#\w+)?[\"']")
# What Django and its apps look for by names of their own.
OF_OTHERS = {"account", "mfa", "socialaccount", "usersessions"}
OF_DJANGO = {f"{status}.html" for status in (400, 403, 404, 429, 500)} | {"403_csrf.html"}


def sources() -> list[Path]:
    code = [*Path(settings.BASE_DIR, "reflection_app").rglob("*.py"), *TEMPLATES.rglob("*.html")]
    return [path for path in code if "migrations" not in path.parts]


def test_every_template_that_is_named_is_there_and_every_one_is_named() -> None:
    named = {name for source in sources() for name in NAMED.findall(source.read_text())}
    there = {str(path.relative_to(TEMPLATES)) for path in TEMPLATES.rglob("*.html")}
    ours = {name for name in there if name.split("/")[0] not in OF_OTHERS} - OF_DJANGO
    assert ours <= named, f"nobody names {ours - named}"
    assert {name for name in named if name.split("/")[0] not in {*OF_OTHERS, "allauth", "rest_framework"}} <= there
