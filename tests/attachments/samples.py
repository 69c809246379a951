"""Small files of each kind, made byte by byte."""

import base64
import struct
import wave
import zlib
from io import BytesIO
from typing import Any

from tests import pictures

UNSEEN = b"\x00\x01\x02\x03"


def _chunk(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def png(width: int = 3, height: int = 2, *, colour: tuple[int, int, int] = (20, 90, 200), says: str = "") -> bytes:
    """A picture of one colour, really drawn; `says` makes its bytes differ."""
    drawn, header = pictures.png(width, height, colour=colour), 33
    text = _chunk(b"tEXt", b"Comment\0" + says.encode()) if says else b""
    return drawn[:header] + text + drawn[header:]


def bomb() -> bytes:
    """A picture of a few bytes that says it is 100,000 pixels wide and high."""
    header = struct.pack(">IIBBBBB", 100_000, 100_000, 8, 0, 0, 0, 0)
    return (
        b"\x89PNG\r\n\x1a\n"
        + _chunk(b"IHDR", header)
        + _chunk(b"IDAT", zlib.compress(b"\0" * 1000))
        + _chunk(b"IEND", b"")
    )


def jpeg(width: int = 5, height: int = 4) -> bytes:
    frame = struct.pack(">BHHB", 8, height, width, 1) + b"\x01\x11\x00"
    return b"\xff\xd8\xff\xe0\x00\x04ab\xff\xc0" + struct.pack(">H", len(frame) + 2) + frame + b"\xff\xd9"


def gif(width: int = 7, height: int = 6) -> bytes:
    return b"GIF89a" + struct.pack("<HH", width, height) + b"\0\0\0;"


def webp(width: int = 9, height: int = 8) -> bytes:
    body = b"WEBPVP8X" + struct.pack("<I", 10) + b"\0\0\0\0" + (width - 1).to_bytes(3, "little")
    return b"RIFF" + struct.pack("<I", len(body) + 3) + body + (height - 1).to_bytes(3, "little")


def _box(kind: bytes, data: bytes) -> bytes:
    return struct.pack(">I", len(data) + 8) + kind + data


def avif(width: int = 11, height: int = 10) -> bytes:
    sizes = _box(b"ispe", struct.pack(">III", 0, width, height))
    return _box(b"ftyp", b"avif\0\0\0\0mif1avif") + _box(b"meta", b"\0\0\0\0" + sizes)


def pdf(pages: int = 2) -> bytes:
    """A document with a line of text on each page, whole to its table of objects."""
    return pictures.pdf(*["Sales by region"] * pages)


def wav(seconds: float = 0.1) -> bytes:
    file = BytesIO()
    with wave.open(file, "wb") as sound:
        sound.setnchannels(1)
        sound.setsampwidth(2)
        sound.setframerate(8000)
        sound.writeframes(b"\0\0" * int(8000 * seconds))
    return file.getvalue()


def mp3() -> bytes:
    frame = b"\xff\xfb\x90\x00" + b"\0" * (144 * 128_000 // 44_100 - 4)
    return frame * 3


def ogg() -> bytes:
    return b"OggS\0\x02" + b"\0" * 20 + b"\x01\x13OpusHead\x01\x02" + b"\0" * 12


def m4a(handler: bytes = b"soun") -> bytes:
    heard = _box(b"hdlr", b"\0\0\0\0\0\0\0\0" + handler + b"\0" * 12)
    return _box(b"ftyp", b"M4A \0\0\0\0isomM4A ") + _box(b"moov", heard)


def webm(codec: bytes = b"A_OPUS") -> bytes:
    return b"\x1a\x45\xdf\xa3\x9f\x42\x82\x84webm" + b"\0" * 20 + codec + b"\0" * 20


def part(content: bytes, media_type: str = "image/png", **more: Any) -> dict[str, Any]:
    """A part as OpenAI has pictures."""
    data = base64.b64encode(content).decode()
    return {"type": "image_url", "image_url": {"url": f"data:{media_type};base64,{data}", **more}}
