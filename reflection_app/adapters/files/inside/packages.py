"""Zip, tar and compressed files: listed, and read once through to know that they are whole, within bounds.

Nothing is written anywhere: entries are unfolded piece by piece, and what unfolds too far is left there.
"""

import bz2
import io
import lzma
import stat
import tarfile
import zipfile
import zlib
from collections.abc import Iterator
from posixpath import dirname, join, normpath
from typing import Any, Protocol
from urllib.parse import unquote
from xml.etree import ElementTree as ET
from xml.parsers import expat

from reflection_app.adapters.files.inside.found import CannotLook, Found
from reflection_app.adapters.files.inside.kinds import ZIP, kind_of_bytes
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind

PIECE = 65_536
MEGABYTE = 1_000_000
# What unfolds to less than this harms nobody, however well it was packed.
HARMLESS = 64 * MEGABYTE
MOST_RATIO = 200
MOST_UNFOLDED = 2_000 * MEGABYTE
# Read through until here; more is believed.
MOST_READ = 400 * MEGABYTE
MOST_ENTRIES = 20_000
DEEPEST = 4
LARGEST_INNER = 32 * MEGABYTE
READERS = {"application/gzip", "application/x-bzip2", "application/x-xz"}
DRIVE = 2


class UnfoldsTooFar(Exception):
    """It would fill a memory or a disk."""


class Budget:
    """How much one file may unfold to, with all that is in it."""

    def __init__(self, packed: int) -> None:
        self.packed, self.unfolded = packed, 0

    def spend(self, count: int) -> None:
        self.unfolded += count
        check_ratio(self.unfolded, self.packed)

    @property
    def is_spent(self) -> bool:
        return self.unfolded >= MOST_READ


def check_ratio(unfolded: int, packed: int) -> None:
    if unfolded > MOST_UNFOLDED or (unfolded > HARMLESS and unfolded > MOST_RATIO * max(packed, 1)):
        raise UnfoldsTooFar(f"{unfolded // MEGABYTE:,} MB")


def look_at_archive(content: bytes, found: Found) -> None:
    budget = Budget(len(content))
    try:
        look_inside(content, found.media_type, found, budget=budget, path="", depth=0)
    except UnfoldsTooFar as error:
        found.fault(FaultCode.UNFOLDS, expected=f"{len(content) // 1000:,} kB", actual=str(error))


def look_inside(content: bytes, media_type: str, found: Found, *, budget: Budget, path: str, depth: int) -> None:
    if depth > DEEPEST:
        found.fault(FaultCode.UNFOLDS, place=path, actual=f"{depth} × zip")
        return
    try:
        if media_type == ZIP:
            look_at_zip(content, found, budget=budget, path=path, depth=depth)
        elif media_type == "application/x-tar":
            look_at_tar(io.BytesIO(content), found, budget=budget, path=path, packed=False)
        elif media_type in READERS:
            look_at_stream(content, media_type, found, budget=budget, path=path, depth=depth)
        elif depth == 0:
            raise CannotLook(media_type)
    except UnfoldsTooFar as error:
        if depth == 0:
            raise
        found.fault(FaultCode.UNFOLDS, place=path, expected=f"{len(content) // 1000:,} kB", actual=str(error))
        raise


# Zip.


def open_zip(content: bytes, found: Found, *, path: str = "") -> zipfile.ZipFile | None:
    """The list of entries; a fault where there is none, as in what was cut off: it stands at the end."""
    try:
        archive = zipfile.ZipFile(io.BytesIO(content))
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OSError, OverflowError) as error:
        is_cut = b"PK\x05\x06" not in content[-66_000:]
        found.fault(FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE, place=path, actual="" if is_cut else error)
        return None
    return archive


def look_at_zip(content: bytes, found: Found, *, budget: Budget, path: str, depth: int) -> None:
    archive = open_zip(content, found, path=path)
    if archive is None:
        return
    infos = archive.infolist()
    if not depth:
        found.entries = [info.filename for info in infos]
    check_ratio(sum(info.file_size for info in infos), len(content))
    for info in infos[:MOST_ENTRIES]:
        if budget.is_spent or not found.has_time():
            found.is_whole = False
            return
        place = f"{path}{info.filename}"
        check_name(info.filename, found, place=place)
        if info.flag_bits & 1:
            found.fault(FaultCode.ENCRYPTED, place=place)
            continue
        inner = read_entry(archive, info, found, budget=budget, place=place)
        if inner is None:
            continue
        if stat.S_ISLNK(info.external_attr >> 16):
            check_link(info.filename, inner[:4_096].decode("utf-8", "replace"), found, place=place)
        elif inner and (known := kind_of_bytes(inner)) and known[0] is FileKind.ARCHIVE:
            look_inside(inner, known[1], found, budget=budget, path=f"{place}/", depth=depth + 1)
    found.is_whole = found.is_whole and len(infos) <= MOST_ENTRIES


