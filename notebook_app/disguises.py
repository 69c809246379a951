"""What a text says once its disguise is off: encoded, reversed, shifted, with digits for letters, unseen. Pure.

Bounded: so many pieces are decoded, each so long, and what was decoded is decoded once more at most.
"""

import base64
import binascii
import codecs
import html
import re
import unicodedata
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import unquote

MOST_PIECES = 40
LONGEST_PIECE = 8_000
SHORTEST_DECODED = 8
# What is left of text that is none is mostly marks.
LEAST_READABLE = 0.85

_BASE64 = re.compile(r"[A-Za-z0-9+/_-]{12,}={0,2}")
_HEX = re.compile(r"(?:[0-9a-fA-F]{2}[ :,]?){8,}")
_BITS = re.compile(r"(?:[01]{8}\s?){6,}")
_ESCAPES = re.compile(r"\\{1,2}(?:x([0-9a-fA-F]{2})|u\{?([0-9a-fA-F]{4,6})\}?|([0-7]{3}))")
_LEET = ("4@30$5!7+98", "aaeossittgb")
_TAG_RUN = re.compile("[\U000e0020-\U000e007e]{3,}")
_FLAG_OF_A_REGION = re.compile("\U0001f3f4[\U000e0020-\U000e007e]{2,6}\U000e007f")


def hidden_in_tags(text: str) -> str:
    """What is written in Unicode's tag characters, which nobody sees; flags of regions are made of them too."""
    found = _TAG_RUN.findall(_FLAG_OF_A_REGION.sub("", text))
    return " ".join("".join(chr(ord(letter) - 0xE0000) for letter in run) for run in found)


def decoded(text: str) -> Iterator[str]:
    """The readable texts that pieces of the text, or its escapes, decode to."""
    for number, piece in enumerate(_pieces(text)):
        if number >= MOST_PIECES:
            break
        plain = piece.decode(errors="ignore")
        if len(plain) < SHORTEST_DECODED or len(piece) - len(plain.encode()) > len(piece) // 10:
            continue
        readable = sum(unicodedata.category(letter)[0] in "LNZP" or letter in "\n\t" for letter in plain)
        if readable >= LEAST_READABLE * len(plain):
            yield plain
    for unescaped in (html.unescape(text), unquote(text), _ESCAPES.sub(_unescaped, text)):
        if unescaped != text:
            yield unescaped


def turned(folded: str) -> Iterator[str]:
    """The folded text read backwards, shifted by thirteen letters, and with letters for the digits that stand for them.

    A 1 is an i or an l.
    """
    yield folded[::-1]
    yield codecs.encode(folded, "rot13")
    for one in "il":
        yield folded.translate(str.maketrans(_LEET[0] + "1|", _LEET[1] + one * 2))


