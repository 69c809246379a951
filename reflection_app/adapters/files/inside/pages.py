"""PDF: pages, words, what its links lead to, and a page drawn."""

import ctypes
import re
from typing import Any

from reflection_app.adapters.files.inside.found import CannotLook, Found
from reflection_app.loops.completeness.file_codes import FaultCode

MOST_PAGES = 2_000
# Where the mark of the end is looked for: some writers put a signature or a line of their server behind it.
TAIL = 8_192
OBJECT = re.compile(rb"[\r\n][ \t\f\v]*+\d{1,10}\s++\d{1,5}\s++obj\b")
LARGEST_SIDE = 20_000
LINKS_OF_A_PAGE = 2_000


def open_pdf(content: bytes) -> Any:
    """The document. Raises CannotLook, or what the library raises of it."""
    try:
        import pypdfium2 as pdfium
    except ImportError:
        raise CannotLook("pypdfium2") from None
    return pdfium.PdfDocument(content)


def look_at_pdf(content: bytes, found: Found) -> None:
    is_cut = lacks_end(content)
    try:
        document = open_pdf(content)
        found.pages = len(document)
    except RuntimeError as error:
        is_locked = "password" in str(error).casefold() or "security" in str(error).casefold()
        code = FaultCode.ENCRYPTED if is_locked else FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE
        found.fault(code, actual=str(error) if code is FaultCode.UNREADABLE else "")
        return
    if is_cut:  # the library builds its list of objects anew from what is there
        found.fault(FaultCode.TRUNCATED, actual=f"{found.pages}")
    if not found.pages:
        found.fault(FaultCode.UNREADABLE, actual="0")
        return
    found.words, found.links = 0, 0
    look_at_outline(document, found)
    for number in range(min(found.pages, MOST_PAGES)):
        if not found.has_time():
            break
        look_at_page(document, number, found)
    found.is_whole = found.is_whole and found.pages <= MOST_PAGES
    if not found.words and found.is_whole and not found.has(FaultCode.UNREADABLE):
        found.fault(FaultCode.NO_TEXT, actual=found.pages)


def lacks_end(content: bytes) -> bool:
    """Whether the mark of the end is missing: one with objects behind it is that of an older state, or of a page that
    is to be shown first."""
    at = content.rfind(b"%%EOF", -TAIL)
    return at < 0 or OBJECT.search(content, at) is not None


def look_at_page(document: Any, number: int, found: Found) -> None:
    place = f"page {number + 1}"
    try:
        page = document[number]
        text = page.get_textpage().get_text_range()
    except RuntimeError as error:
        found.fault(FaultCode.UNREADABLE, place=place, actual=str(error))
        return
    found.read_text(text)
    for line in text.splitlines():
        found.keep_line(line.strip())
    look_at_links(document, page, place, found)
    page.close()


def look_at_outline(document: Any, found: Found) -> None:
    try:
        for mark in document.get_toc(max_depth=6):
            title = mark.get_title()
            if title.strip():
                found.headings.append(" ".join(title.split()))
            if len(found.headings) >= LINKS_OF_A_PAGE:
                return
    except (RuntimeError, ValueError):
        return


def look_at_links(document: Any, page: Any, place: str, found: Found) -> None:
    """Counts links; one that leads to a page of this document which it does not have is a fault."""
    from pypdfium2 import raw

    at, link = ctypes.c_int(0), raw.FPDF_LINK()
    for _ in range(LINKS_OF_A_PAGE):
        if not raw.FPDFLink_Enumerate(page, at, link):
            return
        found.links = (found.links or 0) + 1
        target = raw.FPDFLink_GetDest(document, link)
        action = raw.FPDFLink_GetAction(link)
        if not target and action and raw.FPDFAction_GetType(action) == raw.PDFACTION_GOTO:
            target = raw.FPDFAction_GetDest(document, action)
        if target:
            index = raw.FPDFDest_GetDestPageIndex(document, target)
            if not 0 <= index < len(document):
                found.fault(FaultCode.BROKEN_LINK, place=place, actual=index)


def draw_page(content: bytes, *, page: int, max_side_px: int) -> Any:
    """The page, counted from 1, as a picture whose longer side is `max_side_px`. Raises IndexError."""
    document = open_pdf(content)
    if not 1 <= page <= len(document):
        raise IndexError(page)
    one = document[page - 1]
    width, height = one.get_size()
    longer = max(width, height, 1.0)
    if min(width, height) <= 0 or max(width, height) / max(min(width, height), 0.01) > LARGEST_SIDE:
        raise ValueError("a page without a size")
    return one.render(scale=max_side_px / longer, may_draw_forms=False).to_pil()
