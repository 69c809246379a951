"""One file in a process of its own: looked into, or a page of it drawn, and told on the pipe."""

import os
import resource
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from reflection_app.adapters.files.inside.asked import check_asked
from reflection_app.adapters.files.inside.data import look_at_json, look_at_json_lines
from reflection_app.adapters.files.inside.found import CannotLook, Found, as_json
from reflection_app.adapters.files.inside.kinds import (
    MEDIA_TYPES,
    OLE,
    TEXTUAL,
    ending_of,
    is_json,
    is_texty,
    kind_of_bytes,
    kind_of_text,
    promised,
)
from reflection_app.adapters.files.inside.markup import declared_encoding, look_at_html, look_at_markdown
from reflection_app.adapters.files.inside.office import look_at_document, look_at_slides
from reflection_app.adapters.files.inside.packages import check_office_package, look_at_archive
from reflection_app.adapters.files.inside.pages import draw_page, look_at_pdf
from reflection_app.adapters.files.inside.pictures import (
    TooManyPixels,
    as_png,
    draw_picture,
    look_at_picture,
    look_at_sound,
    look_at_xml,
)
from reflection_app.adapters.files.inside.sources import look_at_source
from reflection_app.adapters.files.inside.tables import look_at_table
from reflection_app.adapters.files.inside.texts import decode, look_for_mojibake
from reflection_app.adapters.files.inside.workbooks import look_at_parquet, look_at_workbook
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind, WhyNot

# Enough for what people write, and too little for a stack to run out of memory.
DEEPEST_CALLS = 2_000
OFFICE = {FileKind.XLSX, FileKind.DOCX, FileKind.PPTX}
XML_TYPES = {"application/xml", "image/svg+xml"}
# What can be held against a schema.
DATA = {FileKind.JSON, FileKind.JSON_LINES, FileKind.CSV, FileKind.TSV, FileKind.XLSX, FileKind.PARQUET}
# Empty by their nature.
MAY_BE_EMPTY = {"__init__.py", ".gitkeep", ".keep", "py.typed", ".nojekyll"}


def look(item: dict[str, Any], report_end: int) -> NoReturn:
    """Writes what was found, as JSON, or the page as PNG, and ends the process."""
    sys.setrecursionlimit(DEEPEST_CALLS)
    answer = draw(item) if "draw" in item else as_json(look_into(item))
    view = memoryview(answer)
    while view:
        view = view[os.write(report_end, view) :]
    os._exit(0)


def look_into(item: dict[str, Any]) -> dict[str, Any]:
    """What was found. Whatever a library raises is a fault of the file."""
    found = Found(kind=FileKind.OTHER, media_type="", time_s=item["time_s"])
    told: dict[str, Any] = {"could_look": True, "why_not": "", "lacks": ""}
    try:
        start(found, item)
        if item["content"]:
            open_kind(found, item)
        elif os.path.basename(item["name"]) not in MAY_BE_EMPTY:  # noqa: PTH119 - pathlib takes longer to import
            found.fault(FaultCode.EMPTY)
    except CannotLook as error:
        is_library = "/" not in str(error)
        told = {
            "could_look": False,
            "why_not": (WhyNot.NO_LIBRARY if is_library else WhyNot.NO_READER).value,
            "lacks": str(error),
        }
    except MemoryError:
        make_room()
        found.fault(FaultCode.UNFOLDS, expected=f"{len(item['content']) // 1000:,} kB")
    except RecursionError:
        found.fault(FaultCode.UNFOLDS)
    except Exception as error:  # noqa: BLE001 - libraries raise what they like at files that are broken
        found.fault(FaultCode.UNREADABLE, actual=f"{type(error).__name__}: {error}")
    for asked in item["asked"]:
        if told["could_look"] and item["content"]:
            check_asked(found, asked, size=len(item["content"]))
    return found.told() | told


