"""The libraries that read files, where they are installed: the folders that the sandbox shows, read-only."""

import compileall
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from desk_sandbox.bwrap import get_interpreter, shared_libraries

# Top-level modules, those of what they need beside them.
MODULES = (
    *("openpyxl", "et_xmlfile", "docx", "pptx", "lxml", "xlsxwriter", "typing_extensions", "PIL"),
    *("pypdfium2", "pypdfium2_raw", "pypdfium2_cfg", "pyarrow", "markdown_it", "mdurl", "jsonschema_rs"),
)
# Shared libraries that wheels keep in folders of their own.
BESIDE = ("pillow.libs", "lxml.libs", "pyarrow.libs")

TESTS = re.compile(r"/tests?/|/include/")


@dataclass(frozen=True)
class Libraries:
    """Host paths to show at the same place inside, and where modules are looked for there."""

    shown: tuple[str, ...]
    path: tuple[str, ...]


@cache
def get_libraries() -> Libraries:
    """Those that are installed; what is missing is found out by whoever needs it."""
    places = list(dict.fromkeys(place for name in MODULES for place in places_of(name)))
    folders = list(dict.fromkeys(place.parent for place in places))
    compile_once(places)
    places += [folder / name for folder in folders for name in BESIDE if (folder / name).is_dir()]
    return Libraries(
        shown=(*map(str, places), *system_libraries(places)),
        path=tuple(map(str, folders)),
    )


def compile_once(places: list[Path]) -> None:
    """Compiles what is not: nothing may be written inside, and so each process would compile it again for itself.

    It takes some seconds once, and nothing where it may not be written.
    """
    for place in places:
        if place.is_dir() and os.access(place, os.W_OK):
            compileall.compile_dir(place, quiet=2, rx=TESTS)


def places_of(name: str) -> Iterator[Path]:
    """The folder of a package or the file of a module, nothing where it is not installed."""
    spec = find_spec(name)
    if spec is not None and spec.submodule_search_locations:
        yield from map(Path, spec.submodule_search_locations)
    elif spec is not None and spec.origin is not None:
        yield Path(spec.origin)


def system_libraries(places: list[Path]) -> Iterator[str]:
    """What the loader would load for them from the host, beside what the interpreter has."""
    binaries = sorted({str(path) for place in places if place.is_dir() for path in place.rglob("*.so*")})
    known = {*get_interpreter().shown}
    for library in shared_libraries(*binaries) if binaries else ():
        path = Path(library)
        if library not in known and not any(path.resolve().is_relative_to(place.resolve()) for place in places):
            yield library
