"""The comparison of two attempts with what people marked in them: an issue stands below the line that it is about."""

import html
import re
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace

from reflection_app.runs.views.comparison import Row, Rows, compared
from reflection_app.runs.views.passages import AnyIssue, IssueShown, Passages
from reflection_app.web.placed import Marker

# As `compared` counts lines.
_LINE_END = re.compile(r"\r?\n")


@dataclass(frozen=True)
class MarkedComparison:
    """`notes_left` are the earlier attempt's marked issues whose lines are not among the rows."""

    rows: Rows
    notes_left: tuple[IssueShown, ...] = ()


def compared_with_marks(
    left: str, right: str, *, earlier: Passages, issues: Iterable[AnyIssue], later: Passages
) -> MarkedComparison:
    """What `right` changed of `left`, with the passages of both. `issues` are those of the earlier attempt."""
    before, after = earlier.of_attempt(left), later.of_attempt(right)
    noted = [one for one in earlier.shown(issues) if one.number in {passage.number for passage in before}]
    starts, other_starts = _starts(left), _starts(right)
    line_of = {passage.number: _line(starts, passage.start) for passage in before}
    rows = compared(left, right, unfolded=frozenset(line_of.values()))
    if not before and not after:
        return MarkedComparison(rows)
    notes: dict[int, list[IssueShown]] = defaultdict(list)
    for one in noted:
        if one.number is not None:
            notes[line_of[one.number]].append(one)
    # The note stands right below, so a number has nothing to lead to.
    left_marker = Marker([replace(one, href="", name="") for one in before], is_named=False)
    right_marker = Marker(after, is_named=False)
    marked: list[Row] = []
    for row in rows.rows:
        # A long line of JSON is shown in lines of its own, which stand nowhere in the raw text.
        there = _is_there(row.left_number, row.left, left, starts)
        other_there = _is_there(row.right_number, row.right, right, other_starts)
        marked.append(
            replace(
                row,
                left=_marked(left_marker, row.left, starts, row.left_number) if there else row.left,
                right=_marked(right_marker, row.right, other_starts, row.right_number) if other_there else row.right,
                notes=tuple(notes.pop(row.left_number, ())) if there and row.left_number else (),
            )
        )
    left_over = tuple(one for line in sorted(notes) for one in notes[line])
    return MarkedComparison(replace(rows, rows=tuple(marked)), left_over)


def _starts(text: str) -> list[int]:
    return [0, *(end.end() for end in _LINE_END.finditer(text))]


def _line(starts: Sequence[int], place: int) -> int:
    """The number of the line that the place is in, from 1."""
    return sum(start <= place for start in starts)


_TAGS = re.compile(r"<[^<>]*+>")


def _is_there(number: int | None, shown: str, text: str, starts: Sequence[int]) -> bool:
    if number is None or number > len(starts):
        return False
    plain = html.unescape(_TAGS.sub("", shown))
    return text.startswith(plain, starts[number - 1])


def _marked(marker: Marker, shown: str, starts: Sequence[int], number: int | None) -> str:
    return marker.marked(f'<span data-at="{starts[number - 1]}">{shown}</span>') if number is not None else shown
