"""Compare two operations, as named by completeness checks, piece by piece.

A sentence is split into pieces: the action, its object, source and destination. Each piece needs a counterpart. Words
outside of the table are compared by letters. In doubt, two operations count as different.
"""

import re
import unicodedata
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache

from judgement.operation_words import ACTION, HELPING, LIGHT, NOT, ORDINAL, PARTICLES, PLAIN_SIGNS, meanings, stem

LONGEST = 500
# Maximum distance of a particle from its verb, in words.
PARTICLE_WITHIN = 6
# One extra word may be an adjective; two make another object.
MOST_MORE = 1
SHORTEST_STEM = 5
HAN = "\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
_QUOTED = r"[“\"'‘「《]([^”\"'’」》]{2,60})[”\"'’」》]"
_STUCK = rf"[^\s,;:，。；：、{HAN}]*[\w-](?:[@/\\_][\w.@/\\-]*\w|\.\w+)[^\s,;:，。；：、{HAN}]*"
# Single letters as names: “Send it to A”. An article never ends a phrase.
_LETTER = rf"(?<![A-Za-z0-9])(?:[B-HJ-Z](?![A-Za-z0-9'])|A(?=\s*(?:$|[,;.、，]|and\b|[{HAN}])))"
_NAME = re.compile(rf"{_STUCK}|\d+(?:[.,:]\d+)*|{_QUOTED}|{_LETTER}")
_PIECE = re.compile(rf"[{HAN}]+|[^\W_{HAN}]+")
_WAY = re.compile(rf"(?:\b(from|to|into)\s+(?:the\s+)?|(从|到|至|往|为)\s*)([a-z0-9_-]+|[{HAN}]{{2}})")
# Writing into a file counts as saving.
_INTO = re.compile(r"\bwrit\w+ .*\b(?:into|to|as)\b")
_SAME_WAY = {"into": "to", "从": "from", "到": "to", "至": "to", "往": "to", "为": "to"}

# All meanings that a word may have.
type Sense = frozenset[str]


@dataclass(frozen=True)
class Pieces:
    """An operation's content. `names` identify objects; `ways` are (direction, place) pairs."""

    actions: tuple[Sense, ...]
    others: tuple[Sense, ...]
    names: frozenset[str]
    ways: frozenset[tuple[str, str]]
    words: frozenset[str]
    is_chinese: bool

    @property
    def senses(self) -> tuple[Sense, ...]:
        return (*self.actions, *self.others)


def says_the_same(one: str, other: str) -> bool:
    """Return True if each piece of one operation has a counterpart in the other. Filler words do not count."""
    a, b = pieces(one), pieces(other)
    if a.names != b.names:
        # “The first poster” is “poster 1”. If both have the same names, an ordinal is an ordinary word.
        a, b = _numbered(a), _numbered(b)
    if a.names != b.names or _is_turned(a, b):
        return False
    actions = _left(a.actions, b.senses), _left(b.actions, a.senses)
    if any(not sense & LIGHT for side in actions for sense in side) or all(actions):
        return False
    others = _left(a.others, b.senses), _left(b.others, a.senses)
    if all(others) or any(NOT in sense for side in others for sense in side):
        return False
    # Across languages, the number of words cannot be compared, as one word may correspond to several.
    return a.is_chinese != b.is_chinese or max(map(len, others)) <= MOST_MORE


def says_just_the_same(one: str, other: str) -> bool:
    """Return True if each piece of either has a counterpart in the other, without any extra word."""
    if not says_the_same(one, other):
        return False
    a, b = _numbered(pieces(one)), _numbered(pieces(other))
    return bool(a.senses) and not (_left(a.senses, b.senses) or _left(b.senses, a.senses))


def _numbered(found: Pieces) -> Pieces:
    """Return the pieces with ordinals as the numbers that they mean."""
    numbers = {sense: {name[1:] for name in sense if name.startswith(ORDINAL)} for sense in found.others}
    return replace(
        found,
        others=tuple(sense for sense in found.others if not numbers[sense]),
        names=found.names.union(*numbers.values()),
    )


def _left(mine: Iterable[Sense], theirs: Sequence[Sense]) -> list[Sense]:
    return [sense for sense in mine if not any(sense & other or _are_alike(sense, other) for other in theirs)]


