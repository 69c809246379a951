"""What kind of file some bytes are, and what kind a name promises."""

import io
import json
import re
import struct
import zipfile
from collections.abc import Iterable

from reflection_app.core.recognizing import PDF, PICTURES, SOUNDS, UNKNOWN, recognize
from reflection_app.loops.completeness.file_codes import FileKind

OFFICE_TYPE = "application/vnd.openxmlformats-officedocument"
# The media type of each ending, and with it the kind.
ENDINGS: dict[FileKind, dict[str, str]] = {
    FileKind.JSON: {
        "application/json": ".json",
        "application/geo+json": ".geojson",
        "application/x-ipynb+json": ".ipynb",
        "application/ld+json": ".jsonld",
    },
    FileKind.JSON_LINES: {"application/jsonl": ".jsonl .ndjson"},
    FileKind.CSV: {"text/csv": ".csv"},
    FileKind.TSV: {"text/tab-separated-values": ".tsv"},
    FileKind.XLSX: {f"{OFFICE_TYPE}.spreadsheetml.sheet": ".xlsx .xlsm .xltx .xltm"},
    FileKind.PARQUET: {"application/vnd.apache.parquet": ".parquet .pq"},
    FileKind.PDF: {PDF: ".pdf"},
    FileKind.DOCX: {f"{OFFICE_TYPE}.wordprocessingml.document": ".docx .docm .dotx .dotm"},
    FileKind.PPTX: {f"{OFFICE_TYPE}.presentationml.presentation": ".pptx .pptm .potx .ppsx"},
    FileKind.HTML: {"text/html": ".html .htm .xhtml"},
    FileKind.MARKDOWN: {"text/markdown": ".md .markdown"},
    FileKind.IMAGE: {
        **{media_type: " ".join(endings) for media_type, endings in PICTURES.items()},
        "image/png": ".png .apng",
        "image/jpeg": ".jpg .jpeg .jpe .jfif",
        "image/bmp": ".bmp .dib",
        "image/tiff": ".tif .tiff",
        "image/vnd.microsoft.icon": ".ico .cur",
        "image/svg+xml": ".svg",
    },
    FileKind.SOUND: {media_type: " ".join(endings) for media_type, endings in SOUNDS.items()},
    FileKind.ARCHIVE: {
        "application/zip": ".zip .whl .jar .war .egg .apk .epub .odt .ods .odp .kmz .xpi .vsix .nupkg .npz .crx",
        "application/x-tar": ".tar",
        "application/gzip": ".gz .tgz .svgz",
        "application/x-bzip2": ".bz2 .tbz2",
        "application/x-xz": ".xz .txz",
        "application/zstd": ".zst",
        "application/x-7z-compressed": ".7z",
        "application/vnd.rar": ".rar",
    },
    FileKind.SOURCE: {
        "text/x-python": ".py .pyi .pyw",
        "text/javascript": ".js .mjs .cjs .jsx",
        "text/x-typescript": ".ts .mts .cts",
        "text/x-tsx": ".tsx",
        "text/x-java": ".java",
        "text/x-go": ".go",
        "text/x-rust": ".rs",
        "text/x-c": ".c .h .cc .cpp .cxx .hpp .hh .cs .m",
        "text/x-other": ".rb .php .swift .kt .scala .r .jl .lua .pl .sh .bash .ps1 .sql .css .scss .vue .dart .hs .zig",
    },
    FileKind.TEXT: {
        "text/plain": ".txt .text .log .rst .adoc .tex .ini .cfg .conf .toml .yaml .yml .env .srt .vtt .diff",
        "application/xml": ".xml .xsd .xsl .rss .atom .kml .gpx",
    },
}
TYPES = {
    ending: (kind, media_type)
    for kind, media_types in ENDINGS.items()
    for media_type, endings in media_types.items()
    for ending in endings.split()
}
MEDIA_TYPES = {media_type: kind for kind, media_types in ENDINGS.items() for media_type in media_types}
ZIP = "application/zip"
OLE = "application/x-ole-storage"
SIGNS_OF_OFFICE = {
    *("[Content_Types].xml", "_rels/.rels", "docProps/app.xml", "docProps/core.xml", "xl/workbook.xml"),
    *("word/document.xml", "ppt/presentation.xml"),
}
NAME_OF_PART = re.compile(rb"PK\x03\x04.{26}([!-~]{1,60}?\.(?:xml|rels))", re.DOTALL)
PARTS_OF_OFFICE = {"xl/": FileKind.XLSX, "word/": FileKind.DOCX, "ppt/": FileKind.PPTX}
TEXTUAL = frozenset(
    {
        *(FileKind.JSON, FileKind.JSON_LINES, FileKind.CSV, FileKind.TSV, FileKind.HTML, FileKind.MARKDOWN),
        *(FileKind.SOURCE, FileKind.TEXT),
    }
)
# What begins like this is it, or was until it was cut off; the longer before the shorter.
SIGNATURES: tuple[tuple[int, bytes, str], ...] = (
    (0, b"\x89PNG", "image/png"),
    (0, b"\xff\xd8\xff", "image/jpeg"),
    (0, b"GIF8", "image/gif"),
    (8, b"WEBP", "image/webp"),
    (0, b"II*\0", "image/tiff"),
    (0, b"MM\0*", "image/tiff"),
    (0, b"PAR1", "application/vnd.apache.parquet"),
    (0, b"PARE", "application/vnd.apache.parquet"),
    (0, b"PK\x03\x04", ZIP),
    (0, b"PK\x05\x06", ZIP),
    (0, b"\x1f\x8b", "application/gzip"),
    (0, b"BZh", "application/x-bzip2"),
    (0, b"\xfd7zXZ\0", "application/x-xz"),
    (0, b"\x28\xb5\x2f\xfd", "application/zstd"),
    (0, b"7z\xbc\xaf\x27\x1c", "application/x-7z-compressed"),
    (0, b"Rar!\x1a\x07", "application/vnd.rar"),
    (257, b"ustar", "application/x-tar"),
    (0, b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1", OLE),
    (0, b"%PDF-", PDF),
    (0, b"RIFF", "audio/wav"),
)
# So short a beginning that text may have it; more must speak for it.
SHORT = {"application/x-bzip2", "audio/wav", "image/gif", "image/tiff"}
HEADER = 65_536
UTF_16 = (b"\xff\xfe", b"\xfe\xff")


def ending_of(name: str) -> str:
    """The ending of a name in small letters, with its dot; empty where there is none."""
    last = name.replace("\\", "/").rsplit("/", 1)[-1].casefold()
    stem, dot, ending = last.rpartition(".")
    return dot + ending if stem else ""


def promised(name: str) -> tuple[FileKind, str] | None:
    """The kind and the media type that a name promises, or None."""
    return TYPES.get(ending_of(name))


def kind_of_bytes(content: bytes) -> tuple[FileKind, str] | None:
    """The kind and the media type by their own signs; None for what is text, or nothing known."""
    known = recognize(content).media_type
    if known != UNKNOWN:
        return MEDIA_TYPES[known], known
    for at, sign, media_type in SIGNATURES:
        if content.startswith(sign, at) and (media_type not in SHORT or not is_texty(content)):
            if media_type == ZIP:
                return kind_of_zip(content)
            return MEDIA_TYPES.get(media_type, FileKind.OTHER), media_type
    if is_old_tar(content):
        return FileKind.ARCHIVE, "application/x-tar"
    if content.startswith(b"BM") and int.from_bytes(content[14:18], "little") in {12, 40, 52, 56, 64, 108, 124}:
        return FileKind.IMAGE, "image/bmp"
    if content.startswith((b"\0\0\1\0", b"\0\0\2\0")) and content[4:6] != b"\0\0" and content[9:10] == b"\0":
        return FileKind.IMAGE, "image/vnd.microsoft.icon"
    return None


def is_old_tar(content: bytes) -> bool:
    """Whether the first block is the head of a tar from before there was a sign: its sum is written in it."""
    head = content[:512]
    told = head[148:156].strip(b" \0")
    if len(head) < 512 or not told.isdigit() or b"8" in told or b"9" in told:
        return False
    return sum(head[:148]) + 8 * 32 + sum(head[156:]) == int(told, 8) > 256


def kind_of_zip(content: bytes) -> tuple[FileKind, str]:
    """A zip file, or what of Office it is: told by the names of its parts."""
    names = names_in_zip(content)
    if names & SIGNS_OF_OFFICE:
        for folder, kind in PARTS_OF_OFFICE.items():
            if any(name.startswith(folder) for name in names):
                return kind, next(iter(ENDINGS[kind]))
    return FileKind.ARCHIVE, ZIP


def names_in_zip(content: bytes) -> set[str]:
    """The names in the list at its end; where that was cut off, those that stand before each entry."""
    try:
        with zipfile.ZipFile(io.BytesIO(content)) as archive:
            return set(archive.namelist())
    except (zipfile.BadZipFile, ValueError, EOFError, NotImplementedError, OSError, OverflowError, struct.error):
        return {match.group(1).decode("utf-8", "replace") for match in NAME_OF_PART.finditer(content)}


def is_texty(content: bytes) -> bool:
    """Whether the beginning is text: no NUL and few other control characters, or UTF-16 by its mark."""
    head = content[:HEADER]
    if head.startswith(UTF_16):
        return True
    controls = sum(head.count(byte) for byte in b"\0\1\2\3\4\5\6\7\x10\x11\x12\x13\x14\x15\x16\x17")
    return b"\0" not in head and controls * 200 <= len(head)


def kind_of_text(text: str, promise: FileKind | None) -> FileKind:
    """What a text is, where a name or a task promises it is `promise`: that, unless something else is plain."""
    head = text[:2_000].lstrip("\ufeff \t\r\n").casefold()
    is_html = head.startswith(("<!doctype html", "<html")) or ("<html" in head and "<body" in head)
    if is_html and promise not in {FileKind.HTML, FileKind.SOURCE, FileKind.MARKDOWN, FileKind.TEXT}:
        return FileKind.HTML
    if promise is FileKind.JSON and is_json_lines(text):
        return FileKind.JSON_LINES
    if promise in {FileKind.CSV, FileKind.TSV, FileKind.HTML, FileKind.JSON_LINES} and head.startswith(("{", "[")):
        if promise is not FileKind.JSON_LINES or not is_json_lines(text, least=1):
            return FileKind.JSON if is_json(text) else promise
        return promise
    if promise in {None, FileKind.OTHER}:
        return FileKind.TEXT
    return promise if promise in TEXTUAL else FileKind.TEXT


def is_json(text: str) -> bool:
    try:
        return isinstance(json.loads(text), dict | list)
    except (ValueError, RecursionError):
        return False


def is_json_lines(text: str, *, least: int = 2) -> bool:
    """Whether the first lines are JSON objects or lists, each by itself."""
    return all_json(line for line in text.split("\n", 50)[:50] if line.strip()) >= least


def all_json(lines: Iterable[str]) -> int:
    """How many lines there are, 0 where one is no JSON by itself."""
    count = 0
    for line in lines:
        if line[:1] not in {"{", "["} or not is_json(line):
            return 0
        count += 1
    return count
