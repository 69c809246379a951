"""The tree in CONTRIBUTING.md is the tree that is there."""

import re
from pathlib import Path

from django.conf import settings

BASE = Path(settings.BASE_DIR)
OF_DJANGO = {"management", "migrations"}


def test_the_tree_that_is_drawn_is_the_tree_that_is_there() -> None:
    tree = (BASE / "CONTRIBUTING.md").read_text().partition("```\n")[2].partition("```")[0]
    drawn = {
        name for line in tree.splitlines()[1:] if line.startswith("  ") for name in re.findall(r"([a-z]+)/  ", line)
    }
    there = {path.parent.name for path in BASE.glob("reflection_app/*/__init__.py")} - OF_DJANGO
    assert drawn == there


def test_every_subject_that_has_pages_has_templates_and_tests() -> None:
    for pages in BASE.glob("reflection_app/*/pages*"):
        subject = pages.parent.name
        if subject == "web":  # its templates are those that all pages share
            continue
        assert (BASE / "templates" / subject).is_dir(), subject
        assert list((BASE / "tests" / subject).glob("test_*.py")), subject
