"""What one attempt changed of another, in rows for both layouts: side by side, and one below the other.

The texts are strangers', so the work has a bound: on lines, and on the words that are compared within changed lines.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import lru_cache
from itertools import zip_longest

from django.utils.html import escape

from reflection_app.web.text_diff import count_pieces, marked

MOST_LINES = 600
LONGEST_COMPARED = 60_000
MOST_ROWS = 300
# JSON in longer lines than this is laid out anew, or a changed word would mark all of it.
LONGEST_JSON_LINE = 400
# Unchanged lines that are shown around a change.
AROUND = 3
# Marking takes the product of the numbers of words in two lines at worst. Lines over this are shown as changed alone.
MOST_MARKED = 1_000_000


@dataclass(frozen=True)
class Row:
    """One line of either text or of both. `kind` is `same`, `changed`, `gone`, `new`, or `skipped` for `count` lines.

    The texts are escaped, and fit to be put into a page.
    """

    kind: str
    left_number: int | None = None
    left: str = ""
    right_number: int | None = None
    right: str = ""
    count: int = 0


@dataclass(frozen=True)
class UnifiedLine:
    """One line of the layout in one column; `sign` says what `kind` says, and `text` is escaped."""

    kind: str
    sign: str = " "
    number: int | None = None
    text: str = ""
    count: int = 0


@dataclass(frozen=True)
class Rows:
    """The comparison. No rows where both texts are the same; `is_too_long` where they were not compared."""

    rows: tuple[Row, ...] = ()
    left_out: int = 0
    is_too_long: bool = False

    @property
    def added(self) -> int:
        return sum(row.kind in {"new", "changed"} for row in self.rows)

    @property
    def removed(self) -> int:
        return sum(row.kind in {"gone", "changed"} for row in self.rows)

    @property
    def unified(self) -> tuple[UnifiedLine, ...]:
        """The rows in one column, what is gone before what is new."""
        return tuple(_unified(self.rows))


# A page that is opened again, or fetched ahead and then opened, compares nothing twice.
@lru_cache(maxsize=64)
def compared(left: str, right: str) -> Rows:
    """What `right` changed of `left`, with the changed words marked; all text in it escaped."""
    if left == right:
        return Rows()
    if max(len(left), len(right)) > LONGEST_COMPARED:
        return Rows(is_too_long=True)
    before, after = _lines(_laid_out(left)), _lines(_laid_out(right))
    if before == after:
        before, after = [left], [right]
    if max(len(before), len(after)) > MOST_LINES:
        return Rows(is_too_long=True)
    rows = tuple(_folded(_rows(before, after)))
    return Rows(rows=rows[:MOST_ROWS], left_out=max(0, len(rows) - MOST_ROWS))


def _laid_out(text: str) -> str:
    """JSON that came in one long line with a line for each of its values; all else as it is."""
    if not text.lstrip().startswith(("{", "[")) or all(len(line) <= LONGEST_JSON_LINE for line in _lines(text)):
        return text
    try:
        return json.dumps(json.loads(text), ensure_ascii=False, indent=2)
    except (ValueError, RecursionError):
        return text


def _lines(text: str) -> list[str]:
    # Not splitlines(): form feeds and separators that it breaks at are no line ends to anyone who reads the text.
    return text.replace("\r\n", "\n").removesuffix("\n").split("\n")


def _rows(before: list[str], after: list[str]) -> list[Row]:
    rows: list[Row] = []
    left_to_mark = MOST_MARKED
    for tag, start, end, other_start, other_end in SequenceMatcher(None, before, after).get_opcodes():
        for old, new in zip_longest(range(start, end), range(other_start, other_end)):
            left = before[old] if old is not None else ""
            right = after[new] if new is not None else ""
            if tag == "equal":
                rows.append(_row("same", old, escape(left), new, escape(right)))
            elif old is None or new is None:
                rows.append(_row("new" if old is None else "gone", old, escape(left), new, escape(right)))
            else:
                left_to_mark -= count_pieces(left) * count_pieces(right)
                shown = marked(left, right) if left_to_mark >= 0 else (escape(left), escape(right))
                rows.append(_row("changed", old, shown[0], new, shown[1]))
    return rows


def _row(kind: str, old: int | None, left: str, new: int | None, right: str) -> Row:
    return Row(kind, _number(old), left, _number(new), right)


def _number(index: int | None) -> int | None:
    return None if index is None else index + 1


def _folded(rows: list[Row]) -> Iterator[Row]:
    """The rows without what is far from any change."""
    changes = [place for place, row in enumerate(rows) if row.kind != "same"]
    near = {at for place in changes for at in range(place - AROUND, place + AROUND + 1)}
    skipped = 0
    for place, row in enumerate(rows):
        if place not in near:
            skipped += 1
            continue
        if skipped:
            yield Row("skipped", count=skipped)
            skipped = 0
        yield row
    if skipped:
        yield Row("skipped", count=skipped)


def _unified(rows: tuple[Row, ...]) -> Iterator[UnifiedLine]:
    waiting: list[UnifiedLine] = []
    for row in rows:
        if row.kind in {"same", "skipped"}:
            yield from waiting
            waiting = []
            yield UnifiedLine(row.kind, number=row.right_number, text=row.right, count=row.count)
            continue
        if row.left_number is not None:
            yield UnifiedLine("gone", sign="-", number=row.left_number, text=row.left)
        if row.right_number is not None:
            waiting.append(UnifiedLine("new", sign="+", number=row.right_number, text=row.right))
    yield from waiting
