"""Reading a file that claims to be a project. Nothing of it is trusted, and nothing is unpacked to disk."""

import hashlib
import json
import re
import zipfile
import zlib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any
from uuid import UUID

from django.contrib.postgres.fields import ArrayField
from django.db import models

from notebook_app.public import Row, TakenTable
from reflection_app.core.audit import hand_of
from reflection_app.core.errors import InvalidInput, shortened
from reflection_app.core.models import Project
from reflection_app.teams.archive.tables import REMOVED, TABLES, Column, is_of_person, key_in_file
from reflection_app.teams.archive.writing import FORMAT, MANIFEST, VERSION

# Larger ones are taken in by whoever raises them on purpose: the command has an option for it.
MOST_BYTES = 8 * 2**30
LONGEST_LINE = 64 * 2**20
LONGEST_MANIFEST = 4 * 2**20
ENCRYPTED = 0x1
COMPRESSIONS = frozenset({zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED})
FILES = frozenset({MANIFEST, *(f"{name}.jsonl" for name in (*(table.name for table in TABLES), *REMOVED))})


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
def opened(path: Path | IO[bytes], *, most_bytes: int = MOST_BYTES) -> Iterator[Archive]:
    """The file, open. Raises InvalidInput for whatever is no zip of just the files that a project has."""
    try:
        with zipfile.ZipFile(path) as found:
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
            yield Archive(found, most_bytes=most_bytes, names=frozenset(names))
    except (zipfile.BadZipFile, zipfile.LargeZipFile, zlib.error, EOFError, OSError) as error:
        raise refuse("file", f"it cannot be read: {error}") from error


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


# New ids for what a file brings: the same one wherever the old one stands, in the same order, and never one in use.

UUIDS = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}")
# The first half of an id is its time, by which rows are in order; the other half is chance.
KEPT_BYTES = 8
VARIANT_AND_BELOW = 0x3F
VARIANT = 0x80


@dataclass
class Identities:
    """The ids that a file brings, by table. New ones are made with `salt`, the new project's own id.

    Whoever made the file does not know the salt, so no id in it can be chosen to become that of a row there is.
    """

    salt: UUID
    # The id that the project had where it came from; it stands for the new project.
    former: UUID | None = None
    known: dict[str, set[bytes]] = field(default_factory=dict)

    def add(self, table: str, old: UUID) -> bool:
        """Whether the id is new to the table; it is known from here on."""
        ids = self.known.setdefault(table, set())
        if old.bytes in ids:
            return False
        ids.add(old.bytes)
        return True

    def is_in(self, table: str, old: UUID) -> bool:
        return old.bytes in self.known.get(table, ())

    def is_known(self, old: UUID) -> bool:
        return old == self.former or any(old.bytes in ids for ids in self.known.values())

    def new(self, old: UUID) -> UUID:
        """The new id, for whichever old one."""
        if old == self.former:
            return self.salt
        chance = bytearray(hashlib.blake2b(old.bytes, key=self.salt.bytes, digest_size=16 - KEPT_BYTES).digest())
        chance[0] = chance[0] & VARIANT_AND_BELOW | VARIANT
        return UUID(bytes=old.bytes[:KEPT_BYTES] + bytes(chance))

    def in_text(self, text: str) -> str:
        """The text with every id of the file in it made new."""
        return UUIDS.sub(lambda found: self._renewed(found[0]), text)

    def in_json(self, value: Any) -> Any:
        """The value with every text in it that is an id of the file made new. Words that mention one stay as said."""
        if isinstance(value, str):
            return self._renewed(value) if UUIDS.fullmatch(value) else value
        if isinstance(value, list):
            return [self.in_json(one) for one in value]
        if isinstance(value, dict):
            return {self.in_json(key): self.in_json(one) for key, one in value.items()}
        return value

    def _renewed(self, text: str) -> str:
        old = UUID(text)
        return str(self.new(old)) if self.is_known(old) else text


