"""Classify whether an author says that they do not know something, in any language.

The same words may say so for one task and not for another ("none found" answers "are there any?"). The input is
therefore the text together with its task.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np

from judgement.linear import Numbers
from judgement.network import load_network

KIND = "does_not_know"
# Embeds texts, given a flag for questions, with the model of the weights. Shape (n, 384).
Embed = Callable[[Sequence[str], bool], Numbers]

# The training texts are no longer than this, and embeddings of longer texts hold less about each sentence.
LONGEST_PIECE = 500
LONGEST_TASK = 300
# Longer texts are read at both ends: what is missing is stated before or after the work.
FIRST_PIECES = 5
LAST_PIECES = 3
MOST_SENTENCES = 12
SENTENCE_END = re.compile(r"(?<=[.!?])\s+|(?<=[。！？；;])|\n+")


@dataclass(frozen=True)
class Reading:
    """The piece with the strongest signal: its log odds, and its clearest sentence."""

    odds: float
    quote: str

    def says_it(self, *, found_nothing: bool = False) -> bool:
        """Return True if the text says that something is unknown.

        `found_nothing` selects a lower threshold, for tasks in which a tool call is known to have returned nothing.
        """
        _, bars = load_network(KIND)
        return self.odds > bars["sensitive" if found_nothing else "threshold"]


def read(texts: Sequence[str], *, task: str, embed: Embed) -> Reading:
    """Classify texts by one author on one task. Raise what `embed` raises, and ValueError if there is no text."""
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
    """Return the network's input rows: each text's vector next to the task's, which may be shared."""
    return np.hstack([written, np.broadcast_to(asked, written.shape)])


def pieces_of(text: str) -> list[str]:
    """Split the text into pieces of whole sentences, at most LONGEST_PIECE characters each.

    Longer sentences are split. Of a long text, only the beginning and the end are returned.
    """
    most = LONGEST_PIECE * (FIRST_PIECES + LAST_PIECES)
    if len(text) > 2 * most:
        # Bound blank texts and very long lines before any pattern runs on them.
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
    """Return the nonblank sentences and lines."""
    return [sentence.strip() for sentence in SENTENCE_END.split(text) if sentence.strip()]


def _log_odds(written: Numbers, asked: Numbers) -> Numbers:
    network, _ = load_network(KIND)
    return network.log_odds(features(written, asked))