def make_room() -> None:
    """Memory to tell that there is none left."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def start(found: Found, item: dict[str, Any]) -> None:
    """What the file is by its bytes, and where it is not what was promised, a fault."""
    content, name = item["content"], item["name"]
    by_name = promised(name)
    kinds = [FileKind(asked["kind"]) for asked in item["asked"] if asked.get("kind")]
    wanted = next(iter(kinds), None)
    promise = wanted or (by_name[0] if by_name else None)
    found.kind, found.media_type = promise or FileKind.OTHER, by_name[1] if by_name and by_name[0] is promise else ""
    if content:
        has_schema = any(asked.get("schema") is not None for asked in item["asked"])
        found.kind, found.media_type = kind_of_bytes(content) or kind_of_plain(
            content, promise, by_name, has_schema=has_schema
        )
        compare(found, by_name, wanted, name)
        for other in kinds:
            if other not in {wanted, FileKind.OTHER, found.kind} and not is_near(other, found.kind):
                found.fault(FaultCode.OTHER_KIND, expected=other, actual=found.media_type)


def kind_of_plain(
    content: bytes, promise: FileKind | None, by_name: tuple[FileKind, str] | None, *, has_schema: bool
) -> tuple[FileKind, str]:
    """The kind of what has no sign of its own in front."""
    if not is_texty(content):
        return FileKind.OTHER, "application/octet-stream"
    head = content[:1_000].lstrip(b"\xef\xbb\xbf \t\r\n")
    if by_name is not None and by_name[1] in XML_TYPES and head.startswith((b"<", b"\xff\xfe", b"\xfe\xff")):
        return by_name
    text = content.decode("utf-16" if content.startswith((b"\xff\xfe", b"\xfe\xff")) else "utf-8", "replace")
    kind = kind_of_text(text, promise)
    if has_schema and promise is None and is_json(text):
        kind = FileKind.JSON
    if by_name is not None and by_name[0] is kind:
        return by_name
    return kind, next(media_type for media_type, one in MEDIA_TYPES.items() if one is kind)


def compare(found: Found, by_name: tuple[FileKind, str] | None, wanted: FileKind | None, name: str) -> None:
    """Faults where the kind is not that of the requirement, or not that of the name."""
    if found.media_type == OLE and by_name is not None and by_name[0] in OFFICE:
        found.kind, found.media_type = by_name  # it is how Office locks them
    if wanted not in {None, FileKind.OTHER, found.kind} and not is_near(wanted, found.kind):
        found.fault(FaultCode.OTHER_KIND, expected=wanted, actual=found.media_type)
    elif by_name is not None and by_name[0] is not found.kind and not is_near(by_name[0], found.kind):
        if wanted is found.kind:
            found.fault(FaultCode.OTHER_ENDING, expected=found.media_type, actual=ending_of(name))
        else:
            found.fault(FaultCode.OTHER_KIND, expected=by_name[0], actual=found.media_type)
    elif by_name is not None and by_name[1] != found.media_type and found.kind not in TEXTUAL:
        found.fault(FaultCode.OTHER_ENDING, expected=found.media_type, actual=ending_of(name))


# What is each other's kin: a table is a text, and so is a source.
NEAR = ({FileKind.TEXT, FileKind.MARKDOWN, FileKind.SOURCE, FileKind.CSV, FileKind.TSV}, {FileKind.CSV, FileKind.TSV})


def is_near(promise: FileKind | None, kind: FileKind) -> bool:
    """Whether a text may be called so by its name: only what has signs of its own is plainly something else."""
    return (promise is FileKind.TEXT and kind in TEXTUAL) or (promise in NEAR[1] and kind in NEAR[1])


def open_kind(found: Found, item: dict[str, Any]) -> None:
    """What is in the file, against each schema that is asked of it. Raises CannotLook."""
    schemas: list[dict[str, Any]] = []
    for asked in item["asked"]:
        if (schema := asked.get("schema")) is not None and schema not in schemas:
            schemas.append(schema)
    open_with(found, item, schemas[0] if schemas else None)
    if schemas and found.kind not in DATA and not found.faults:
        raise CannotLook(found.media_type)  # nobody here finds data in it
    for other in schemas[1:]:
        again = Found(kind=found.kind, media_type=found.media_type, time_s=0)
        again.until = found.until
        open_with(again, item, other)
        for one in again.faults:
            if one["code"] == FaultCode.SCHEMA.value:
                found.fault(FaultCode.SCHEMA, **{name: one[name] for name in ("place", "expected", "actual")})
        found.is_whole = found.is_whole and again.is_whole


def open_with(found: Found, item: dict[str, Any], schema: dict[str, Any] | None) -> None:
    content: bytes = item["content"]
    if found.media_type in XML_TYPES:
        look_at_xml(content, found)
        if found.kind is FileKind.TEXT:
            found.read_text(content.decode("utf-8", "replace"))
    elif found.kind in TEXTUAL:
        open_text(found, item, schema)
    elif found.kind in OFFICE:
        if check_office_package(content, found):
            open_office(found, content, schema)
    elif found.kind is FileKind.PARQUET:
        look_at_parquet(content, found, schema=schema)
    elif found.kind in BY_BYTES:
        BY_BYTES[found.kind](content, found)
    elif not found.faults:
        raise CannotLook(found.media_type)


BY_BYTES: dict[FileKind, Callable[[bytes, Found], None]] = {
    FileKind.PDF: look_at_pdf,
    FileKind.IMAGE: look_at_picture,
    FileKind.SOUND: look_at_sound,
    FileKind.ARCHIVE: look_at_archive,
}


def open_office(found: Found, content: bytes, schema: dict[str, Any] | None) -> None:
    if found.kind is FileKind.XLSX:
        look_at_workbook(content, found, schema=schema)
    elif found.kind is FileKind.DOCX:
        look_at_document(content, found)
    else:
        look_at_slides(content, found)


def open_text(found: Found, item: dict[str, Any], schema: dict[str, Any] | None) -> None:
    content: bytes = item["content"]
    kind = found.kind
    if kind is FileKind.SOURCE:
        found.read_text(content[:200_000].decode("utf-8", "replace"))
        found.rows = content.count(b"\n") + (not content.endswith(b"\n"))
        look_at_source(content, found)
        return
    declared = declared_encoding(content) if kind is FileKind.HTML else ""
    text = decode(content, found, declared=declared, only_utf8=kind in {FileKind.JSON, FileKind.JSON_LINES})
    if not text.strip("\ufeff \t\r\n\0"):
        found.fault(FaultCode.EMPTY)
        return
    look_for_mojibake(text, found)
    beside = set(item["beside"]) if item["beside"] is not None else None
    if kind is FileKind.JSON:
        look_at_json(text, found, schema=schema)
    elif kind is FileKind.JSON_LINES:
        look_at_json_lines(text, found, schema=schema)
    elif kind in {FileKind.CSV, FileKind.TSV}:
        look_at_table(text, found, kind=kind, schema=schema)
    elif kind is FileKind.HTML:
        look_at_html(text, found, name=item["name"], beside=beside)
    elif kind is FileKind.MARKDOWN:
        look_at_markdown(text, found, name=item["name"], beside=beside)
    else:
        found.rows = text.count("\n") + (not text.endswith("\n"))
        found.read_text(text)
        for line in text.splitlines():
            found.keep_line(line.strip())


def draw(item: dict[str, Any]) -> bytes:
    """The page as PNG; else a word of JSON that says why there is none."""
    known = kind_of_bytes(item["content"])
    kind = known[0] if known else FileKind.OTHER
    page, side = item["draw"]["page"], item["draw"]["max_side_px"]
    why: dict[str, Any]
    try:
        if kind is FileKind.PDF:
            return as_png(draw_page(item["content"], page=page, max_side_px=side), max_side_px=side)
        if kind is FileKind.IMAGE:
            return as_png(draw_picture(item["content"], page=page, max_side_px=side), max_side_px=side)
        why = {"why_not": WhyNot.NO_READER.value, "lacks": known[1] if known else "text/plain"}
    except CannotLook as error:
        why = {"why_not": WhyNot.NO_LIBRARY.value, "lacks": str(error)}
    except IndexError:
        why = {"code": FaultCode.TOO_FEW_PAGES.value}
    except TooManyPixels:
        why = {"code": FaultCode.UNFOLDS.value}
    except MemoryError:
        make_room()
        why = {"code": FaultCode.UNFOLDS.value}
    except Exception as error:  # noqa: BLE001 - libraries raise what they like at files that are broken
        words = str(error)[:200]
        is_locked, is_cut = "password" in words.casefold(), "truncated" in words
        code = FaultCode.ENCRYPTED if is_locked else FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE
        why = {"code": code.value, "actual": words}
    return as_json(why)
