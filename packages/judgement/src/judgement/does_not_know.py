"""Does who wrote this say that they do not know? Read from what was asked and what was written, in any language.

The same words say it of one task and not of another ("none found" answers "are there any?"), so both are looked at.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgement.linear import Numbers
from judgement.network import load_network

KIND = "does_not_know"
# Texts and whether they are questions, as vectors of the model that the weights were learned on. Shape (n, 384).
Embed = Callable[[Sequence[str], bool], Numbers]

# What was learned from is no longer, and vectors of more tell less of each sentence.
LONGEST_PIECE = 500
LONGEST_TASK = 300
# Of longer texts the beginning and the end are read: what is missing is said before or after the work.
FIRST_PIECES = 5
LAST_PIECES = 3
MOST_SENTENCES = 12
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;])|\n+")


@dataclass(frozen=True)
class Reading:
    """Of the texts that were read, the piece that says it most: its log odds, and of its sentences the clearest."""

    odds: float
    quote: str

    def says_it(self, *, found_nothing: bool = False) -> bool:
        """Whether it is said; `found_nothing`: a call that was made for it is known to have come back empty."""
        _, bars = load_network(KIND)
        return self.odds > bars["sensitive" if found_nothing else "threshold"]


def read(texts: Sequence[str], *, task: str, embed: Embed) -> Reading:
    """The reading of texts by one author on one task. Raises what `embed` raises, and ValueError without any text."""
    pieces = [piece for text in texts for piece in pieces_of(text)]
    if not pieces:
        raise ValueError("nothing was written")
    asked, *written = embed([task[:LONGEST_TASK], *pieces], True)
    odds = _log_odds(np.stack(written), asked)
    clearest = int(odds.argmax())
    sentences = sentences_of(pieces[clearest])[:MOST_SENTENCES]
    if len(sentences) == 1:
        return Reading(float(odds[clearest]), sentences[0])
    return Reading(float(odds[clearest]), sentences[int(_log_odds(embed(sentences, True), asked).argmax())])


def features(written: Numbers, asked: Numbers) -> Numbers:
    """Rows of what the network sees: a text beside the task, which may be the same for all of them."""
    return np.hstack([written, np.broadcast_to(asked, written.shape)])


def pieces_of(text: str) -> list[str]:
    """The text in pieces of whole sentences where they are short enough; of a long text, its beginning and its end."""
    most = LONGEST_PIECE * (FIRST_PIECES + LAST_PIECES)
    if len(text) > 2 * most:
        # Blank texts and one long line are bounded before anything looks at them.
        text = f"{text[:most]}\n{text[-most:]}"
    pieces = [""]
    for sentence in sentences_of(text):
        for start in range(0, len(sentence), LONGEST_PIECE):
            part = sentence[start : start + LONGEST_PIECE]
            if pieces[-1] and len(pieces[-1]) + len(part) >= LONGEST_PIECE:
                pieces.append("")
            pieces[-1] = f"{pieces[-1]} {part}".lstrip()
    if len(pieces) > FIRST_PIECES + LAST_PIECES:
        pieces = pieces[:FIRST_PIECES] + pieces[-LAST_PIECES:]
    return [piece for piece in pieces if piece]


def sentences_of(text: str) -> list[str]:
    """Its sentences and lines, without what is blank."""
    return [sentence.strip() for sentence in SENTENCE_END.split(text) if sentence.strip()]


def _log_odds(written: Numbers, asked: Numbers) -> Numbers:
    network, _ = load_network(KIND)
    return network.log_odds(features(written, asked))
