"""The front door of the documentation: length, links, and names that exist."""

import re
from pathlib import Path

import pytest
from django.conf import settings

BASE = Path(settings.BASE_DIR)
PAGES = sorted(
    path.relative_to(BASE)
    for pattern in ("README.md", "CONTRIBUTING.md", "docs/**/*.md", "client/README.md", "packages/*/README.md")
    for path in BASE.glob(pattern)
)
LINK = re.compile(r"\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.*)$", re.MULTILINE)


def anchors_of(page: Path) -> set[str]:
    """Return the anchors that GitHub gives the page's headings."""
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in HEADING.findall(page.read_text())}


@pytest.mark.parametrize("page", PAGES, ids=str)
def test_links_lead_somewhere(page: Path) -> None:
    text = (BASE / page).read_text()
    for link in LINK.findall(text):
        if "://" in link or link.startswith("mailto:"):
            continue
        path, _, anchor = link.partition("#")
        target = (BASE / page).parent / path if path else BASE / page
        assert target.exists(), link
        assert not anchor or anchor in anchors_of(target), link


def test_the_readme_is_short() -> None:
    assert len((BASE / "README.md").read_text().split()) <= 600


def test_every_page_is_in_the_index() -> None:
    index = BASE / "docs" / "index.md"
    linked = {(index.parent / link.partition("#")[0]).resolve() for link in LINK.findall(index.read_text())}
    assert {path for path in BASE.glob("docs/**/*.md") if path != index} <= linked
