"""Vocabulary of operations: English and Chinese words and phrases with their meanings, and filler words.

A word may have several meanings. Two words match if they share one.
"""

from dataclasses import dataclass
from functools import cache

from judgement.linear import WEIGHTS

# Words that support another word and have no meaning of their own here.
HELPING = frozenset(
    "a an the of for it its this that these those is are was were be been being with and or also then now just please "  # noqa: SIM905
    "at by do does make made take give get put set have has let there how what where whether if sure s we our us me my "
    "their his her them they he she out up off as in on so who which will would can could should must may any some "
    "well done way good per to from into over about like one good more it's".split()
)
PLAIN_SIGNS = "的了请將将把地得吧呢啊個个並并且给对向为在从以用和与让就件做一该此其中到至里是否有"
# Particles that may be separated from their verb: “roll the service out”.
PARTICLES = frozenset("up off out on back down away in".split())  # noqa: SIM905
# Prefix of the name of an action.
ACTION = "!"
NOT = "not"
# Prefix of the number of an ordinal.
ORDINAL = "#"
# Actions that are part of many expressions: “set up a backup”, “calculate the sum”, “add a translation”.
LIGHT = frozenset(f"{ACTION}{name}" for name in "make add compute change show apply run convert".split())  # noqa: SIM905


# One line per meaning: its name, then its words, separated by commas. In Chinese, the longest match counts.
TABLE = WEIGHTS / "same_operation.txt"


@dataclass(frozen=True)
class Meanings:
    """Meanings of each word or phrase: English ones by stem, Chinese ones verbatim."""

    english: dict[tuple[str, ...], frozenset[str]]
    chinese: dict[str, frozenset[str]]

    @property
    def longest(self) -> int:
        return max(map(len, self.english))


@cache
def meanings() -> Meanings:
    """Return the table, indexed by word."""
    english: dict[tuple[str, ...], frozenset[str]] = {}
    chinese: dict[str, frozenset[str]] = {}
    for line in TABLE.read_text(encoding="utf-8").splitlines():
        name, _, words = line.partition(": ")
        for phrase in words.split(", "):
            if phrase.isascii():
                key = tuple(map(stem, phrase.replace("-", " ").split()))
                english[key] = english.get(key, frozenset()) | {name}
            else:
                chinese[phrase] = chinese.get(phrase, frozenset()) | {name}
    return Meanings(english, chinese)


ENDINGS = ("ings", "ing", "ied", "ies", "ed", "es", "s", "e", "y")
SHORTEST = 3


@cache
def stem(word: str) -> str:
    """Return a stem that is equal for most forms of an English word."""
    if not word.endswith("ss"):
        fits = (end for end in ENDINGS if word.endswith(end) and len(word) - len(end) >= SHORTEST)
        word = word.removesuffix(next(fits, ""))
    if len(word) > SHORTEST and word[-1] == word[-2] and word[-1] not in "sl":
        return word[:-1]
    return word.removesuffix("e") if len(word) > SHORTEST else word