def read_entry(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, found: Found, *, budget: Budget, place: str
) -> bytes | None:
    """The entry, empty if it is larger than what archives inside of archives may be; None where it is broken."""
    kept: bytearray | None = bytearray()
    size = 0
    try:
        with archive.open(info) as entry:
            while block := entry.read(PIECE):
                size += len(block)
                budget.spend(len(block))
                if kept is not None:
                    kept += block
                    if len(kept) > LARGEST_INNER:
                        kept = None
                if budget.is_spent or not found.has_time():
                    found.is_whole = False
                    return b""
    except (zipfile.BadZipFile, zlib.error, lzma.LZMAError, EOFError, ValueError, OSError) as error:
        overlaps = "Overlapped" in str(error)
        is_cut = isinstance(error, EOFError)
        code = FaultCode.UNFOLDS if overlaps else FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE
        found.fault(code, place=place, actual=str(error))
        return None
    except (NotImplementedError, RuntimeError) as error:  # a compression that nobody here knows
        found.is_whole = False
        if "password" in str(error):
            found.fault(FaultCode.ENCRYPTED, place=place)
        return None
    return bytes(kept) if kept is not None else b""


def check_name(name: str, found: Found, *, place: str) -> None:
    """A fault where unpacking would write outside of the folder that is unpacked into."""
    parts = name.replace("\\", "/").split("/")
    is_drive = len(parts[0]) == DRIVE and parts[0][1] == ":"
    if ".." in parts or is_drive or name.startswith(("/", "\\")) or "\0" in name:
        found.fault(FaultCode.UNSAFE_ENTRY, place=place)


def check_link(name: str, target: str, found: Found, *, place: str) -> None:
    """A fault where a link leads out of the archive."""
    depth = len([part for part in name.split("/")[:-1] if part not in {"", "."}])
    for part in target.split("/"):
        depth += -1 if part == ".." else 0 if part in {"", "."} else 1
        if depth < 0:
            break
    if target.startswith("/") or depth < 0:
        found.fault(FaultCode.UNSAFE_ENTRY, place=place, actual=f"→ {target}")


# Tar.


class Readable(Protocol):
    def read(self, size: int = -1, /) -> bytes: ...


def look_at_tar(stream: Readable, found: Found, *, budget: Budget, path: str, packed: bool) -> None:
    try:
        with tarfile.open(fileobj=stream, mode="r|") as archive:  # type: ignore[call-overload]
            for number, member in enumerate(archive):
                if number >= MOST_ENTRIES or budget.is_spent or not found.has_time():
                    found.is_whole = False
                    return
                if not path:
                    found.entries.append(member.name)
                look_at_member(archive, member, found, budget=budget, place=f"{path}{member.name}", packed=packed)
    except (tarfile.ReadError, EOFError) as error:
        is_cut = "unexpected end" in str(error) or isinstance(error, EOFError)
        found.fault(FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE, place=path, actual=str(error))
    except (tarfile.TarError, ValueError, OverflowError) as error:
        found.fault(FaultCode.UNREADABLE, place=path, actual=str(error))


def look_at_member(
    archive: tarfile.TarFile, member: tarfile.TarInfo, found: Found, *, budget: Budget, place: str, packed: bool
) -> None:
    check_name(member.name, found, place=place)
    if member.issym():
        check_link(member.name, member.linkname, found, place=place)
    elif member.islnk():
        check_link("", member.linkname, found, place=place)
    elif member.isdev():
        found.fault(FaultCode.UNSAFE_ENTRY, place=place)
    elif member.isreg() and (entry := archive.extractfile(member)) is not None:
        size = 0
        while block := entry.read(PIECE):
            size += len(block)
            if not packed:  # what unpacks the stream has counted it
                budget.spend(0)
            if not found.has_time():
                return
        if size < member.size:
            raise tarfile.ReadError("unexpected end of data")


# One compressed stream, with a tar in it or not.


class Unfolding:
    """What a compressed stream unfolds to, piece by piece; EOFError where it ends before its end."""

    def __init__(self, content: bytes, media_type: str, *, budget: Budget) -> None:
        self.content, self.media_type, self.budget = content, media_type, budget
        self.pieces = self.unfold()
        self.kept = b""

    def read(self, size: int = -1, /) -> bytes:
        while len(self.kept) < size or size < 0:
            piece = next(self.pieces, b"")
            if not piece:
                break
            self.kept += piece
        size = len(self.kept) if size < 0 else size
        block, self.kept = self.kept[:size], self.kept[size:]
        return block

    def unfold(self) -> Iterator[bytes]:
        """Fed slice by slice: what has not been used of one is copied with every piece."""
        packer, at, rest = self.packer(), 0, b""
        while True:
            if packer.eof:
                rest = packer.unused_data + self.content[at : at + PIECE]
                at += PIECE
                if kind_of_bytes(rest.lstrip(b"\0")) is None:
                    return  # padding and signatures, which all tools skip
                packer = self.packer()
            elif not rest and self.wants_more(packer):
                rest = self.content[at : at + PIECE]
                at += PIECE
                if not rest:
                    raise EOFError("the stream ends before its end")
            block = packer.decompress(rest, PIECE)
            rest = packer.unconsumed_tail if self.media_type == "application/gzip" else b""
            self.budget.spend(len(block))
            if block:
                yield block

    def wants_more(self, packer: Any) -> bool:
        return self.media_type == "application/gzip" or bool(packer.needs_input)

    def packer(self) -> Any:
        if self.media_type == "application/gzip":
            return zlib.decompressobj(wbits=31)
        return bz2.BZ2Decompressor() if self.media_type == "application/x-bzip2" else lzma.LZMADecompressor()


