"""Marks: the passage that an issue concerns, stored by position and by quote.

Source: the W3C Web Annotation Data Model (https://www.w3.org/TR/annotation-model/). `start` and `end` are those of a
TextPositionSelector, in Unicode code points as in Python. `exact`, `prefix` and `suffix` are those of a
TextQuoteSelector. Nothing is normalized: combining characters, joiners and line ends count as they are.
"""

import re
from bisect import bisect_right
from enum import StrEnum
from itertools import accumulate
from typing import Self

from pydantic import Field

from reflection_app.loops.storable import Text
from reflection_app.loops.texts import cut_middle, one_line
from reflection_app.loops.values import Value

LONGEST_QUOTE = 10_000
# Characters of context stored on either side.
AROUND = 32
LONGEST_AROUND = 1_000
# A prompt quotes part of the passage; the attempt in the prompt contains all of it.
LONGEST_IN_PROMPT = 300
# Maximum number of places to inspect for a quote that occurs more than once.
MOST_PLACES = 1_000


class MarkedText(StrEnum):
    """Source of the marked text: the attempt, including its code, or a tool's output."""

    ATTEMPT = "attempt"
    OUTPUT = "output"


def _is_none(value: object) -> bool:
    return value is None


class MarkRefused(ValueError):
    """The passage is not at the given place; the message is a full sentence."""


class Mark(Value):
    """A passage of the reviewed work. If `start` and `end` are missing or wrong, the quote is searched for."""

    text: MarkedText = MarkedText.ATTEMPT
    attempt: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        exclude_if=_is_none,
        description="number of the attempt, if it is not the verdict's attempt",
    )
    step: int | None = Field(
        default=None,
        ge=1,
        le=2**31 - 1,
        exclude_if=_is_none,
        description="for a tool's output: number of the step that called the tool",
    )
    start: int = Field(
        default=0, ge=0, le=2**31 - 1, description="offset in Unicode code points from the start of the text"
    )
    end: int = Field(default=0, ge=0, le=2**31 - 1, description="offset after the last code point of the passage")
    exact: Text = Field(min_length=1, max_length=LONGEST_QUOTE, description="text of the passage")
    prefix: Text = Field(default="", max_length=LONGEST_AROUND, description="text immediately before the passage")
    suffix: Text = Field(default="", max_length=LONGEST_AROUND, description="text immediately after the passage")
    line: int | None = Field(
        default=None, ge=1, exclude_if=_is_none, description="first line of the passage, from 1; set by the server"
    )
    last_line: int | None = Field(
        default=None, ge=1, exclude_if=_is_none, description="last line of the passage; set by the server"
    )

    @classmethod
    def at(cls, text: str, start: int, end: int) -> Self:
        """Return the mark of `text[start:end]`."""
        line = text.count("\n", 0, start) + 1
        return cls(
            start=start,
            end=end,
            exact=text[start:end],
            prefix=text[max(0, start - AROUND) : start],
            suffix=text[end : end + AROUND],
            line=line,
            last_line=line + text.count("\n", start, end - 1),
        )

    def within(self, text: str) -> Self:
        """Return the mark with its position in `text` corrected. Raise MarkRefused if it is missing or ambiguous."""
        start = self.start if text[self.start : self.end] == self.exact else self._start_in(text)
        found = self.at(text, start, start + len(self.exact))
        return found.model_copy(update={"text": self.text, "attempt": self.attempt, "step": self.step})

    def _start_in(self, text: str) -> int:
        first = text.find(self.exact)
        if first < 0:
            raise MarkRefused(f"The text does not hold this passage: {in_quotes(self.exact)}.")
        if text.find(self.exact, first + 1) < 0:
            return first
        with_both = f"{self.prefix}{self.exact}{self.suffix}"
        place = text.find(with_both) if with_both != self.exact else -1
        if place >= 0 and text.find(with_both, place + 1) < 0:
            return place + len(self.prefix)
        raise MarkRefused(
            f"The text holds this passage more than once: {in_quotes(self.exact)}. Say which one by start and end, or "
            "by a prefix and a suffix that only one of them has."
        )

    @property
    def where(self) -> str:
        """`line 3` or `lines 3 to 5`, plus the text's name if it is not the judged attempt."""
        lines = f"line {self.line}" if self.line == self.last_line else f"lines {self.line} to {self.last_line}"
        if self.line is None:
            lines = f"characters {self.start} to {self.end}"
        of = f" of attempt {self.attempt}" if self.attempt is not None else ""
        return lines + (f" of the output of step {self.step}" if self.text is MarkedText.OUTPUT else of)


def in_quotes(passage: str) -> str:
    """Return the passage in quotation marks, on one line, at most LONGEST_IN_PROMPT characters."""
    return f"“{cut_middle(one_line(passage), LONGEST_IN_PROMPT)}”"


def with_passage(words: str, mark: Mark | None) -> str:
    """Return the remark with the passage it concerns."""
    return words if mark is None else f"{words} [in {mark.where}: {in_quotes(mark.exact)}]"


def find_quote(text: str, quote: str) -> list[tuple[int, int]]:
    """Return the first (start, end) places of `quote` in `text`, ignoring differences in white space.

    For copied passages: a form field turns their line ends into spaces.
    """
    words = quote.split()
    if not words:
        return []
    exact = quote.strip()
    if (start := text.find(exact)) >= 0:
        places: list[tuple[int, int]] = []
        while start >= 0 and len(places) < MOST_PLACES:
            places.append((start, start + len(exact)))
            start = text.find(exact, start + 1)
        return places
    # Compare both with single spaces. Trying the words at each place would take time with the product of their numbers.
    spans = [word.span() for word in _WORD.finditer(text)]
    begins = list(accumulate((end - start + 1 for start, end in spans), initial=0))
    plain, wanted = " ".join(text[start:end] for start, end in spans), " ".join(words)

    def place_of(offset: int) -> int:
        word = bisect_right(begins, offset) - 1
        return spans[word][0] + offset - begins[word]

    found: list[tuple[int, int]] = []
    begin = plain.find(wanted)
    while begin >= 0 and len(found) < MOST_PLACES:
        end = begin + len(wanted)
        found.append((place_of(begin), place_of(end - 1) + 1))
        begin = plain.find(wanted, end)
    return found


_WORD = re.compile(r"\S+")