def cycle_in(parents: dict[UUID, UUID]) -> UUID | None:
    """One of the ids that lead back to themselves, where there is such a one."""
    settled: set[UUID] = set()
    for start in parents:
        path: set[UUID] = set()
        at: UUID | None = start
        while at is not None and at not in settled:
            if at in path:
                return at
            path.add(at)
            at = parents.get(at)
        settled |= path
    return None


# One row of a file as it is to be written: checked column by column, with new ids and this desk's own people.

# Whose work a run is, by names; where none of them is known here, it is `UNKNOWN_HAND` until the run is given an owner.
HANDS = "handed_in_by"
UNKNOWN_HAND = "unknown"
FILE_OF = {table.model: table.name for table in TABLES}


@dataclass(frozen=True)
class Renewal:
    """What rows are made new with. `people` are this desk's users that count as those of the file, by name."""

    project: Project
    identities: Identities
    people: Mapping[str, int]

    def row(self, table: TakenTable, columns: Sequence[Column], given: Row, *, where: str) -> Row | None:
        """The row by columns of the database; None where it is about a person who is not here. `columns` are the
        table's `columns_of`.

        Raises InvalidInput where it is no row of the table, or refers to something that is not in the file.
        """
        strange = given.keys() - {key_in_file(column) for column in columns} - table.dropped
        if strange:
            raise refuse(where, f"there is no column {min(strange)!r}; is the file of a newer desk?")
        row = {column.attname: self._value(column, given, where=where) for column in columns}
        if any(is_of_person(column) and not column.null and row[column.attname] is None for column in columns):
            return None
        for column in table.model._meta.concrete_fields:  # noqa: SLF001 - Django's documented API
            if column.name in table.without:
                # The file does not bring it: it is what a new row would have there.
                row[column.attname] = _default(column)
            if column.attname == "project_id":
                row["project_id"] = str(self.project.pk)
        return table.mended(row) if table.mended else row

    def _value(self, column: Column, given: Row, *, where: str) -> Any:
        key = key_in_file(column)
        value = given.get(key, [""] if key == HANDS else _default(column))
        place = f"{where}, {key}"
        if value is None:
            return None
        if is_of_person(column):
            return self.people.get(value) if isinstance(value, str) else None
        if column.related_model is not None:
            old, table = _uuid(value, place=place), FILE_OF.get(column.related_model)
            if table is None or not self.identities.is_in(table, old):
                raise refuse(place, "it refers to a row that is not in the file")
            return str(self.identities.new(old))
        if isinstance(column, models.UUIDField):
            return str(self.identities.new(_uuid(value, place=place)))
        if isinstance(column, models.JSONField):
            return self.identities.in_json(value)
        if not isinstance(column, models.CharField | models.TextField | ArrayField):
            return value
        texts = value if isinstance(column, ArrayField) else [value]
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise refuse(place, "it is no text")
        if column.choices and value not in {choice for choice, _ in column.flatchoices} | (
            {""} if column.blank else set()
        ):
            raise refuse(place, f"{value[:60]!r} is none of the things that it can be")
        if column.attname == HANDS:
            known = [hand_of(self.people[name]) for name in texts if name in self.people]
            return known or [UNKNOWN_HAND for _name in texts[:1]]
        if any("\0" in text for text in texts):
            raise refuse(place, "there is a NUL in it, which cannot be stored")
        # Names and sources are made of ids; in whatever people and models said, ids stay as they were said.
        return self.identities.in_text(value) if type(column) is models.CharField else value


def _default(column: Column) -> Any:
    if column.has_default():
        value = column.get_default()
        return str(value) if isinstance(value, UUID) else value
    return None if column.null else ""


def _uuid(value: Any, *, place: str) -> UUID:
    if not isinstance(value, str) or not UUIDS.fullmatch(value):
        raise refuse(place, "it is no id")
    return UUID(value)