def _are_alike(one: Sense, other: Sense) -> bool:
    """Return True if two unknown words are forms of one, or two Chinese texts share most characters."""
    if len(one) > 1 or len(other) > 1:
        return False
    [a], [b] = ({word.removeprefix(ACTION) for word in sense} for sense in (one, other))
    if min(a[0], b[0]) > "\u3000":
        return len(set(a) & set(b)) * 2 > max(len(set(a)), len(set(b)))
    return min(len(a), len(b)) >= SHORTEST_STEM and (a.startswith(b) or b.startswith(a))


def _is_turned(a: Pieces, b: Pieces) -> bool:
    """Return True if the direction is reversed: both contain both places, with the roles swapped."""
    return any(
        way == other_way and place != other and other in a.words and place in b.words
        for way, place in a.ways
        for other_way, other in b.ways
    )


@lru_cache(maxsize=4_096)
def pieces(text: str) -> Pieces:
    """Split the operation into its pieces."""
    folded = unicodedata.normalize("NFKC", text[:LONGEST])[:LONGEST].replace("’", "'").strip(" .。!！")
    names = frozenset(match[0].strip("“”\"'‘’「」《》.()").casefold() for match in _NAME.finditer(folded))
    plain = _NAME.sub(" ", folded).casefold()
    words = _PIECE.findall(plain)
    runs = [word for word in words if not word.isascii()]
    english = [stem(word) for word in words if word.isascii()]
    senses = _english(english) + [sense for run in runs for sense in _chinese(run)]
    if _INTO.search(plain) and (names or any("file" in sense for sense in senses)):
        senses = [sense | {f"{ACTION}save"} if f"{ACTION}write" in sense else sense for sense in senses]
    actions = [sense for sense in senses if all(name.startswith(ACTION) for name in sense)]
    ways = {(match[1] or match[2], stem(match[3])) for match in _WAY.finditer(plain)}
    return Pieces(
        actions=tuple(actions),
        others=tuple(sense for sense in senses if sense not in actions),
        names=names,
        ways=frozenset((_SAME_WAY.get(way, way), place) for way, place in ways),
        words=frozenset(english) | {run[at : at + 2] for run in runs for at in range(len(run))},
        is_chinese=bool(runs),
    )


def _english(words: list[str]) -> list[Sense]:
    known = meanings().english
    senses, taken = list[Sense](), set[int]()
    for at, word in enumerate(words):
        if at in taken:
            continue
        places = _phrase_at(at, words, taken)
        taken |= set(places)
        phrase = tuple(words[place] for place in places)
        if len(phrase) > 1 or (phrase in known and word not in _helping()):
            senses.append(known[phrase])
        elif word not in _helping():
            # An order starts with an action, even if the table does not know the word.
            senses.append(frozenset({f"{ACTION}{word}" if at == 0 else word}))
    return senses


def _phrase_at(at: int, words: list[str], taken: set[int]) -> Sequence[int]:
    """Return the positions of the longest phrase that begins at `at`, or of the word alone."""
    known = meanings()
    for size in range(min(known.longest, len(words) - at), 1, -1):
        places = range(at, at + size)
        if tuple(words[at : at + size]) in known.english and not taken & set(places):
            return places
    for place in range(at + 2, min(len(words), at + PARTICLE_WITHIN)):
        if words[place] in PARTICLES and place not in taken and (words[at], words[place]) in known.english:
            return [at, place]
    return [at]


def _chinese(run: str) -> list[Sense]:
    known = meanings().chinese
    longest = max(map(len, known))
    senses, rest, at = list[Sense](), "", 0
    while at < len(run):
        word = next((run[at : at + size] for size in range(longest, 0, -1) if run[at : at + size] in known), "")
        if word:
            senses.append(known[word])
        if (word or run[at] in PLAIN_SIGNS) and rest:
            senses.append(frozenset({rest}))
            rest = ""
        elif not word and run[at] not in PLAIN_SIGNS:
            rest += run[at]
        at += len(word) or 1
    return [*senses, frozenset({rest})] if rest else senses


@cache
def _helping() -> frozenset[str]:
    return frozenset(map(stem, HELPING))
