"""Pictures and sounds: their true format and size, whether they are whole, and a picture drawn anew."""

import io
import re
from typing import Any
from xml.parsers import expat

from reflection_app.adapters.files.inside.found import CannotLook, Found, line_place
from reflection_app.core.recognizing import MOST_PIXELS, recognize
from reflection_app.loops.completeness.file_codes import FaultCode

FORMATS = ("PNG", "JPEG", "GIF", "WEBP", "AVIF", "BMP", "TIFF", "ICO")
MOST_FRAMES = 300
FRAME_PIXELS = 200_000_000
LENGTH = re.compile(r"\s*+([\d.]++)\s*+(?:px\s*+)?")


def open_picture(content: bytes) -> Any:
    """The picture, of which only the header has been read. Raises CannotLook, or what the library raises of it."""
    try:
        from PIL import Image, ImageFile
    except ImportError:
        raise CannotLook("Pillow") from None
    Image.MAX_IMAGE_PIXELS = None  # looked at here, with a fault of its own
    ImageFile.LOAD_TRUNCATED_IMAGES = False
    return Image.open(io.BytesIO(content), formats=FORMATS)


def look_at_picture(content: bytes, found: Found) -> None:
    if found.media_type == "image/svg+xml":
        return
    known = recognize(content)
    found.width, found.height = known.width, known.height
    if is_too_large(known.width, known.height, found):
        return
    try:
        picture = open_picture(content)
    except (OSError, SyntaxError, ValueError, TypeError) as error:
        found.fault(FaultCode.TRUNCATED if is_cut(content) else FaultCode.UNREADABLE, actual=plain(error))
        return
    found.width, found.height = picture.size
    if is_too_large(found.width, found.height, found):
        return
    try:
        found.pages = getattr(picture, "n_frames", 1)
        load_frames(picture, found)
    except (OSError, SyntaxError, ValueError, TypeError, EOFError, IndexError) as error:
        is_short = "truncated" in str(error) or isinstance(error, EOFError) or is_cut(content)
        found.fault(FaultCode.TRUNCATED if is_short else FaultCode.UNREADABLE, actual=plain(error))
        return
    if is_cut(content):
        found.fault(FaultCode.TRUNCATED)


def is_too_large(width: int | None, height: int | None, found: Found) -> bool:
    if (width or 0) * (height or 0) <= MOST_PIXELS:
        return False
    found.fault(FaultCode.UNFOLDS, expected=f"{MOST_PIXELS:,} px", actual=f"{width} × {height} px")
    return True


