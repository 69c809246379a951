"""What a file is by its own bytes: names and claims of senders are never believed. Pure; nothing is decoded.

Sizes of pictures are read from their headers, so a small file that would unfold into gigabytes is known before anybody
unfolds it. Formats: PNG (W3C), JPEG (ITU T.81), GIF89a, WebP (RFC 9649), AVIF and MP4 (ISO 14496-12), PDF (ISO 32000),
MP3 (ISO 11172-3), Ogg (RFC 3533), WebM (RFC 9559).
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass
from math import prod

UNKNOWN = "application/octet-stream"
# What a browser may show by itself, with the endings of its names; the first is added where a name has another.
PICTURES = {
    "image/png": (".png",),
    "image/jpeg": (".jpg", ".jpeg"),
    "image/gif": (".gif",),
    "image/webp": (".webp",),
    "image/avif": (".avif",),
}
SOUNDS = {
    "audio/mpeg": (".mp3",),
    "audio/wav": (".wav",),
    "audio/ogg": (".ogg", ".oga", ".opus"),
    "audio/mp4": (".m4a", ".mp4"),
    "audio/webm": (".webm", ".weba"),
}
PDF = "application/pdf"
INLINE = PICTURES | SOUNDS | {PDF: (".pdf",)}
# How far into a file its header is looked for.
HEADER = 65_536
# More than a browser unfolds without harm: four bytes each.
MOST_PIXELS = 64_000_000
# The largest width and height that PNG allows, and the largest number that the database keeps of them.
LONGEST_SIDE = 2**31 - 1


@dataclass(frozen=True)
class Recognized:
    """The media type, UNKNOWN where it is none that a browser may show, and what its header tells of its size."""

    media_type: str
    width: int | None = None
    height: int | None = None
    pages: int | None = None


def recognize(content: bytes) -> Recognized:
    """What the bytes are. What only begins like a picture, and has no size or an impossible one, is none."""
    for media_type, size in _sized(content):
        if size is not None and min(size) > 0 and max(size) <= LONGEST_SIDE:
            return Recognized(media_type, width=size[0], height=size[1])
    if content.startswith(b"%PDF-"):
        return Recognized(PDF, pages=sum(1 for _ in PAGE.finditer(content)) or None)
    return Recognized(_sound(content) or UNKNOWN)


# Leaves of the tree of pages, where it stands in the file as it is; else nobody counts.
PAGE = re.compile(rb"/Type\s{0,8}/Page(?![A-Za-z])")

type Size = tuple[int, int]


def _sized(content: bytes) -> Iterator[tuple[str, Size | None]]:
    if content.startswith(b"\x89PNG\r\n\x1a\n"):
        yield "image/png", (_big(content, 16, 4), _big(content, 20, 4)) if content[12:16] == b"IHDR" else None
    elif content.startswith(b"\xff\xd8\xff"):
        yield "image/jpeg", _jpeg(content)
    elif content.startswith((b"GIF87a", b"GIF89a")):
        yield "image/gif", (_little(content, 6, 2), _little(content, 8, 2))
    elif content.startswith(b"RIFF") and content[8:12] == b"WEBP":
        yield "image/webp", _webp(content)
    elif _brands(content) & {b"avif", b"avis"}:
        yield "image/avif", _avif(content)


def _big(content: bytes, at: int, length: int) -> int:
    """The number there, most significant byte first; 0 where the file ends before."""
    return int.from_bytes(content[at : at + length], "big") if len(content) >= at + length else 0


def _little(content: bytes, at: int, length: int) -> int:
    return int.from_bytes(content[at : at + length], "little") if len(content) >= at + length else 0


# Start of frame, in all its kinds; C4, C8 and CC are none.
FRAMES = frozenset(range(0xC0, 0xD0)) - {0xC4, 0xC8, 0xCC}
ALONE = frozenset({0x01, *range(0xD0, 0xD9)})


def _jpeg(content: bytes) -> Size | None:
    at = 2
    while at + 4 <= len(content):
        if content[at] != 0xFF:
            return None
        marker = content[at + 1]
        if marker == 0xFF:
            at += 1
        elif marker in ALONE:
            at += 2
        elif marker in FRAMES:
            return _big(content, at + 7, 2), _big(content, at + 5, 2)
        else:
            length = _big(content, at + 2, 2)
            if length < 2 or marker in {0xD9, 0xDA}:
                return None
            at += 2 + length
    return None


def _webp(content: bytes) -> Size | None:
    match content[12:16]:
        case b"VP8X":
            return _little(content, 24, 3) + 1, _little(content, 27, 3) + 1
        case b"VP8 " if content[23:26] == b"\x9d\x01\x2a":
            return _little(content, 26, 2) & 0x3FFF, _little(content, 28, 2) & 0x3FFF
        case b"VP8L" if content[20:21] == b"\x2f":
            bits = _little(content, 21, 4)
            return (bits & 0x3FFF) + 1, (bits >> 14 & 0x3FFF) + 1
    return None


def _brands(content: bytes) -> set[bytes]:
    """The brands of a file of boxes, none of any other."""
    length = _big(content, 0, 4)
    if content[4:8] != b"ftyp" or not 16 <= length <= 512:
        return set()
    listed = content[8:12] + content[16:length]
    return {listed[at : at + 4] for at in range(0, len(listed), 4)}


def _avif(content: bytes) -> Size | None:
    """The largest of the pictures that are in it: the others are tiles and thumbnails."""
    found = [match.start() for match in re.finditer(rb"ispe\0\0\0\0", content[:HEADER])]
    return max(((_big(content, at + 8, 4), _big(content, at + 12, 4)) for at in found), key=prod, default=None)


def _sound(content: bytes) -> str:
    head = content[:HEADER]
    if content.startswith(b"RIFF") and content[8:12] == b"WAVE":
        return "audio/wav"
    if content.startswith(b"OggS\0"):
        codecs = (b"OpusHead", b"\x01vorbis", b"Speex   ", b"\x7fFLAC")
        return "audio/ogg" if any(codec in content[:128] for codec in codecs) else ""
    if _brands(content):
        handlers = {
            content[match.end() : match.end() + 4] for match in re.finditer(rb"hdlr\0\0\0\0.{4}", content, re.DOTALL)
        }
        return "audio/mp4" if b"soun" in handlers and b"vide" not in handlers else ""
    if content.startswith(b"\x1a\x45\xdf\xa3") and b"webm" in content[:64]:
        return "audio/webm" if (b"A_OPUS" in head or b"A_VORBIS" in head) and b"V_" not in head else ""
    return "audio/mpeg" if _is_mp3(content) else ""


KBITS = {
    3: (0, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320),
    2: (0, 8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 144, 160),
}
HERTZ = {3: (44_100, 48_000, 32_000), 2: (22_050, 24_000, 16_000), 0: (11_025, 12_000, 8_000)}
LAYER_3 = 1


def _is_mp3(content: bytes) -> bool:
    """Whether there is a tag, or two frames of MPEG audio one behind the other: two bytes alone may be anything."""
    if content.startswith(b"ID3"):
        return len(content) > 10 and 2 <= content[3] <= 4 and all(byte < 0x80 for byte in content[6:10])
    length = _frame(content, 0)
    return length > 0 and _frame(content, length) > 0


def _frame(content: bytes, at: int) -> int:
    """How long the frame of layer III is that begins there, 0 where none does."""
    if len(content) < at + 4 or content[at] != 0xFF or content[at + 1] & 0xE0 != 0xE0:
        return 0
    version, layer = content[at + 1] >> 3 & 3, content[at + 1] >> 1 & 3
    rate, pitch, padded = content[at + 2] >> 4, content[at + 2] >> 2 & 3, content[at + 2] >> 1 & 1
    if layer != LAYER_3 or version == 1 or rate in {0, 15} or pitch == 3:
        return 0
    kbits, samples = (KBITS[3], 144) if version == 3 else (KBITS[2], 72)
    return samples * kbits[rate] * 1000 // HERTZ[version][pitch] + padded
