"""ZIP, TAR and compressed files, and the packages of Office: read through once, within bounds.

Nothing is written anywhere: entries are unfolded piece by piece, and what unfolds too far ends the inspection.
"""

import bz2
import gzip
import io
import lzma
import tarfile
import zipfile
import zlib
from typing import Any
from xml.parsers import expat

from reflection_app.adapters.files.inside.found import Found, UnfoldsTooFar
from reflection_app.adapters.files.inside.kinds import LOCKED, TAR, ZIP, kind_of_bytes
from reflection_app.loops.completeness.file_codes import FaultCode

PIECE = 65_536
MEGABYTE = 1_000_000
# What unfolds to less than this harms nobody, however well it was packed.
HARMLESS = 64 * MEGABYTE
MOST_RATIO = 200
MOST_UNFOLDED = 2_000 * MEGABYTE
# Read through until here; the rest is not inspected.
MOST_READ = 400 * MEGABYTE
MOST_ENTRIES = 20_000
DEEPEST = 4
LARGEST_INNER = 32 * MEGABYTE
OPENERS: dict[str, Any] = {
    "application/gzip": gzip.open,
    "application/x-bzip2": bz2.open,
    "application/x-xz": lzma.open,
}
BROKEN = (zipfile.BadZipFile, tarfile.TarError, zlib.error, lzma.LZMAError, EOFError, ValueError, OSError, RuntimeError)


class Counted(io.RawIOBase):
    """A stream that ends the inspection once more was read from it than its archive may unfold to."""

    def __init__(self, stream: Any, budget: "Budget") -> None:
        self.stream, self.budget = stream, budget

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        block = self.stream.read(min(len(buffer), PIECE))
        self.budget.spend(len(block))
        buffer[: len(block)] = block
        return len(block)


class Budget:
    """How much one file may unfold to, with all that is in it."""

    def __init__(self, packed: int, found: Found) -> None:
        self.packed, self.found, self.unfolded = packed, found, 0

    def spend(self, count: int) -> None:
        """Count what was unfolded. Raises UnfoldsTooFar."""
        self.unfolded += count
        self.check(self.unfolded)

    def check(self, unfolded: int) -> None:
        if unfolded > MOST_UNFOLDED or (unfolded > HARMLESS and unfolded > MOST_RATIO * max(self.packed, 1)):
            raise UnfoldsTooFar(f"{unfolded // MEGABYTE:,} MB")

    def has_room(self) -> bool:
        """Return True if reading may go on; if not, the inspection is not whole."""
        if self.unfolded >= MOST_READ:
            self.found.is_whole = False
        return self.found.is_whole and self.found.has_time()


def inspect_archive(content: bytes, found: Found) -> None:
    """Read an archive through, and the ZIP files inside of it. Raises UnfoldsTooFar."""
    budget = Budget(len(content), found)
    try:
        if found.media_type == ZIP:
            inspect_zip(content, found, budget=budget)
        elif found.media_type == TAR:
            inspect_tar(io.BytesIO(content), found, budget=budget)
        else:
            stream = io.BufferedReader(Counted(OPENERS[found.media_type](io.BytesIO(content)), budget), PIECE)
            if kind_of_bytes(stream.peek(512)) == TAR:
                inspect_tar(stream, found, budget=budget)
            while stream.read(PIECE) and budget.has_room():
                pass
    except BROKEN as error:
        add_fault(error, found, place="")


def add_fault(error: Exception, found: Found, *, place: str) -> None:
    """Add what a library's error means."""
    words = str(error)
    is_cut = isinstance(error, EOFError) or "unexpected end" in words or "not a zip file" in words
    if isinstance(error, NotImplementedError):  # a compression that nobody here knows
        found.is_whole = False
    elif "password" in words:
        found.fault(FaultCode.ENCRYPTED, place=place)
    elif "Overlapped" in words:
        found.fault(FaultCode.UNFOLDS, place=place, actual=words)
    else:
        found.fault(
            FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE, place=place, actual="" if is_cut else words
        )


