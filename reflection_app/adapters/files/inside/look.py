"""One file in a process of its own: inspected, or a page of it drawn, and reported on the pipe."""

import os
import resource
import sys
from collections.abc import Callable
from typing import Any, NoReturn

from reflection_app.adapters.files.inside.asked import check_asked
from reflection_app.adapters.files.inside.found import CannotLook, Found, UnfoldsTooFar, as_json
from reflection_app.adapters.files.inside.kinds import (
    OFFICE,
    SVG,
    TEXTUAL,
    ending_of,
    is_near,
    kind_of,
    kind_of_bytes,
    promised,
)
from reflection_app.adapters.files.inside.office import (
    inspect_document,
    inspect_parquet,
    inspect_slides,
    inspect_workbook,
)
from reflection_app.adapters.files.inside.packages import check_office_package, inspect_archive
from reflection_app.adapters.files.inside.pages import as_png, draw_pdf, draw_picture, inspect_pdf, inspect_picture
from reflection_app.adapters.files.inside.texts import inspect_text
from reflection_app.core.recognizing import PDF
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind, WhyNot

# Enough for what people write, and too little for a stack to use up the memory.
DEEPEST_CALLS = 2_000
# Empty by their nature.
MAY_BE_EMPTY = {"__init__.py", ".gitkeep", ".keep", "py.typed", ".nojekyll"}
INSPECTORS: dict[FileKind, Callable[[bytes, Found], None]] = {
    FileKind.XLSX: inspect_workbook,
    FileKind.DOCX: inspect_document,
    FileKind.PPTX: inspect_slides,
    FileKind.PARQUET: inspect_parquet,
    FileKind.PDF: inspect_pdf,
    FileKind.IMAGE: inspect_picture,
    FileKind.ARCHIVE: inspect_archive,
}
# What can be compared with a schema.
DATA = {FileKind.JSON, FileKind.JSON_LINES}


def look(item: dict[str, Any], report_end: int) -> NoReturn:
    """Write what was found, as JSON, or the page as PNG, and end the process."""
    sys.setrecursionlimit(DEEPEST_CALLS)
    view = memoryview(draw(item) if "draw" in item else inspect(item))
    while view:
        view = view[os.write(report_end, view) :]
    os._exit(0)


def inspect(item: dict[str, Any]) -> bytes:
    """What was found, as JSON. Whatever a library raises is a fault of the file."""
    content, asked = item["content"], item["asked"]
    by_name = promised(item["name"])
    kinds = [FileKind(one["kind"]) for one in asked if one.get("kind")]
    promise = kinds[0] if kinds else by_name[0] if by_name else None
    found = Found(kind=promise or FileKind.OTHER, media_type="", time_s=item["time_s"])
    if not content:
        if item["name"].rpartition("/")[2] not in MAY_BE_EMPTY:
            found.fault(FaultCode.EMPTY)
        return found.as_json(could_look=True, why_not="", lacks="")
    lacks = ""
    try:
        found.kind, found.media_type = kind_of(content, promise, by_name)
        compare_name(found, item["name"], by_name, kinds)
        open_file(found, content, [one["schema"] for one in asked if one.get("schema") is not None])
    except CannotLook as error:
        lacks = str(error)
    except (MemoryError, RecursionError, UnfoldsTooFar) as error:
        make_room()
        found.fault(FaultCode.UNFOLDS, expected=f"{len(content) // 1000:,} kB", actual=error)
    except Exception as error:  # noqa: BLE001 - libraries raise what they like at files that are broken
        found.fault(FaultCode.UNREADABLE, actual=f"{type(error).__name__}: {error}")
    for one in asked if not lacks else ():
        check_asked(found, one, size=len(content))
    why_not = (WhyNot.NO_READER if "/" in lacks else WhyNot.NO_LIBRARY) if lacks else ""
    return found.as_json(could_look=not lacks, why_not=why_not, lacks=lacks)


def make_room() -> None:
    """Allow the memory that reporting takes."""
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    resource.setrlimit(resource.RLIMIT_AS, (hard, hard))


def compare_name(found: Found, name: str, by_name: tuple[FileKind, str] | None, kinds: list[FileKind]) -> None:
    """Add a fault where the bytes are not what the name says."""
    if by_name is None:
        return
    if not is_near(by_name[0], found.kind) and found.kind not in kinds:
        found.fault(FaultCode.OTHER_KIND, expected=by_name[0], actual=found.media_type)
    elif by_name[1] != found.media_type and (found.kind not in TEXTUAL | OFFICE or not is_near(by_name[0], found.kind)):
        found.fault(FaultCode.OTHER_ENDING, expected=found.media_type, actual=ending_of(name))


def open_file(found: Found, content: bytes, schemas: list[dict[str, Any]]) -> None:
    """What is in the file. Raises CannotLook."""
    if schemas and found.kind not in DATA:
        raise CannotLook(found.media_type)
    schema = {"allOf": schemas} if schemas else None
    if found.kind in TEXTUAL or found.media_type == SVG:
        inspect_text(content, found, schema=schema)
    elif found.kind in INSPECTORS:
        if found.kind not in OFFICE or check_office_package(content, found):
            INSPECTORS[found.kind](content, found)
    elif found.kind is not FileKind.SOUND and not found.faults:
        raise CannotLook(found.media_type)


def draw(item: dict[str, Any]) -> bytes:
    """The page as PNG, or JSON that says why there is none."""
    content = item["content"]
    media_type = kind_of_bytes(content)
    if media_type != PDF and not media_type.startswith("image/"):
        return as_json({"why_not": WhyNot.NO_READER, "lacks": media_type or "text/plain"})
    try:
        picture = (draw_pdf if media_type == PDF else draw_picture)(content, **item["draw"])
        return as_png(picture, max_side_px=item["draw"]["max_side_px"])
    except CannotLook as error:
        return as_json({"why_not": WhyNot.NO_LIBRARY, "lacks": str(error)})
    except (MemoryError, UnfoldsTooFar):
        make_room()
        code, words = FaultCode.UNFOLDS, ""
    except IndexError:
        code, words = FaultCode.TOO_FEW_PAGES, ""
    except Exception as error:  # noqa: BLE001 - libraries raise what they like at files that are broken
        words = str(error)[:200]
        is_locked, is_cut = "password" in words.casefold(), "truncated" in words
        code = FaultCode.ENCRYPTED if is_locked else FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE
    return as_json({"code": code, "actual": words})
