"""DOCX and PPTX: headings, words, slides, and links within the document that lead nowhere."""

import io
import re
import zipfile
from collections.abc import Iterator
from typing import Any

from reflection_app.adapters.files.inside.found import CannotLook, Found
from reflection_app.loops.completeness.file_codes import FaultCode

WORD = "{http://schemas.openxmlformats.org/wordprocessingml/2006/main}"
DRAWING = "{http://schemas.openxmlformats.org/drawingml/2006/main}"
# Of Word itself and of LibreOffice and WPS, in the languages in which they write them out.
NAMES = "heading|title|标题|標題|überschrift|titre|título|titolo|заголовок|見出し"
HEADING = re.compile(rf"(?:{NAMES})\s*\d*", re.IGNORECASE)
BODY_LEVEL = 9
# Word's own bookmark, which it does not write down.
ALWAYS_THERE = {"_top", "_Top", "_GoBack", ""}


def look_at_document(content: bytes, found: Found) -> None:
    try:
        import docx
        from docx.opc.exceptions import OpcError
        from lxml.etree import LxmlError
    except ImportError:
        raise CannotLook("python-docx") from None
    try:
        document = docx.Document(io.BytesIO(content))
        body = document.element.body
        levels = heading_styles(document)
    except (OpcError, LxmlError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile) as error:
        found.fault(FaultCode.UNREADABLE, actual=f"{type(error).__name__}: {error}")
        return
    found.words = 0
    for paragraph in body.iter(f"{WORD}p"):
        text = text_of(paragraph)
        found.read_text(text)
        found.keep_line(text.strip())
        if text.strip() and is_heading(paragraph, levels):
            found.headings.append(" ".join(text.split()))
        if not found.has_time():
            break
    look_at_anchors(body, found)
    if not found.words and found.is_whole:
        found.fault(FaultCode.NO_TEXT)


def text_of(paragraph: Any) -> str:
    """The paragraph's own text, without that of boxes in it, which are paragraphs of their own."""
    return "".join(pieces(paragraph))


def pieces(paragraph: Any) -> Iterator[str]:
    for node in paragraph.iter(f"{WORD}t", f"{WORD}tab", f"{WORD}br"):
        owner = next(node.iterancestors(f"{WORD}p"), None)
        if owner is paragraph:
            yield node.text or "" if node.tag == f"{WORD}t" else " "


def heading_styles(document: Any) -> set[str]:
    """The ids of styles that make a heading: by name, by outline level, or by what they are based on."""
    styles = {style.get(f"{WORD}styleId"): style for style in document.styles.element.iter(f"{WORD}style")}
    return {style_id for style_id in styles if style_id and is_heading_style(style_id, styles)}


def is_heading_style(style_id: str, styles: dict[str, Any]) -> bool:
    seen: set[str] = set()
    current: str | None = style_id
    while current in styles and current not in seen:
        seen.add(current)
        style = styles[current]
        name, level, based_on = (
            style.find(path) for path in (f"{WORD}name", f"{WORD}pPr/{WORD}outlineLvl", f"{WORD}basedOn")
        )
        if level is not None:
            return is_outline(level)
        if name is not None and HEADING.fullmatch(name.get(f"{WORD}val") or ""):
            return True
        current = based_on.get(f"{WORD}val") if based_on is not None else None
    return False


def is_heading(paragraph: Any, levels: set[str]) -> bool:
    level = paragraph.find(f"{WORD}pPr/{WORD}outlineLvl")
    if level is not None:
        return is_outline(level)
    style = paragraph.find(f"{WORD}pPr/{WORD}pStyle")
    return style is not None and style.get(f"{WORD}val") in levels


def is_outline(level: Any) -> bool:
    value = level.get(f"{WORD}val") or ""
    return value.isdigit() and int(value) < BODY_LEVEL


def look_at_anchors(body: Any, found: Found) -> None:
    """Counts links; those within the document have to lead to a bookmark in it."""
    there = {mark.get(f"{WORD}name") for mark in body.iter(f"{WORD}bookmarkStart")} | ALWAYS_THERE
    found.links = 0
    for link in body.iter(f"{WORD}hyperlink"):
        found.links += 1
        anchor = link.get(f"{WORD}anchor")
        if anchor is not None and anchor not in there and not any(True for key in link.attrib if key.endswith("}id")):
            found.fault(FaultCode.BROKEN_LINK, place=text_of_link(link), actual=f"#{anchor}")


def text_of_link(link: Any) -> str:
    return "".join(node.text or "" for node in link.iter(f"{WORD}t"))


def look_at_slides(content: bytes, found: Found) -> None:
    try:
        import pptx
        from lxml.etree import LxmlError
        from pptx.exc import PythonPptxError
    except ImportError:
        raise CannotLook("python-pptx") from None
    broken = (PythonPptxError, LxmlError, KeyError, ValueError, TypeError, AttributeError, zipfile.BadZipFile)
    try:
        slides = list(pptx.Presentation(io.BytesIO(content)).slides)
    except broken as error:
        found.fault(FaultCode.UNREADABLE, actual=f"{type(error).__name__}: {error}")
        return
    found.pages, found.words, found.links = len(slides), 0, 0
    for number, slide in enumerate(slides, 1):
        try:
            title = slide.shapes.title
            if title is not None and title.has_text_frame and title.text_frame.text.strip():
                found.headings.append(" ".join(title.text_frame.text.split()))
            for paragraph in slide.element.iter(f"{DRAWING}p"):
                text = "".join(node.text or "" for node in paragraph.iter(f"{DRAWING}t"))
                found.read_text(text)
                found.keep_line(text.strip())
            found.links += sum(1 for _ in slide.element.iter(f"{DRAWING}hlinkClick"))
        except broken as error:
            found.fault(FaultCode.UNREADABLE, place=f"slide {number}", actual=f"{type(error).__name__}: {error}")
        if not found.has_time():
            return
    if not found.words:
        found.fault(FaultCode.NO_TEXT)
