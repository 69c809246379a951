"""Files that are broken in one way each, made of whole ones."""

import io
import re
import struct
import tarfile
import zipfile
import zlib
from collections.abc import Callable

from tests.adapters.files import whole

BOMB = (
    b'<!DOCTYPE w [<!ENTITY a "0123456789">'
    + b"".join(b"<!ENTITY %c %s>" % (98 + depth, b'"' + b"&%c;" % (97 + depth) * 10 + b'"') for depth in range(9))
    + b"]>"
)


def cut(content: bytes, share: float = 0.6) -> bytes:
    return content[: int(len(content) * share)]


def png_of(width: int, height: int) -> bytes:
    """A PNG of zeros: some kilobytes that unfold to width × height × 3."""

    def chunk(kind: bytes, body: bytes) -> bytes:
        return struct.pack(">I", len(body)) + kind + body + struct.pack(">I", zlib.crc32(kind + body))

    packer = zlib.compressobj(9)
    row = b"\0" * (1 + 3 * width)
    body = b"".join(packer.compress(row) for _ in range(min(height, 50))) + packer.flush()
    header = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", header) + chunk(b"IDAT", body) + chunk(b"IEND", b"")


def zip_bomb(megabytes: int = 100) -> bytes:
    file = io.BytesIO()
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as archive, archive.open("zeros.bin", "w") as entry:
        for _ in range(megabytes):
            entry.write(b"\0" * 1_000_000)
    return file.getvalue()


def lying_zip_bomb() -> bytes:
    """It says of its entry that it is small."""
    bomb = bytearray(zip_bomb(100))
    true = struct.pack("<I", 100_000_000)
    while (at := bomb.find(true)) >= 0:
        bomb[at : at + 4] = struct.pack("<I", 1_000)
    return bytes(bomb)


def nested_bomb() -> bytes:
    """Ten zip files that unfold to thirty megabytes each, in one: each is harmless, and all are not."""
    inner = zip_bomb(30)
    return whole.zip_file({f"part{number}.zip": inner for number in range(10)})


def endless_zip(depth: int = 7) -> bytes:
    content = whole.zip_file()
    for _ in range(depth):
        content = whole.zip_file({"inner.zip": content})
    return content


def overlapping_zip() -> bytes:
    """Many entries of the list share one body."""
    plain = zip_bomb(20)
    at = plain.rfind(b"PK\x01\x02")
    end = plain.rfind(b"PK\x05\x06")
    entry = plain[at:end]
    many = 100
    last = struct.pack("<4s4H2LH", b"PK\x05\x06", 0, 0, many, many, len(entry) * many, at, 0)
    return plain[:at] + entry * many + last


def encrypted_zip() -> bytes:
    """As other tools write them: a bit of each entry says so."""
    content = bytearray(whole.zip_file({"secret.txt": b"nobody reads this" * 4}))
    for sign, place in ((b"PK\x03\x04", 6), (b"PK\x01\x02", 8)):
        content[content.find(sign) + place] |= 1
    return bytes(content)


def tar_with(kind: bytes, name: str, target: str = "") -> bytes:
    member = tarfile.TarInfo(name)
    member.type, member.linkname = kind, target
    return whole.tar_file(members=[member])


def tar_with_name(name: str) -> bytes:
    return tar_with(tarfile.REGTYPE, name)


def gzip_bomb(megabytes: int = 100) -> bytes:
    packer = zlib.compressobj(9, wbits=31)
    return b"".join(packer.compress(b"\0" * 1_000_000) for _ in range(megabytes)) + packer.flush()


def in_utf_16(xml: bytes) -> bytes:
    """The XML in UTF-16 without a byte order mark, which parsers recognize."""
    return xml.rpartition(b"?>")[2].decode().encode("utf-16-le")


def after_blanks(xml: bytes) -> bytes:
    """The XML with a megabyte of blanks before its definitions."""
    return xml.replace(b"<!DOCTYPE", b" " * 1_000_001 + b"<!DOCTYPE")


def with_entities(package: bytes, part: str, *, written: Callable[[bytes], bytes] = bytes) -> bytes:
    """Its part begins with entities that unfold to ten gigabytes, and one of them stands in its text."""

    def change(xml: bytes) -> bytes:
        head, mark, rest = xml.rpartition(b"?>")
        return written(head + mark + BOMB + rest.replace(b"Sales rose", b"&j;"))

    return whole.changed_part(package, part, change)


def in_encoding(package: bytes, part: str, encoding: str) -> bytes:
    """The package with a part in another encoding, which its XML declaration names; "utf-16-le" has no mark of it."""

    def change(xml: bytes) -> bytes:
        text = re.sub(
            r"""encoding=['"][^'"]*['"]""",
            f'encoding="{encoding.removesuffix("-le").removesuffix("-be")}"',
            xml.decode(),
            count=1,
        )
        return text.encode(encoding)

    return whole.changed_part(package, part, change)


def renamed_part(package: bytes, old: str, new: str) -> bytes:
    """The package with a part under another name, and all that leads to it led there."""
    made = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(package)) as source, zipfile.ZipFile(made, "w", zipfile.ZIP_DEFLATED) as target:
        for info in source.infolist():
            content = source.read(info)
            if info.filename.endswith((".rels", "[Content_Types].xml")):
                content = content.replace(old.encode(), new.encode())
            target.writestr(new if info.filename == old else info.filename, content)
    return made.getvalue()


def locked_workbook() -> bytes:
    """How Office keeps a workbook with a password: an OLE file with a stream of this name."""
    return b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1" + b"\0" * 1_000 + "EncryptedPackage".encode("utf-16-le") + b"\0" * 3_000
