"""Bytes as text: by their mark, as UTF-8, as declared, as GB 18030; and text that was read wrongly before."""

import re

from reflection_app.adapters.files.inside.found import Found, line_place
from reflection_app.loops.completeness.file_codes import FaultCode

MARKS = ((b"\xef\xbb\xbf", "utf-8-sig"), (b"\xff\xfe\0\0", "utf-32"), (b"\0\0\xfe\xff", "utf-32"))
MARKS_OF_TWO = ((b"\xff\xfe", "utf-16"), (b"\xfe\xff", "utf-16"))
# Of Chinese text, nearly all characters are of the 3,755 that GB 2312 has in front, or punctuation.
COMMON = re.compile(rb"[\xa1-\xa3\xb0-\xd7][\xa1-\xfe]")
PAIR = re.compile(rb"[\x81-\xfe](?:[\x40-\x7e\x80-\xfe]|[\x30-\x39][\x81-\xfe][\x30-\x39])")
LEAST_COMMON = 0.85
LEAST_CHINESE = 4
# All of Korean in EUC-KR lies before this byte, and four of ten characters of Chinese text from it on.
BEHIND_KOREAN = 0xC9
LEAST_BEHIND = 0.1

# UTF-8 that was taken for Windows-1252 and written as UTF-8 again: each byte is now a character.
HIGH = "".join(bytes([code]).decode("cp1252", "ignore") or chr(code) for code in range(0x80, 0xC0))
TWICE = re.compile(f"[Â-ß][{re.escape(HIGH)}]|[à-ï][{re.escape(HIGH)}]{{2}}|[ð-ô][{re.escape(HIGH)}]{{3}}")
FOREIGN = re.compile("[\u0080-\u00ff]")
LOST = re.compile("\ufffd")
# U+FFFD in UTF-8, read as GBK.
LOST_TWICE = "锟斤拷"
LEAST_TWICE = 2
LEAST_LOST = 3
SHARE_LOST = 0.0005


def decode(content: bytes, found: Found, *, declared: str = "", only_utf8: bool = False) -> str:
    """The text. What cannot be read at all is a fault, and each such byte a replacement character."""
    for mark, encoding in (*MARKS, *MARKS_OF_TWO):
        if content.startswith(mark):
            found.encoding = encoding.removesuffix("-sig")
            return decode_strictly(content, encoding, found)
    try:
        text = content.decode("utf-8")
    except UnicodeDecodeError as error:
        return decode_otherwise(content, error, found, declared=declared, only_utf8=only_utf8)
    found.encoding = "utf-8"
    return text


def decode_strictly(content: bytes, encoding: str, found: Found) -> str:
    try:
        return content.decode(encoding)
    except UnicodeDecodeError as error:
        is_cut = error.end >= len(content) and "end of data" in error.reason + " truncated end of data"
        code = FaultCode.TRUNCATED if is_cut and "truncated" in error.reason else FaultCode.ENCODING
        found.fault(code, place=line_place(line_of(content, error.start)), expected=found.encoding)
        return content.decode(encoding, "replace")


def decode_otherwise(content: bytes, error: UnicodeDecodeError, found: Found, *, declared: str, only_utf8: bool) -> str:
    """The text of what is not UTF-8."""
    place = line_place(line_of(content, error.start))
    if error.reason == "unexpected end of data" and error.start >= len(content) - 3:
        found.encoding = "utf-8"
        found.fault(FaultCode.TRUNCATED, place=place)
        return content[: error.start].decode("utf-8")
    if declared and (text := decoded(content, declared)) is not None:
        found.encoding = declared.casefold()
        return text
    bad = content[error.start : error.end].hex(" ")
    if is_chinese(content) and (text := decoded(content, "gb18030")) is not None:
        found.encoding = "gb18030"
        if only_utf8:
            found.fault(FaultCode.ENCODING, place=place, expected="utf-8", actual="gb18030")
        return text
    found.encoding = "unknown"
    found.fault(FaultCode.ENCODING, place=place, expected="utf-8", actual=bad)
    # Nearly all of what is left was written in the West, and columns are then still found.
    return content.decode("cp1252", "replace")


def decoded(content: bytes, encoding: str) -> str | None:
    try:
        return content.decode(encoding)
    except (LookupError, UnicodeError, ValueError):
        return None


def is_chinese(content: bytes) -> bool:
    """Whether the bytes above ASCII are characters of GB 18030, nearly all of them common ones."""
    pairs = PAIR.findall(content[:2_000_000])
    common = [pair for pair in pairs if COMMON.fullmatch(pair)]
    behind = sum(pair[0] >= BEHIND_KOREAN for pair in common)
    enough = len(pairs) >= LEAST_CHINESE and len(common) >= LEAST_COMMON * len(pairs)
    return enough and behind >= LEAST_BEHIND * len(common)


def line_of(content: bytes, at: int) -> int:
    return content.count(b"\n", 0, at) + 1


def look_for_mojibake(text: str, found: Found) -> None:
    """A fault where the text was once read in the wrong encoding: it is whole, and says nothing."""
    if found.has(FaultCode.ENCODING) or text.isascii():
        return
    twice = list(TWICE.finditer(text))
    inside = sum(len(FOREIGN.findall(match.group())) for match in twice)
    if len(twice) >= LEAST_TWICE and inside >= 0.9 * len(FOREIGN.findall(text)):
        report(text, twice[0].start(), twice[0].group(), found)
    elif (at := text.find(LOST_TWICE)) >= 0:
        report(text, at, LOST_TWICE, found)
    elif (lost := LOST.search(text)) and text.count("\ufffd") >= max(LEAST_LOST, SHARE_LOST * len(text)):
        report(text, lost.start(), "\ufffd", found)


def report(text: str, at: int, shown: str, found: Found) -> None:
    """The place, and the words around what is wrong."""
    around = text[max(0, at - 12) : at + len(shown) + 12]
    found.fault(FaultCode.ENCODING, place=line_place(text.count("\n", 0, at) + 1), actual=around)