def load_frames(picture: Any, found: Found) -> None:
    """Decodes all frames, or as many as there is time for."""
    frames = min(found.pages or 1, MOST_FRAMES, max(1, FRAME_PIXELS // max(1, picture.width * picture.height)))
    for frame in range(frames):
        if frame:
            picture.seek(frame)
        picture.load()
        if not found.has_time():
            return
    found.is_whole = found.is_whole and frames == (found.pages or 1)


def is_cut(content: bytes) -> bool:
    """Whether the mark of the end is missing; libraries are content with less."""
    if content.startswith(b"\x89PNG"):
        end = content.rfind(b"IEND")
        return end < 0 or end + 8 > len(content)
    if content.startswith(b"\xff\xd8\xff"):
        return content.rfind(b"\xff\xd9") < max(content.rfind(b"\xff\xda"), 2)
    if content.startswith(b"GIF8"):
        return not content.rstrip(b"\0").endswith(b";")
    if content.startswith(b"RIFF"):
        return int.from_bytes(content[4:8], "little") + 8 > len(content) + 1
    return False


def plain(error: Exception) -> str:
    """The library's words without the address of an object in them."""
    return re.sub(r"<_io\.BytesIO[^<>]*+>", "", str(error))


def look_at_sound(content: bytes, found: Found) -> None:
    """Sounds are not decoded; those whose format tells their length are measured against it."""
    if found.media_type == "audio/wav":
        told = int.from_bytes(content[4:8], "little") + 8
        if told > len(content) + 1 and told < 0xFFFFFFFF:  # streamed ones do not know it
            found.fault(FaultCode.TRUNCATED, expected=f"{told:,}", actual=f"{len(content):,}")
    elif found.media_type == "audio/mp4" and (told := length_of_boxes(content)) > len(content):
        found.fault(FaultCode.TRUNCATED, expected=f"{told:,}", actual=f"{len(content):,}")


def length_of_boxes(content: bytes) -> int:
    """Where the last of the boxes that follow each other ends."""
    at = 0
    while at + 8 <= len(content):
        length = int.from_bytes(content[at : at + 4], "big")
        if length == 1:
            length = int.from_bytes(content[at + 8 : at + 16], "big")
        if length < 8:
            return at
        at += length
    return at


# XML, and drawings in it.


class Unfolded(Exception):
    """Entities that stand for others and unfold to more than any document has."""


MOST_UNFOLDED = 50_000_000


def look_at_xml(content: bytes, found: Found) -> None:
    """Whether it is well-formed; of a drawing also the size. Nothing outside of it is read."""
    parser = expat.ParserCreate()
    seen = {"characters": 0}

    def start(name: str, attributes: dict[str, str]) -> None:
        if found.width is None and name.rpartition(":")[2] == "svg":
            found.width, found.height = length_of(attributes.get("width")), length_of(attributes.get("height"))
        parser.StartElementHandler = None

    def characters(text: str) -> None:
        seen["characters"] += len(text)
        if seen["characters"] > MOST_UNFOLDED + len(content):
            raise Unfolded

    parser.StartElementHandler, parser.CharacterDataHandler = start, characters
    try:
        parser.Parse(content, True)
    except Unfolded:
        found.fault(FaultCode.UNFOLDS, expected=f"{len(content) // 1000:,} kB", actual="<!ENTITY>")
    except expat.ExpatError as error:
        message = expat.errors.messages.get(error.code, "")
        place = line_place(error.lineno)
        if "amplification" in str(error) or message == "out of memory":
            found.fault(FaultCode.UNFOLDS, expected=f"{len(content) // 1000:,} kB", actual="<!ENTITY>")
        elif message in {"no element found", "unclosed token", "unclosed CDATA section", "partial character"}:
            found.fault(FaultCode.TRUNCATED, place=place)
        else:
            found.fault(FaultCode.SYNTAX, place=place, actual=str(error).partition(":")[0])


def length_of(text: str | None) -> int | None:
    match = LENGTH.fullmatch(text or "")
    try:
        return round(float(match.group(1))) if match else None
    except (ValueError, OverflowError):
        return None


# A picture drawn anew.


class TooManyPixels(Exception):
    """The picture would fill the memory."""


def draw_picture(content: bytes, *, page: int, max_side_px: int) -> Any:
    """The frame, counted from 1, upright and no larger than asked. Raises IndexError, ValueError or OSError."""
    known = recognize(content)
    if (known.width or 0) * (known.height or 0) > MOST_PIXELS:
        raise TooManyPixels
    picture = open_picture(content)
    if picture.width * picture.height > MOST_PIXELS:
        raise TooManyPixels
    if not 1 <= page <= getattr(picture, "n_frames", 1):
        raise IndexError(page)
    if page > 1:
        picture.seek(page - 1)
    picture.draft("RGB", (max_side_px, max_side_px))  # JPEG is then decoded no larger than needed
    from PIL import ImageOps

    return ImageOps.exif_transpose(picture)


def as_png(picture: Any, *, max_side_px: int) -> bytes:
    has_alpha = picture.mode in {"RGBA", "LA", "PA"} or "transparency" in picture.info
    plain_one = picture.convert("RGBA" if has_alpha else "RGB")
    plain_one.thumbnail((max_side_px, max_side_px))
    written = io.BytesIO()
    plain_one.save(written, "PNG")
    return written.getvalue()
