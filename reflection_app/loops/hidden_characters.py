"""Invisible characters in a text, which change how readers or programs interpret it."""

import re
import unicodedata
from collections import Counter
from dataclasses import dataclass

# Zero-width characters, bidirectional marks, tags, and control characters except tab and line ends. Joiners such as
# U+200C and U+200D are legitimate in emoji and some scripts. They are listed all the same, as code and English text do
# not need them.
HIDDEN = re.compile(
    "[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u061c\u115f\u1160\u180e"
    "\u200b-\u200f\u202a-\u202e\u2060-\u2064\u2066-\u206f\u3164\ufeff\uffa0\U000e0000-\U000e007f]"
)
MOST_KINDS = 8


@dataclass(frozen=True)
class HiddenCharacter:
    """A kind of character, such as `U+202E RIGHT-TO-LEFT OVERRIDE`, and how often it occurs."""

    code: str
    name: str
    count: int


def hidden_in(text: str) -> list[HiddenCharacter]:
    """Return the kinds of hidden characters in the text, the most frequent first, at most MOST_KINDS."""
    found = Counter(HIDDEN.findall(text)).most_common(MOST_KINDS)
    return [HiddenCharacter(_code(one), unicodedata.name(one, "CONTROL CHARACTER"), count) for one, count in found]


def revealed(text: str) -> str:
    """Return the text with each hidden character written out: `⟨U+202E⟩`."""
    return HIDDEN.sub(lambda one: f"⟨{_code(one[0])}⟩", text)


# Embeddings, overrides and isolates of the bidirectional algorithm, which reorder the displayed text.
REORDERING = re.compile("[\u202a-\u202e\u2066-\u2069]")


def in_order(text: str) -> str:
    """Return the text with each reordering character written out: `⟨U+202E⟩`.

    Zero-width characters stay, because emoji and many scripts need them.
    """
    return REORDERING.sub(lambda one: f"⟨{_code(one[0])}⟩", text)


def _code(character: str) -> str:
    return f"U+{ord(character):04X}"
