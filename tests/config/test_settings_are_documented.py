import re
from pathlib import Path

from django.conf import settings

from reflection_app.config import env

ROW = re.compile(r"^\| `([A-Z_]+)` \|\s*(.*?)\s*\|\s*(.*?)\s*\|$", re.MULTILINE)
NONE = {"–", "—", "unset", "none"}


def rows_of_readme() -> dict[str, tuple[str, str]]:
    text = (Path(settings.BASE_DIR) / "README.md").read_text()
    found = {name: (default.strip("`"), meaning) for name, default, meaning in ROW.findall(text)}
    return {name: ("" if default in NONE else default, meaning) for name, (default, meaning) in found.items()}


def test_every_setting_stands_in_the_readme_and_no_other() -> None:
    assert rows_of_readme().keys() == env.DOCUMENTED.keys()


def test_the_readme_names_each_settings_default_and_meaning() -> None:
    shown = rows_of_readme()
    expected = {name: (variable.default, variable.meaning) for name, variable in env.DOCUMENTED.items()}

    assert {name: shown[name] for name in expected if name in shown} == expected