def inspect_zip(content: bytes, found: Found, *, budget: Budget, path: str = "", depth: int = 0) -> None:
    if depth > DEEPEST:
        raise UnfoldsTooFar(path)
    archive = zipfile.ZipFile(io.BytesIO(content))
    infos = archive.infolist()
    if not depth:
        found.entries = [info.filename for info in infos]
    budget.check(sum(info.file_size for info in infos))
    found.is_whole = found.is_whole and len(infos) <= MOST_ENTRIES
    for info in infos[:MOST_ENTRIES]:
        place = f"{path}{info.filename}"
        check_target(tarfile.TarInfo(info.orig_filename), found, place=place)
        inner = read_entry(archive, info, found, budget=budget, place=place)
        if inner and kind_of_bytes(inner) == ZIP:
            try:
                inspect_zip(inner, found, budget=budget, path=f"{place}/", depth=depth + 1)
            except BROKEN as error:
                add_fault(error, found, place=f"{place}/")
        if not budget.has_room():
            return


def read_entry(archive: zipfile.ZipFile, info: zipfile.ZipInfo, found: Found, *, budget: Budget, place: str) -> bytes:
    """The entry; empty if it is larger than what is read of archives inside of archives, or broken."""
    read = bytearray()
    try:
        with archive.open(info) as entry:
            while (block := entry.read(PIECE)) and budget.has_room():
                budget.spend(len(block))
                if len(read) <= LARGEST_INNER:
                    read += block
    except BROKEN as error:
        add_fault(error, found, place=place)
        return b""
    return bytes(read) if len(read) <= LARGEST_INNER else b""


def inspect_tar(stream: Any, found: Found, *, budget: Budget) -> None:
    with tarfile.open(fileobj=stream, mode="r|") as archive:
        for member in archive:
            found.entries.append(member.name)
            check_target(member, found, place=member.name)
            entry = archive.extractfile(member) if member.isreg() else None
            size = 0
            while entry and (block := entry.read(PIECE)):
                size += len(block)
                if not budget.has_room():
                    return
            if entry and size < member.size:
                raise EOFError
            if len(found.entries) >= MOST_ENTRIES or not budget.has_room():
                found.is_whole = False
                return


def check_target(member: tarfile.TarInfo, found: Found, *, place: str) -> None:
    """Add a fault where unpacking would write outside of its folder, or make a device."""
    name, why = member.name.replace("\\", "/"), ""
    try:
        tarfile.data_filter(member.replace(name=name, deep=False), "/unpacked")
    except tarfile.FilterError as error:
        why = type(error).__name__
    if why or name.startswith("/") or name[1:2] == ":":
        found.fault(FaultCode.UNSAFE_ENTRY, place=place, actual=why)


UNKNOWN_ENCODING = expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]


class Stopped(Exception):
    """The XML was read as far as it is needed."""


def check_office_package(content: bytes, found: Found) -> bool:
    """Return True if a library may open the package: its parts are whole, and none is a bomb."""
    if found.media_type == LOCKED:
        found.fault(FaultCode.ENCRYPTED)
        return False
    budget = Budget(len(content), found)
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
        budget.check(sum(info.file_size for info in archive.infolist()))
    except BROKEN as error:
        add_fault(error, found, place="")
        return False
    for info in archive.infolist():
        part = read_entry(archive, info, found, budget=budget, place=info.filename)
        # Relations may lead to a part of any name, and libraries parse it as XML whatever that is.
        if part and has_entities(part):
            found.fault(FaultCode.UNFOLDS, place=info.filename, actual="<!ENTITY>")
    return found.is_whole and not found.faults


def has_entities(part: bytes) -> bool:
    """Return True if entities are defined before the first element, or the part is in an encoding that hides them.

    No writer of Office files defines any, and bombs are made of them. Nothing after the first element is read.
    """
    parser = expat.ParserCreate()
    seen: list[object] = []

    def define(*names: object) -> None:
        seen.extend(names)
        raise Stopped

    def start(*_: object) -> None:
        raise Stopped

    parser.EntityDeclHandler, parser.StartElementHandler = define, start
    try:
        parser.Parse(part, True)
    except Stopped:
        return bool(seen)
    except (ValueError, LookupError):
        return True
    except expat.ExpatError as error:
        return error.code == UNKNOWN_ENCODING
    return False