def _pieces(text: str) -> Iterator[bytes]:
    for match in _HEX.finditer(text):
        digits = re.sub(r"[^0-9a-fA-F]", "", match[0][:LONGEST_PIECE])
        yield binascii.unhexlify(digits[: len(digits) // 2 * 2])
    for match in _BITS.finditer(text):
        bits = re.sub(r"\s", "", match[0][:LONGEST_PIECE])
        yield bytes(int(bits[place : place + 8], 2) for place in range(0, len(bits) // 8 * 8, 8))
    for match in _BASE64.finditer(text):
        plain = match[0][:LONGEST_PIECE].rstrip("=").replace("-", "+").replace("_", "/")
        try:
            yield base64.b64decode(
                plain[: len(plain) // 4 * 4] if len(plain) % 4 == 1 else plain + "=" * (-len(plain) % 4)
            )
        except binascii.Error:
            continue


def _unescaped(match: re.Match[str]) -> str:
    code = int(match[1] or match[2], 16) if match[1] or match[2] else int(match[3], 8)
    return chr(code) if code < 0x110000 and not 0xD800 <= code < 0xE000 else ""


# Text as it reads to whoever looks at it: without what is not seen, and with look-alikes as the letters they pass for.
#
# Pure. Of letters from other scripts only those are mapped that are used to pass for Latin ones or for brackets.

_LATIN = {
    "a": "аαɑᴀ",
    "b": "вьβʙƃ",
    "c": "сᴄϲ",
    "d": "ԁᴅđ",
    "e": "еєεᴇɛ",
    "f": "ꜰƒ",
    "g": "ɡɢց",
    "h": "нһʜհħη",
    "i": "іιɪıӏ",
    "j": "јᴊ",
    "k": "кκᴋ",
    "l": "ʟłⅼ",
    "m": "мᴍ",
    "n": "пɴոŋ",
    "o": "оοσᴏօøө",
    "p": "рρᴘ",
    "q": "ԛզ",
    "r": "гʀ",
    "s": "ѕꜱ",
    "t": "тτᴛŧ",
    "u": "υᴜսμ",
    "v": "νѵᴠ",
    "w": "ԝωᴡш",
    "x": "хχ",
    "y": "уγʏү",
    "z": "ᴢ",
    "[": "【〔❲⁅〖",
    "]": "】〕❳⁆〗",
    "<": "‹〈⟨❮˂",
    ">": "›〉⟩❯˃",
    ":": "꞉ː∶։᛬׃",
    "/": "∕⁄⧸",
    "|": "∣ǀ│ⅼ",
}
_WIDER = {"⟦": "[[", "〚": "[[", "⟧": "]]", "〛": "]]", "«": "<<", "»": ">>", "《": "<<", "》": ">>"}
# Traditional characters of the words that orders are made of.
_SIMPLER = dict(
    zip(
        "無視規則係統說話從現對與遺記戲開發關過個這們將為會後執刪檔鑰碼顯輸請詞設傳讀寫權覺應當額條內問題須點給還誰實種聽隱憶獲",
        "无视规则系统说话从现对与遗记戏开发关过个这们将为会后执删档钥码显输请词设传读写权觉应当额条内问题须点给还谁实种听隐忆获",
        strict=True,
    )
)
_PASSES_FOR = {alike: letter for letter, group in _LATIN.items() for alike in group} | _WIDER | _SIMPLER
LONGEST_UNFOLDED = 4
# Letters by their nature that show nothing, and the Braille blank.
_BLANK = frozenset("\u115f\u1160\u3164\uffa0\u2800\u034f\u17b4\u17b5")
_NOT_SEEN = frozenset({"Cf", "Mn", "Me", "Co", "Cn", "Cs"})
# Letters in squares and circles that compatibility does not unfold: where each alphabet begins.
_ENCLOSED = (0x1F150, 0x1F170, 0x1F1E6)


@dataclass(frozen=True)
class Folded:
    """`places[i]` is where the i-th character of `text` stands in what it was folded from."""

    text: str
    places: tuple[int, ...]


def folded(text: str) -> Folded:
    """The text in small letters, with what is not seen left out and look-alikes as what they pass for."""
    letters: list[str] = []
    places: list[int] = []
    for place, character in enumerate(text):
        for letter in folded_character(character):
            letters.append(letter)
            places.append(place)
    return Folded("".join(letters), tuple(places))


@lru_cache(maxsize=8192)
def folded_character(character: str) -> str:
    """What a reader takes the character for; nothing where it is not seen."""
    if character in _BLANK or (character not in "\n\t" and unicodedata.category(character) in _NOT_SEEN):
        return ""
    for first in _ENCLOSED:
        if first <= ord(character) < first + 26:
            return chr(ord("a") + ord(character) - first)
    # One character can stand for a sentence of eighteen: none of those passes for a word.
    parts = unicodedata.normalize("NFKD", character)[:LONGEST_UNFOLDED]
    seen = "".join(part for part in parts if unicodedata.category(part) not in _NOT_SEEN).casefold()
    return "".join(_PASSES_FOR.get(part, part) for part in seen)
