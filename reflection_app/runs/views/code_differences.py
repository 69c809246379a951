"""What one piece of code changed of another, line by line."""

from collections.abc import Iterator
from dataclasses import dataclass
from difflib import unified_diff
from itertools import islice

# Comparing takes the product of both lengths in the worst case, and the texts are a model's.
MOST_LINES = 500
LONGEST_LINE = 500
MARKS = {"+": "added", "-": "removed", "@": "place"}


@dataclass(frozen=True)
class DiffLine:
    """`kind` is `added`, `removed`, `place` or `same`; `text` begins with the mark that says so, too."""

    kind: str
    text: str


def differences(old: str, new: str) -> tuple[DiffLine, ...] | None:
    """The lines of a unified diff, none where both are the same; None where they are too long to be compared."""
    before, after = _lines(old), _lines(new)
    if before is None or after is None:
        return None
    return tuple(_shown(line) for line in _without_head(unified_diff(before, after, lineterm="", n=3)))


def _lines(text: str) -> list[str] | None:
    # Not splitlines(): form feeds and separators that it breaks at are no line ends to Python.
    lines = text.replace("\r\n", "\n").split("\n")
    return None if len(lines) > MOST_LINES else lines


def _without_head(diff: Iterator[str]) -> Iterator[str]:
    """The diff without the two lines that name its files."""
    return islice(diff, 2, None)


def _shown(line: str) -> DiffLine:
    text = line if len(line) <= LONGEST_LINE else line[: LONGEST_LINE - 1] + "…"
    return DiffLine(MARKS.get(line[:1], "same"), text)
