"""What kind of file some bytes are, and what kind a name promises."""

import io
import json
import struct
import zipfile

from reflection_app.core.recognizing import PDF, PICTURES, SOUNDS, UNKNOWN, recognize
from reflection_app.loops.completeness.file_codes import FileKind

OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"
ZIP, TAR = "application/zip", "application/x-tar"
XML = "application/xml"
SVG = "image/svg+xml"
# How Office keeps a file with a password.
LOCKED = "application/x-ole-storage"
# The endings of each media type, by kind. The first media type of a kind is the usual one.
ENDINGS: dict[FileKind, dict[str, str]] = {
    FileKind.JSON: {"application/json": ".json .geojson .ipynb .jsonld"},
    FileKind.JSON_LINES: {"application/jsonl": ".jsonl .ndjson"},
    FileKind.CSV: {"text/csv": ".csv"},
    FileKind.TSV: {"text/tab-separated-values": ".tsv"},
    FileKind.XLSX: {f"{OFFICE_TYPE}.spreadsheetml.sheet": ".xlsx .xlsm"},
    FileKind.PARQUET: {"application/vnd.apache.parquet": ".parquet .pq"},
    FileKind.PDF: {PDF: ".pdf"},
    FileKind.DOCX: {f"{OFFICE_TYPE}.wordprocessingml.document": ".docx .docm"},
    FileKind.PPTX: {f"{OFFICE_TYPE}.presentationml.presentation": ".pptx .pptm"},
    FileKind.HTML: {"text/html": ".html .htm .xhtml"},
    FileKind.MARKDOWN: {"text/markdown": ".md .markdown"},
    FileKind.IMAGE: {
        **{media_type: " ".join(endings) for media_type, endings in PICTURES.items()},
        "image/tiff": ".tif .tiff",
        "image/bmp": ".bmp",
        SVG: ".svg",
    },
    FileKind.SOUND: {media_type: " ".join(endings) for media_type, endings in SOUNDS.items()},
    FileKind.ARCHIVE: {
        ZIP: ".zip",
        TAR: ".tar",
        "application/gzip": ".gz .tgz",
        "application/x-bzip2": ".bz2 .tbz2",
        "application/x-xz": ".xz .txz",
    },
    FileKind.SOURCE: {"text/x-source": ".py .js .ts .tsx .jsx .java .go .rs .c .h .cpp .cs .rb .php .sh .sql .css"},
    FileKind.TEXT: {"text/plain": ".txt .log .yaml .yml .toml .ini .tex .rst", XML: ".xml"},
}
TYPES = {
    ending: (kind, media_type)
    for kind, media_types in ENDINGS.items()
    for media_type, endings in media_types.items()
    for ending in endings.split()
}
KINDS = {media_type: kind for kind, media_types in ENDINGS.items() for media_type in media_types}
PARTS_OF_OFFICE = {"xl/": FileKind.XLSX, "word/": FileKind.DOCX, "ppt/": FileKind.PPTX}
OFFICE = frozenset(PARTS_OF_OFFICE.values())
TABLES = frozenset({FileKind.CSV, FileKind.TSV})
TEXTUAL = TABLES | {
    *(FileKind.JSON, FileKind.JSON_LINES, FileKind.HTML, FileKind.MARKDOWN, FileKind.SOURCE, FileKind.TEXT),
}
# What begins like this is it, or was until it was cut off.
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (257, b"ustar", TAR),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", LOCKED),
)
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def ending_of(name: str) -> str:
    """The ending of a name in small letters, with its dot; empty where there is none."""
    stem, dot, ending = name.replace("\\", "/").rsplit("/", 1)[-1].casefold().rpartition(".")
    return dot + ending if stem else ""


def promised(name: str) -> tuple[FileKind, str] | None:
    """The kind and the media type that a name promises, or None."""
    return TYPES.get(ending_of(name))


def kind_of(content: bytes, promise: FileKind | None, by_name: tuple[FileKind, str] | None) -> tuple[FileKind, str]:
    """The kind and the media type by the bytes; text is what a name or a task promises, unless it is plainly not."""
    media_type = kind_of_bytes(content)
    if media_type == ZIP:
        kind = kind_of_zip(content)
        return kind, ZIP if kind is FileKind.ARCHIVE else usual_type(kind)
    if media_type == LOCKED and by_name is not None and by_name[0] in OFFICE:
        return by_name[0], LOCKED
    if media_type:
        return KINDS.get(media_type, FileKind.OTHER), media_type
    if b"\0" in content[:65_536] and not content.startswith(UTF_16):
        return FileKind.OTHER, UNKNOWN
    if by_name is not None and by_name[1] in {XML, SVG}:
        return by_name
    kind = kind_of_text(content, promise)
    return by_name if by_name is not None and by_name[0] is kind else (kind, usual_type(kind))


def kind_of_bytes(content: bytes) -> str:
    """The media type by the bytes' own signs; empty for what is text, or nothing known."""
    known = recognize(content).media_type
    if known != UNKNOWN:
        return known
    for at, sign, media_type in SIGNATURES:
        if content.startswith(sign, at):
            return media_type
    return "image/bmp" if content.startswith(b"BM") and b"\0" in content[:16] else ""


def kind_of_zip(content: bytes) -> FileKind:
    """An archive, or what of Office it is: told by the names of its parts, also where its list was cut off."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            names = " ".join(archive.namelist())
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OSError, OverflowError, struct.error):
        names = content.decode("latin-1")
    if not any(name in names for name in ("[Content_Types].xml", "_rels/.rels", "docProps/")):
        return FileKind.ARCHIVE
    return next((kind for folder, kind in PARTS_OF_OFFICE.items() if folder in names), FileKind.ARCHIVE)


def kind_of_text(content: bytes, promise: FileKind | None) -> FileKind:
    head = content[:2_000].lstrip(b"\xef\xbb\xbf \t\r\n").lower()
    if head.startswith((b"<!doctype html", b"<html")) and promise not in {FileKind.SOURCE, FileKind.TEXT}:
        return FileKind.HTML
    if (promise is None or promise in TABLES) and head.startswith((b"{", b"[")) and is_json(content):
        return FileKind.JSON
    return promise if promise in TEXTUAL and promise is not None else FileKind.TEXT


def is_json(content: bytes) -> bool:
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True


def usual_type(kind: FileKind) -> str:
    return next(iter(ENDINGS.get(kind, {UNKNOWN: ""})))


def is_near(promise: FileKind, kind: FileKind) -> bool:
    """Return True if a file of this kind may be called so: each text is a text, and each table a CSV."""
    return (
        promise in {kind, FileKind.OTHER} or (promise is FileKind.TEXT and kind in TEXTUAL) or {promise, kind} == TABLES
    )
