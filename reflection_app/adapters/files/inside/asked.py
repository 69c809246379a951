"""What a task asked of a file, against what was found in it."""

import re
import unicodedata
from fnmatch import fnmatchcase
from typing import Any

from reflection_app.adapters.files.inside.found import Found
from reflection_app.adapters.files.inside.kinds import ZIP
from reflection_app.loops.completeness.file_codes import FaultCode

# 1. 2.3 IV. (a) 第三章 一、 Chapter 2:
NUMBERING = re.compile(
    r"(?:\(?(?:\d+(?:\.\d+)*|[ivxlc]+|[a-h])[.):、]?\s+|\d+(?:\.\d+)*[.、]\s*|第[0-9一二三四五六七八九十百]+[章节節部分篇]\s*|"
    r"[（(]?[一二三四五六七八九十]+[)）、.]\s*|(?:chapter|section|part|appendix)\s+\w+\s*[:.\-–—]?\s*)+",
    re.IGNORECASE,
)

# Of a file that these kept from being read at all nobody knows its names: that they are missing would be a second,
# wrong reason.
UNREAD = (FaultCode.TRUNCATED, FaultCode.UNREADABLE, FaultCode.ENCRYPTED, FaultCode.UNFOLDS)


def check_asked(found: Found, asked: dict[str, Any], *, size: int) -> None:
    """Faults for what the requirement wants and the file has not.

    What nobody could tell, as the pages of what has none, is no fault, and the look is not whole for it.
    """
    least = (
        ("min_rows", found.rows, FaultCode.TOO_FEW_ROWS),
        ("min_pages", found.pages, FaultCode.TOO_FEW_PAGES),
        ("min_words", found.words, FaultCode.TOO_FEW_WORDS),
    )
    for name, there, code in least:
        if (wanted := asked.get(name)) and there is not None and there < wanted and found.is_whole:
            found.fault(code, expected=wanted, actual=there)
    if (wanted := asked.get("min_bytes")) and size < wanted:
        found.fault(FaultCode.TOO_SMALL, expected=f"{wanted:,} B", actual=f"{size:,} B")
    width, height = asked.get("min_width") or 0, asked.get("min_height") or 0
    if found.width is not None and found.height is not None and (found.width < width or found.height < height):
        expected = f"{width or '…'} × {height or '…'} px"
        found.fault(FaultCode.TOO_SMALL, expected=expected, actual=f"{found.width} × {found.height} px")
    check_names(found, asked)
    untold = [name for name, there, _code in least if asked.get(name) and there is None]
    if untold or (width and found.width is None) or (height and found.height is None):
        found.is_whole = False


def check_names(found: Found, asked: dict[str, Any]) -> None:
    """Columns and sheets are what code reads, by their very names; sections are what people read."""
    is_read = not any(found.has(code) for code in UNREAD)
    columns = {same(name) for name in (*found.columns, *found.more_columns)}
    for name in asked.get("columns", ()) if is_read or columns else ():
        if same(name) not in columns:
            found.fault(FaultCode.MISSING_COLUMN, expected=name, actual=", ".join(found.columns))
    sheets = {same(name) for name in found.sheets}
    for name in asked.get("sheets", ()) if is_read or sheets else ():
        if same(name) not in sheets:
            found.fault(FaultCode.MISSING_SHEET, expected=name, actual=", ".join(found.sheets))
    if found.is_whole or found.media_type == ZIP:  # whose list is read before its entries
        entries = [same(entry) for entry in found.entries]
        for name in asked.get("entries", ()) if is_read or entries else ():
            if not any(entry == same(name) or fnmatchcase(entry, same(name)) for entry in entries):
                found.fault(FaultCode.MISSING_ENTRY, expected=name)
    if found.is_whole and (is_read or found.headings or found.lines):
        for name in asked.get("sections", ()):
            if not has_section(found, name):
                found.fault(FaultCode.MISSING_SECTION, expected=name)


def same(name: str) -> str:
    return unicodedata.normalize("NFC", name).strip()


def has_section(found: Found, name: str) -> bool:
    """Whether a heading says it, whatever its number and whatever it says beside; or a line says it and no more."""
    wanted = as_heading(name)
    if any(says(as_heading(heading), wanted) for heading in found.headings):
        return True
    return any(as_heading(line) == wanted for line in found.lines)


def says(heading: str, wanted: str) -> bool:
    return f" {wanted} " in f" {heading} " or (not wanted.isascii() and wanted in heading)


def as_heading(text: str) -> str:
    plain = unicodedata.normalize("NFKC", text).casefold().strip()
    number = NUMBERING.match(plain)
    plain = plain[number.end() :] if number else plain
    return " ".join(re.sub(r"[^\w&]+", " ", plain).split()) or plain
