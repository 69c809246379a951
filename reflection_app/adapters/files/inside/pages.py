"""PDF and pictures: inspected, or a page drawn."""

import io
from typing import Any

from reflection_app.adapters.files.inside.found import CannotLook, Found, UnfoldsTooFar
from reflection_app.core.recognizing import MOST_PIXELS, recognize
from reflection_app.loops.completeness.file_codes import FaultCode

MOST_PAGES = 2_000
# Some writers put a signature or a line of their server behind the mark of the end.
TAIL = 2_048
NARROWEST = 1 / 20_000
FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP", "TIFF")
MOST_FRAMES = 300
FRAME_PIXELS = 200_000_000


def open_pdf(content: bytes) -> Any:
    """The document. Raises CannotLook, or what the library raises."""
    try:
        import pypdfium2 as pdfium
    except ImportError:
        raise CannotLook("pypdfium2") from None
    return pdfium.PdfDocument(content)


def inspect_pdf(content: bytes, found: Found) -> None:
    is_cut = b"%%EOF" not in content[-TAIL:]
    try:
        document = open_pdf(content)
    except RuntimeError as error:
        is_locked = "password" in str(error).casefold() or "security" in str(error).casefold()
        code = FaultCode.ENCRYPTED if is_locked else FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE
        found.fault(code, actual=error if code is FaultCode.UNREADABLE else "")
        return
    found.pages = len(document)
    if is_cut:  # the library makes do with what is there
        found.fault(FaultCode.TRUNCATED)
    for number in range(min(found.pages, MOST_PAGES)):
        if not found.has_time():
            break
        try:
            page = document[number]
            found.read_text(page.get_textpage().get_text_range())
            page.close()
        except RuntimeError as error:
            found.fault(FaultCode.UNREADABLE, place=f"page {number + 1}", actual=error)
    found.is_whole = found.is_whole and found.pages <= MOST_PAGES
    if not found.words and found.is_whole and not found.faults:
        found.fault(FaultCode.NO_TEXT if found.pages else FaultCode.UNREADABLE, actual=found.pages)


def open_picture(content: bytes) -> Any:
    """The picture, of which only the header was read. Raises CannotLook, UnfoldsTooFar or what the library raises."""
    try:
        from PIL import Image
    except ImportError:
        raise CannotLook("Pillow") from None
    Image.MAX_IMAGE_PIXELS = None
    known = recognize(content)
    check_pixels(known.width or 0, known.height or 0)
    picture = Image.open(io.BytesIO(content), formats=FORMATS)
    check_pixels(*picture.size)
    return picture


def check_pixels(width: int, height: int) -> None:
    if width * height > MOST_PIXELS:
        raise UnfoldsTooFar(f"{width} × {height} px")


def inspect_picture(content: bytes, found: Found) -> None:
    """Each frame is decoded, as far as the time is enough."""
    try:
        open_picture(content).verify()
        picture = open_picture(content)
        width, height = picture.size
        pages: int = getattr(picture, "n_frames", 1)
        found.width, found.height, found.pages = width, height, pages
        frames = min(pages, MOST_FRAMES, max(1, FRAME_PIXELS // max(1, width * height)))
        found.is_whole = frames == pages
        for frame in range(frames):
            picture.seek(frame)
            picture.load()
            if not found.has_time():
                return
    except (OSError, SyntaxError, ValueError, TypeError, EOFError, IndexError) as error:
        is_cut = "truncated" in str(error).casefold() or isinstance(error, EOFError)
        found.fault(
            FaultCode.TRUNCATED if is_cut else FaultCode.UNREADABLE, actual="" if is_cut else type(error).__name__
        )


def draw_pdf(content: bytes, *, page: int, max_side_px: int) -> Any:
    """The page, counted from 1, as a picture whose longer side is `max_side_px`. Raises IndexError."""
    document = open_pdf(content)
    if not 1 <= page <= len(document):
        raise IndexError(page)
    width, height = document[page - 1].get_size()
    if min(width, height) <= max(width, height, 1.0) * NARROWEST:
        raise ValueError("a page without a size")
    return document[page - 1].render(scale=max_side_px / max(width, height, 1.0), may_draw_forms=False).to_pil()


def draw_picture(content: bytes, *, page: int, max_side_px: int) -> Any:
    """The frame, counted from 1, upright and no larger than asked. Raises IndexError."""
    picture = open_picture(content)
    if not 1 <= page <= getattr(picture, "n_frames", 1):
        raise IndexError(page)
    picture.seek(page - 1)
    picture.draft("RGB", (max_side_px, max_side_px))  # JPEG is then decoded no larger than needed
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture)


def as_png(picture: Any, *, max_side_px: int) -> bytes:
    has_alpha = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
    plain = picture.convert("RGBA" if has_alpha else "RGB")
    plain.thumbnail((max_side_px, max_side_px))
    written = io.BytesIO()
    plain.save(written, "PNG")
    return written.getvalue()
