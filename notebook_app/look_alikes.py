"""Text as it reads to whoever looks at it: without what is not seen, and with look-alikes as the letters they pass for.

Pure. Of letters from other scripts only those are mapped that are used to pass for Latin ones or for brackets.
"""

import unicodedata
from dataclasses import dataclass
from functools import lru_cache

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
