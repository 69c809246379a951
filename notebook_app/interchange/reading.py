"""Reading files that somebody handed in, one by one or in a ZIP archive: entries, and what could not be read."""

import io
import json
import struct
import zipfile
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from pydantic import ValidationError

from notebook_app.interchange.formats import (
    MOST_ITEMS,
    MOST_PROBLEMS,
    ImportItem,
    Problem,
    Unreadable,
    is_note,
    is_record,
    is_report,
    read_line,
    read_markdown,
    read_note,
    read_record,
    read_report,
)
from notebook_app.kinds import UnusableDetails, read_details, storable

LARGEST_FILE = 10_000_000
# Of one file, good and bad ones.
MOST_LOOKED_AT = 2 * MOST_ITEMS
# What all archives together unpack to: a bomb unpacks to any size.
LARGEST_UNPACKED = 50_000_000
MOST_FILES = 6_000
LONGEST_NAME = 300
MOST_ERRORS_NAMED = 1_000
ZIP = b"PK\x03\x04"
# Python unpacks the other methods whole, however little of a file is asked for.
UNPACKED_PIECEWISE = (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED)
# What a damaged archive makes zipfile raise.
DAMAGED = (
    zipfile.BadZipFile,
    NotImplementedError,
    RuntimeError,
    OSError,
    EOFError,
    ValueError,
    zlib.error,
    struct.error,
)
NUL = "\x00"


@dataclass(frozen=True)
class HandedIn:
    """A file as it came. Its name is told to people and looked at for its ending; it is no path to anything."""

    name: str
    content: bytes


@dataclass
class Readings:
    """What the files hold."""

    items: list[ImportItem] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    # The notes that an index lists, by their keys, with the index's own name.
    listed: dict[str, str] = field(default_factory=dict)
    left_to_unpack: int = LARGEST_UNPACKED

    def add(self, items: Iterable[ImportItem]) -> None:
        for item in items:
            if len(self.items) >= MOST_ITEMS:
                self.blame(item.file, "", f"only the first {MOST_ITEMS:,} entries are read at once")
                return
            self.items.append(item)

    def blame(self, file: str, where: str, message: str) -> None:
        if len(self.problems) < MOST_PROBLEMS:
            self.problems.append(Problem(storable(file), storable(where), storable(message[:500])))


def read_files(files: Sequence[HandedIn]) -> Readings:
    """All that can be read of the files; what cannot is told and stops nothing else."""
    found = Readings()
    for file in files:
        name = file.name[:LONGEST_NAME]
        if len(file.content) > LARGEST_FILE:
            found.blame(name, "", f"is larger than {LARGEST_FILE:,} bytes")
        elif file.content.startswith(ZIP):
            for inside, text in _unpacked(name, file.content, found):
                _read_text(inside, text, found)
        elif (whole := _decoded(name, file.content, found)) is not None:
            _read_text(name, whole, found)
    for missing in found.listed.keys() - {item.key for item in found.items}:
        found.blame(found.listed[missing], missing.removeprefix("note:"), "is listed, and its own file is not there")
    return found


def _unpacked(archive: str, content: bytes, found: Readings) -> Iterator[tuple[str, str]]:
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as opened:
            for number, inside in enumerate(opened.infolist()):
                if number >= MOST_FILES:
                    found.blame(archive, "", f"only the first {MOST_FILES:,} files of an archive are read")
                    return
                if inside.is_dir():
                    continue
                if inside.compress_type not in UNPACKED_PIECEWISE:
                    found.blame(archive, inside.filename[:LONGEST_NAME], "is packed in a way that is not read")
                    continue
                # Not what the archive says of its size, which it may say wrongly.
                with opened.open(inside) as unpacking:
                    raw = unpacking.read(min(LARGEST_FILE, found.left_to_unpack) + 1)
                found.left_to_unpack = max(0, found.left_to_unpack - len(raw))
                if not found.left_to_unpack or len(raw) > LARGEST_FILE:
                    found.blame(archive, inside.filename[:LONGEST_NAME], "unpacks to more than is read")
                    return
                if (text := _decoded(inside.filename[:LONGEST_NAME], raw, found)) is not None:
                    yield inside.filename[:LONGEST_NAME], text
    except DAMAGED as error:
        found.blame(archive, "", f"is no archive that can be read: {error}")


def _decoded(name: str, content: bytes, found: Readings) -> str | None:
    try:
        text = content.decode("utf-8-sig")
    except UnicodeDecodeError:
        found.blame(name, "", "is no text in UTF-8")
        return None
    if NUL in text:
        found.blame(name, "", "holds a NUL character")
        return None
    return text


def _read_text(name: str, text: str, found: Readings) -> None:
    ending = name.rsplit(".", 1)[-1].lower()
    if ending in {"md", "markdown"}:
        _keep(found, name, "", lambda: [read_markdown(text, file=name)])
    elif ending in {"jsonl", "ndjson"}:
        # Not at what else Unicode calls a line's end: that stands inside of texts as it is.
        lines = (numbered for numbered in enumerate(text.split("\n"), start=1) if numbered[1].strip())
        for looked_at, (number, line) in enumerate(lines):
            if looked_at >= MOST_LOOKED_AT:
                found.blame(name, f"line {number}", f"only the first {MOST_LOOKED_AT:,} of a file are looked at")
                return
            _read_json(name, f"line {number}", line, found)
    elif ending == "json":
        _read_json(name, "", text, found)
    else:
        found.blame(name, "", "is none of .json, .jsonl, .md and .zip")


def _read_json(name: str, where: str, text: str, found: Readings) -> None:
    try:
        value = json.loads(text)
    except (ValueError, RecursionError) as error:
        found.blame(name, where, f"is not JSON: {error}")
        return
    if isinstance(value, list):
        if len(value) > MOST_LOOKED_AT:
            found.blame(name, where, f"only the first {MOST_LOOKED_AT:,} of a list are looked at")
        for number, one in enumerate(value[:MOST_LOOKED_AT], start=1):
            _keep(found, name, f"{where or 'item'} {number}".strip(), lambda one=one: _entries(one, file=name))
    elif isinstance(value, dict) and isinstance(value.get("entries"), list) and "description" not in value:
        # An index: only the metadata of the files beside it, which are read themselves.
        found.listed |= {
            f"note:{one['id']}": name for one in value["entries"][:MOST_ITEMS] if isinstance(one, dict) and "id" in one
        }
    else:
        _keep(found, name, where, lambda: _entries(value, file=name))


def _entries(value: Any, *, file: str) -> list[ImportItem]:
    if is_report(value):
        return read_report(value, file=file)
    if isinstance(value, dict) and "kind" not in value and is_note(value):
        return [read_note(value, file=file)]
    if is_record(value):
        return [read_record(value, file=file)]
    return [read_line(value, file=file)]


def _keep(found: Readings, name: str, where: str, read: Any) -> None:
    try:
        items = read()
        for item in items:
            item.details = read_details(item.kind, item.details)
        found.add(items)
    except (Unreadable, UnusableDetails) as error:
        found.blame(name, where, str(error))
    except ValidationError as error:
        if error.error_count() > MOST_ERRORS_NAMED:
            found.blame(name, where, f"{error.error_count():,} things are wrong with it")
            return
        errors = error.errors(include_url=False, include_input=False, include_context=False)
        found.blame(name, where, "; ".join(f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in errors[:3]))
