"""What a task requires of a file, compared with what was found in it."""

import re
import unicodedata
from fnmatch import fnmatchcase
from typing import Any

from reflection_app.adapters.files.inside.found import Found
from reflection_app.adapters.files.inside.kinds import is_near
from reflection_app.loops.completeness.file_codes import FaultCode, FileKind

# 1. 2.3 IV. (a) 第三章 一、
NUMBERING = re.compile(r"\(?(?:[\d.]+|[ivxlc]+(?=[.)])|[a-h](?=[.)])|第?[0-9一二三四五六七八九十百]+[章节部分、])\W*")
LEAST = (
    ("min_rows", "rows", FaultCode.TOO_FEW_ROWS),
    ("min_pages", "pages", FaultCode.TOO_FEW_PAGES),
    ("min_words", "words", FaultCode.TOO_FEW_WORDS),
    ("min_width", "width", FaultCode.TOO_SMALL),
    ("min_height", "height", FaultCode.TOO_SMALL),
)
# Of such a file nobody knows what is in it: that a name is missing would be a second, wrong reason.
UNREAD = {FaultCode.TRUNCATED.value, FaultCode.UNREADABLE.value, FaultCode.ENCRYPTED.value, FaultCode.UNFOLDS.value}


def check_asked(found: Found, asked: dict[str, Any], *, size: int) -> None:
    """Add faults for what the requirement asks and the file does not have.

    What cannot be counted, like the pages of a table, is no fault, and the inspection is not whole.
    """
    if asked.get("kind") and not is_near(FileKind(asked["kind"]), found.kind):
        found.fault(FaultCode.OTHER_KIND, expected=asked["kind"], actual=found.media_type)
    if (least := asked.get("min_bytes")) and size < least:
        found.fault(FaultCode.TOO_SMALL, expected=f"{least:,} B", actual=f"{size:,} B")
    if any(fault["code"] in UNREAD for fault in found.faults):
        return
    check_names(FaultCode.MISSING_COLUMN, asked.get("columns", ()), found.columns, found)
    check_names(FaultCode.MISSING_SHEET, asked.get("sheets", ()), found.sheets, found)
    if not found.is_whole:
        return
    check_names(FaultCode.MISSING_ENTRY, asked.get("entries", ()), found.entries, found)
    for name in asked.get("sections", ()):
        if not has_section(found, name):
            found.fault(FaultCode.MISSING_SECTION, expected=name)
    for name, counted, code in LEAST:
        count = getattr(found, counted)
        if asked.get(name) and count is None:
            found.is_whole = False
        elif asked.get(name) and count < asked[name]:
            found.fault(code, expected=asked[name], actual=count)


def check_names(code: FaultCode, wanted: list[str], there: list[str], found: Found) -> None:
    """Code reads columns, sheets and entries by their very names; an entry may be a pattern."""
    names = {same(name) for name in there}
    for name in wanted:
        is_there = same(name) in names
        if code is FaultCode.MISSING_ENTRY:
            is_there = is_there or any(fnmatchcase(one, same(name)) for one in names)
        if not is_there:
            found.fault(code, expected=name, actual=", ".join(there[:20]))


def same(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


def has_section(found: Found, name: str) -> bool:
    """Return True if a heading contains it, whatever its number, or a line is it and no more."""
    wanted = as_heading(name)
    headings = (as_heading(heading) for heading in found.headings)
    if any(f" {wanted} " in f" {heading} " or (not wanted.isascii() and wanted in heading) for heading in headings):
        return True
    return any(as_heading(line) == wanted for line in found.lines)


def as_heading(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    plain = NUMBERING.sub("", plain, count=1) if NUMBERING.match(plain) else plain
    return " ".join(re.sub(r"[^\w&]+", " ", plain).split()) or text
