"""The one stylesheet of all pages, put together from the files in static/css whenever it is collected or asked for.

A page asks for one file in place of forty; what is read and changed stays one small file for each thing it styles.
"""

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from django.conf import settings
from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage

NAME = "css/desk.css"
# The first orders the cascade's layers. Of two rules of one layer that weigh the same the later one holds, so that what
# styles one page stands behind what styles all.
ORDER = """
    tokens base layout controls toasts lists start run attachments graph plan session review review-undo review-keys
    review-item review-edit review-queue queues panel bulk fork tools webhooks alerts failures reports people accounts
    questions tickets completeness conflicts policy rubric notebook import reflectors audit code lift rules metrics
    dashboards datasets keeping calibration comparisons search marks utilities
""".split()  # noqa: SIM905 - a list of forty quoted names is harder to read


def sources() -> list[Path]:
    """The files it is made of, in their order."""
    return [settings.BASE_DIR / "static" / "css" / f"{name}.css" for name in ORDER]


class StylesheetFinder(BaseFinder):
    """Finds the one file, and writes it into the data folder where a source is newer than it."""

    def find(self, path: str, find_all: bool = False) -> Any:
        if path != NAME:
            return []
        found = _storage().path(NAME)
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        yield NAME, _storage()


def _storage() -> FileSystemStorage:
    """A storage that holds the stylesheet as its sources are now."""
    storage = FileSystemStorage(location=settings.DATA_DIR / "stylesheet")
    made = Path(storage.path(NAME))
    if not made.exists() or made.stat().st_mtime < max(part.stat().st_mtime for part in sources()):
        made.parent.mkdir(parents=True, exist_ok=True)
        # In one step: who is served it meanwhile gets the old one or the new one whole.
        fresh = made.with_suffix(".new")
        fresh.write_text("\n".join(part.read_text() for part in sources()))
        fresh.replace(made)
    return storage
