"""Whether what an entry says is an attempt to give orders to whoever reads it. Pure.

What is flagged is left out of prompts until a curator has looked at it; a false alarm costs a look. Signatures find
what is known: the boundary (see rules_prompt.py) is what keeps the rest from counting as instructions.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from notebook_app.direct_orders import PATTERNS
from notebook_app.disguises import decoded, folded, folded_character, hidden_in_tags, turned

# More is more than anybody is told at once; hostile texts of this length cost a second.
LONGEST_SCREENED = 24_000
LONGEST_QUOTE = 160
MOST_FLAGS = 10
DEEPEST = 2

_EMPHASIS = re.compile("[*`~'’‘´]+")
_SPACES = re.compile(r"[^\S\n]+")
# Behind _SPACES, so that one space at most stands before a line's end.
_LINES = re.compile(r" ?\n\s*+")
_CHINESE_SPACE = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef:,。])\s++|(?<!\s)\s++(?=[\u3000-\u9fff])")
_TURNS_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LATIN_OR_CYRILLIC = re.compile(r"[A-Za-z\u0400-\u04ff]{4,}")
_UNSEEN_IN_WORD = re.compile("[A-Za-z\u3400-\u9fff][\u00ad\u200b\u200c\u2060-\u2064\ufeff]+[A-Za-z\u3400-\u9fff]")
_MOST_UNSEEN = 2
_IN_WORD = re.compile("[A-Za-z]{2}")
_LETTERS_APART = re.compile(
    r"(?<!\w)[^\W\d_](?:[\s.*_·|/-]{1,3}[^\W\d_]){11,}(?!\w)|[\u3400-\u9fff](?:[.*_·|/-][\u3400-\u9fff]){5,}"
)


# What the classifier found: that the entry steers whoever reads it.
STEERS = "steers the reader"


@dataclass(frozen=True)
class Opinion:
    """What a language model says of a passage that the classifier is unsure of."""

    steers: bool
    why: str
    model: str


@dataclass(frozen=True)
class Flag:
    """What was found, and the words it was found in as they read without their disguise.

    Of the classifier also how sure it is, from 0 to 1, and the second opinion if one was asked for.
    """

    rule: str
    quote: str
    sureness: float | None = None
    opinion: Opinion | None = None

    def as_json(self) -> dict[str, Any]:
        return {name: value for name, value in asdict(self).items() if value is not None}


def scan(texts: Sequence[str]) -> list[Flag]:
    """What screening finds in the fields of an entry, read one after the other; each rule once, at most MOST_FLAGS."""
    whole = "\n".join(text for text in texts if text)
    found: dict[str, Flag] = {}
    if len(whole) > LONGEST_SCREENED:
        found["too long"] = Flag("too long", f"only {LONGEST_SCREENED:,} of {len(whole):,} characters were screened")
        whole = whole[:LONGEST_SCREENED]
    for flag in _flags(whole, depth=0):
        found.setdefault(flag.rule, flag)
        if len(found) >= MOST_FLAGS:
            break
    return list(found.values())


def _flags(text: str, *, depth: int) -> Iterator[Flag]:
    yield from _unseen(text)
    plain = _plain(folded(text).text)
    for said in (plain, _CHINESE_SPACE.sub("", plain.replace(", ", ",")), *turned(plain)):
        for rule, pattern in PATTERNS:
            if match := pattern.search(said):
                yield Flag(rule, _quote(said, match))
    if depth < DEEPEST:
        # Without what is not seen, the letters as large or small as they were: codes are about those.
        visible = "".join(letter for letter in text if letter.isascii() or folded_character(letter))
        for said in (*decoded(visible), hidden_in_tags(text)):
            if said:
                yield from _flags(said[:LONGEST_SCREENED], depth=depth + 1)


def _unseen(text: str) -> Iterator[Flag]:
    """What has no place in a lesson: text that nobody sees, or that reads in another direction than it is written."""
    hidden = hidden_in_tags(text)
    if hidden:
        yield Flag("hidden text", hidden[:LONGEST_QUOTE])
    if match := _TURNS_DIRECTION.search(text):
        yield Flag("turned text", _quote(text, match))
    if len(_UNSEEN_IN_WORD.findall(text)) > _MOST_UNSEEN:
        yield Flag("hidden characters", folded(text[:LONGEST_QUOTE]).text)
    if match := _LETTERS_APART.search(text):
        yield Flag("letters apart", _quote(text, match))
    for match in _LATIN_OR_CYRILLIC.finditer(text):
        latin = sum(letter.isascii() for letter in match[0])
        if 0 < latin < len(match[0]):
            yield Flag("look-alikes", match[0][:LONGEST_QUOTE])
            return


def _plain(seen: str) -> str:
    return _LINES.sub("\n", _SPACES.sub(" ", _EMPHASIS.sub("", seen))).strip()


def _quote(text: str, match: re.Match[str]) -> str:
    begin, end = max(match.start() - 10, 0), min(match.end() + 20, len(text))
    # Not from or to the middle of a word.
    while 0 < begin < match.start() and _IN_WORD.fullmatch(text, begin - 1, begin + 1):
        begin += 1
    while match.end() < end < len(text) and _IN_WORD.fullmatch(text, end - 1, end + 1):
        end -= 1
    return " ".join(text[begin:end].split())[:LONGEST_QUOTE]