def look_at_stream(content: bytes, media_type: str, found: Found, *, budget: Budget, path: str, depth: int) -> None:
    unfolding = Unfolding(content, media_type, budget=budget)
    try:
        head = unfolding.read(1_024)
        unfolding.kept = head + unfolding.kept
        inner = kind_of_bytes(head)
        if inner is not None and inner[1] == "application/x-tar":
            look_at_tar(unfolding, found, budget=budget, path=path, packed=True)
        elif inner is not None and inner[0] is FileKind.ARCHIVE:
            whole = unfolding.read(LARGEST_INNER)
            look_inside(whole, inner[1], found, budget=budget, path=f"{path}…/", depth=depth + 1)
        while unfolding.read(PIECE):
            if budget.is_spent or not found.has_time():
                found.is_whole = False
                return
    except EOFError as error:
        found.fault(FaultCode.TRUNCATED, place=path, actual=str(error))
    except (zlib.error, lzma.LZMAError, OSError, ValueError) as error:
        found.fault(FaultCode.UNREADABLE, place=path, actual=str(error))


# The parts of Office files, which are zip files with XML in them.


class HasEntities(Exception):
    """The prolog of an XML part defines entities: no writer of Office files does, and bombs are made of them."""


def check_office_package(content: bytes, found: Found) -> bool:
    """Whether the parts can be handed to what reads them: all whole, none a bomb."""
    if b"E\0n\0c\0r\0y\0p\0t\0e\0d\0P\0a\0c\0k\0a\0g\0e\0" in content[:2_000_000]:
        found.fault(FaultCode.ENCRYPTED)
        return False
    archive = open_zip(content, found)
    if archive is None:
        return False
    budget = Budget(len(content))
    infos = archive.infolist()
    names = {info.filename.casefold() for info in infos}
    try:
        check_ratio(sum(info.file_size for info in infos), len(content))
        for info in infos:
            if info.flag_bits & 1:
                found.fault(FaultCode.ENCRYPTED, place=info.filename)
                continue
            check_name(info.filename, found, place=info.filename)
            part = read_entry(archive, info, found, budget=budget, place=info.filename)
            # Relations may lead to a part of any name, and readers parse it as XML whatever that is.
            if part and has_entities(part):
                found.fault(FaultCode.UNFOLDS, place=info.filename, actual="<!ENTITY>")
            elif part and info.filename.endswith(".rels"):
                check_relations(part, info.filename, found, parts=names)
    except UnfoldsTooFar as error:
        found.fault(FaultCode.UNFOLDS, expected=f"{len(content) // 1000:,} kB", actual=str(error))
    return not found.faults


def check_relations(part: bytes, name: str, found: Found, *, parts: set[str]) -> None:
    """A fault for each part that another one stands on and that is not there: some readers just leave it out."""
    folder = dirname(dirname(name))
    try:
        relations = ET.fromstring(part)  # noqa: S314 - without entities by now, and within bounds
    except ET.ParseError as error:
        found.fault(FaultCode.UNREADABLE, place=name, actual=str(error))
        return
    for one in relations:
        target, kind = unquote(one.get("Target", "")), one.get("Type", "").rpartition("/")[2]
        if one.get("TargetMode") != "External" and kind in NEEDED:
            path = normpath(target.lstrip("/") if target.startswith("/") else join(folder, target))
            if path.casefold() not in parts:
                found.fault(FaultCode.UNREADABLE, place=path)


NEEDED = {"officeDocument", "worksheet", "sharedStrings", "slide", "image", "chart"}


def has_entities(part: bytes) -> bool:
    """Return True if entities are defined before the first element, or the part is in an encoding that hides them.

    Nothing after the first element is read, and a part that is no XML ends the search at its first bytes.
    """
    parser = expat.ParserCreate()

    def stop(*_: object) -> None:
        raise HasEntities

    def end(*_: object) -> None:
        raise StopIteration

    parser.EntityDeclHandler = stop
    parser.StartElementHandler = end
    try:
        parser.Parse(part, True)
    except (HasEntities, ValueError, LookupError):
        return True
    except expat.ExpatError as error:
        return error.code == UNKNOWN_ENCODING
    except StopIteration:
        return False
    return False


UNKNOWN_ENCODING = expat.errors.codes[expat.errors.XML_ERROR_UNKNOWN_ENCODING]
