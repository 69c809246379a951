"""Plotly's script as a static file: that of the installed package, at an address that changes with its version."""

from collections.abc import Iterable, Iterator
from functools import cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from django.contrib.staticfiles.finders import BaseFinder
from django.core.files.storage import FileSystemStorage
from django.template import Library
from django.templatetags.static import static

register = Library()
FILE = "plotly.min.js"


@cache
def folder() -> str:
    return f"plotly-{version('plotly')}"


@cache
def _storage() -> FileSystemStorage:
    # The package is found and not imported: its import takes seconds, and nothing of it is needed here.
    spec = find_spec("plotly")
    if spec is None or spec.origin is None:
        raise RuntimeError("the package plotly, which has the script of the charts, is not installed")
    storage = FileSystemStorage(location=Path(spec.origin).parent / "package_data")
    storage.prefix = folder()  # type: ignore[attr-defined]  # read by Django and whitenoise
    return storage


class PlotlyFinder(BaseFinder):
    """Finds the one file and nothing else of the package's folder."""

    def find(self, path: str, find_all: bool = False) -> Any:
        if path != f"{folder()}/{FILE}":
            return []
        found = _storage().path(FILE)
        return [found] if find_all else found

    def list(self, ignore_patterns: Iterable[str] | None) -> Iterator[tuple[str, FileSystemStorage]]:
        yield FILE, _storage()


@register.simple_tag
def plotly_script() -> str:
    """The address of the script."""
    return static(f"{folder()}/{FILE}")
