"""Reading a file that claims to be a project. Nothing of it is trusted, and nothing is unpacked to disk."""

import json
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from reflection_app.core.errors import InvalidInput, shortened
from reflection_app.teams.archive.tables import TABLES
from reflection_app.teams.archive.writing import FORMAT, MANIFEST, VERSION

# Larger ones are taken in by whoever raises them on purpose: the command has an option for it.
MOST_BYTES = 8 * 2**30
LONGEST_LINE = 64 * 2**20
LONGEST_MANIFEST = 4 * 2**20
ENCRYPTED = 0x1
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
FILES = frozenset({MANIFEST, *(f"{table.name}.jsonl" for table in TABLES)})


def refuse(where: str, why: str) -> InvalidInput:
    """The refusal of a file, naming the place in it."""
    return InvalidInput(f"{where}: {why}", errors=[{"field": where, "message": shortened(why, 500)}])


@dataclass
class Archive:
    """An open file. What was read of it is counted as it comes: what a zip says of its sizes may be a lie."""

    zip: zipfile.ZipFile
    most_bytes: int
    names: frozenset[str]
    read: int = field(default=0)

    def manifest(self) -> dict[str, Any]:
        """What the file says of itself. Raises InvalidInput where it is no project, or of a newer kind."""
        with self.zip.open(MANIFEST) as file:
            found = _parsed(self._counted(file.read(LONGEST_MANIFEST + 1)), where=MANIFEST, longest=LONGEST_MANIFEST)
        if found.get("format") != FORMAT:
            raise refuse(MANIFEST, "this is no project of a Reflection Desk")
        if found.get("version") != VERSION:
            raise refuse(MANIFEST, f"its version is {found.get('version')!r}; this desk reads {VERSION}")
        return found

    def lines(self, table: str) -> Iterator[tuple[int, dict[str, Any]]]:
        """The rows of a table with their line numbers; none where the file has no such table."""
        name = f"{table}.jsonl"
        if name not in self.names:
            return
        # A first reading may have counted it; each reading has to keep within bounds by itself.
        self.read = 0
        with self.zip.open(name) as file:
            for number in range(1, 2**63):
                line = self._counted(file.readline(LONGEST_LINE + 1))
                if not line:
                    return
                if line.strip():
                    yield number, _parsed(line, where=f"{name}, line {number}", longest=LONGEST_LINE)

    def _counted(self, content: bytes) -> bytes:
        self.read += len(content)
        if self.read > self.most_bytes:
            raise refuse("file", f"it holds more than {self.most_bytes:,} bytes")
        return content


@contextmanager
def opened(path: Path, *, most_bytes: int = MOST_BYTES) -> Iterator[Archive]:
    """The file, open. Raises InvalidInput for whatever is no zip of just the files that a project has."""
    try:
        with zipfile.ZipFile(path) as found:
            yield Archive(found, most_bytes=most_bytes, names=_checked(found, most_bytes=most_bytes))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError) as error:
        raise refuse("file", f"it cannot be read: {error}") from error


def _checked(found: zipfile.ZipFile, *, most_bytes: int) -> frozenset[str]:
    infos = found.infolist()
    names = [info.filename for info in infos]
    strange = sorted(set(names) - FILES)
    if strange:
        raise refuse("file", f"there is something in it that no project has: {shortened(strange[0], 200)!r}")
    if len(names) != len(set(names)):
        raise refuse("file", "a name is in it twice")
    if any(info.flag_bits & ENCRYPTED or info.compress_type not in COMPRESSIONS for info in infos):
        raise refuse("file", "it is encrypted, or compressed in a way that this desk does not read")
    if MANIFEST not in names:
        raise refuse("file", f"there is no {MANIFEST} in it")
    if sum(info.file_size for info in infos) > most_bytes:
        raise refuse("file", f"it holds more than {most_bytes:,} bytes")
    return frozenset(names)


def _parsed(text: bytes, *, where: str, longest: int) -> dict[str, Any]:
    if len(text) > longest:
        raise refuse(where, f"it is longer than {longest:,} bytes")
    try:
        value = json.loads(text, parse_constant=_no_constant)
    except (ValueError, RecursionError) as error:
        raise refuse(where, f"it is no JSON: {error}") from None
    if not isinstance(value, dict):
        raise refuse(where, "it is no JSON object")
    return value


def _no_constant(name: str) -> float:
    raise ValueError(f"{name} is no number")
