"""Whether what an entry says is an attempt to give orders to whoever reads it. Pure.

What is flagged is left out of prompts until a curator has looked at it; a false alarm costs a look. Signatures find
what is known: the boundary (see rules_prompt.py) is what keeps the rest from counting as instructions.
"""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from notebook_app.disguises import decoded, folded, folded_character, hidden_in_tags, turned
from notebook_app.signatures import ENGLISH, MARKUP, SQUEEZED, Signature
from notebook_app.signatures_chinese import CHINESE
from notebook_app.steering_signs import SPEAKS_OF_ATTACKS

# More is more than anybody is told at once; hostile texts of this length cost a second.
LONGEST_SCREENED = 24_000
LONGEST_QUOTE = 160
MOST_FLAGS = 10
DEEPEST = 2

_EMPHASIS = re.compile("[*`~'’‘´]+")
_SPACES = re.compile(r"[^\S\n]+")
_QUOTES = ('"', "`")
# Behind _SPACES, so that one space at most stands before a line's end.
_LINES = re.compile(r" ?\n\s*+")
_LETTERS = re.compile(r"[^a-z]+")
_CHINESE_SPACE = re.compile(r"(?<=[\u3000-\u9fff\uff00-\uffef:,。])\s++|(?<!\s)\s++(?=[\u3000-\u9fff])")
_TURNS_DIRECTION = re.compile("[\u202a-\u202e\u2066-\u2069]")
_LATIN_OR_CYRILLIC = re.compile(r"[A-Za-z\u0400-\u04ff]{4,}")
_UNSEEN_IN_WORD = re.compile("[A-Za-z\u3400-\u9fff][\u00ad\u200b\u200c\u2060-\u2064\ufeff]+[A-Za-z\u3400-\u9fff]")
_MOST_UNSEEN = 2
_LETTERS_APART = re.compile(
    r"(?<!\w)[^\W\d_](?:[\s.*_·|/-]{1,3}[^\W\d_]){11,}(?!\w)|[\u3400-\u9fff](?:[.*_·|/-][\u3400-\u9fff]){5,}"
)
# What is quoted in a text that speaks of attacks is told of, and no order: the classifier still reads the whole.
_SPOKEN_OF = frozenset({"override", "role tag"})


@dataclass(frozen=True)
class Flag:
    """What was found, and the words it was found in as they read without their disguise.

    What the classifier found besides: how sure it is, from 0 to 1, and by which signs.
    """

    rule: str
    quote: str
    sureness: float | None = None
    signs: tuple[str, ...] = ()

    def as_json(self) -> dict[str, Any]:
        flag: dict[str, Any] = {"rule": self.rule, "quote": self.quote}
        if self.sureness is not None:
            flag |= {"sureness": self.sureness, "signs": list(self.signs)}
        return flag


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
    seen = folded(text).text
    plain = _plain(seen)
    yield from _unseen(text)
    yield from _matches(MARKUP, seen)
    yield from _matches(ENGLISH, plain)
    yield from _matches(CHINESE, _without_gaps(plain))
    yield from _squeezed(plain)
    for other in turned(seen):
        yield from _matches(ENGLISH, _plain(other))
        yield from _squeezed(_plain(other))
    yield from _matches(CHINESE, _without_gaps(plain[::-1]))
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


def _matches(signatures: Sequence[Signature], text: str) -> Iterator[Flag]:
    for signature in signatures:
        for match in signature.pattern.finditer(text):
            if not (signature.rule in _SPOKEN_OF and _is_spoken_of(text, match)):
                yield Flag(signature.rule, _quote(text, match))
                break


def _is_spoken_of(text: str, match: re.Match[str]) -> bool:
    """Whether a text that speaks of such texts names the match in the midst of a line, an order between quotes."""
    line = text[text.rfind("\n", 0, match.start()) + 1 :].split("\n", 1)[0]
    if SPEAKS_OF_ATTACKS.search(line) is None or not text[: match.start()].rpartition("\n")[2].strip(" <[|"):
        return False
    before = text[: match.start() + 1].rpartition("\n")[2]
    is_quoted = any(before.count(mark) % 2 for mark in _QUOTES) or before.count("“") > before.count("”")
    return is_quoted or match[0].strip()[:1] in ("<", "[")


def _squeezed(plain: str) -> Iterator[Flag]:
    """What the letters say without all that stands between them, where the words as they stand do not say it."""
    letters = _LETTERS.sub("", plain)
    words = f" {_LETTERS.sub(' ', plain)} "
    for signature in SQUEEZED:
        for match in signature.pattern.finditer(letters):
            # Written out in whole words it is for the other signatures, which know orders from descriptions.
            if not _stands_in_words(match[0], words):
                yield Flag(signature.rule, match[0][:LONGEST_QUOTE])
                break


def _stands_in_words(squeezed: str, words: str) -> bool:
    first = squeezed[:6]
    for start in re.finditer(rf" (?={re.escape(first)})", words):
        told = words[start.end() : start.end() + 2 * len(squeezed)]
        if told.replace(" ", "").startswith(squeezed) and told.count(" ", 0, len(squeezed)) <= len(squeezed) // 4:
            return True
    return False


def _plain(seen: str) -> str:
    return _LINES.sub("\n", _SPACES.sub(" ", _EMPHASIS.sub("", seen))).strip()


def _without_gaps(plain: str) -> str:
    return _CHINESE_SPACE.sub("", plain.replace(", ", ","))


def _quote(text: str, match: re.Match[str]) -> str:
    return " ".join(text[max(match.start() - 10, 0) : match.end() + 20].split())[:LONGEST_QUOTE]
