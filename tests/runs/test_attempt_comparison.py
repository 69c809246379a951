"""What one attempt changed of another, in rows."""

import json

import pytest

from reflection_app.loops.hidden_characters import hidden_in, revealed
from reflection_app.runs.views.comparison import MOST_ROWS, compared
from tests.pace import within

# Seconds of the processor, not of the clock: a busy machine makes nothing slower by it.


def test_a_changed_line_stands_beside_what_it_was_with_its_words_marked() -> None:
    rows = compared("one\ntwo three four\nfive", "one\ntwo seven four\nfive").rows
    assert [row.kind for row in rows] == ["same", "changed", "same"]
    assert rows[1].left == "two <del>three</del> four"
    assert rows[1].right == "two <ins>seven</ins> four"
    assert (rows[1].left_number, rows[1].right_number) == (2, 2)


def test_in_one_column_what_is_gone_comes_before_what_is_new() -> None:
    shown = compared("a 1 x\nb 1 x\nc", "a 2 x\nb 2 x\nc\nd").unified
    assert [line.sign + str(line.number) for line in shown] == ["-1", "-2", "+1", "+2", " 3", "+4"]


def test_lines_far_from_any_change_are_counted_and_not_shown() -> None:
    lines = [str(number) for number in range(40)]
    rows = compared("\n".join(lines), "\n".join([*lines, "new"])).rows
    assert rows[0].kind == "skipped"
    assert rows[0].count == 37
    assert [row.kind for row in rows[1:]] == ["same", "same", "same", "new"]


def test_all_text_is_escaped() -> None:
    rows = compared("<b>one</b> & two\n<i>", "<b>1</b> & two\n<u>").rows
    told = "".join(row.left + row.right for row in rows)
    assert "<b>" not in told
    assert "<i>" not in told
    assert "&lt;" in told


def test_json_in_one_line_is_compared_value_by_value_and_its_layout_is_a_difference() -> None:
    one, other = ({"name": "x" * 500, "count": count} for count in (1, 2))
    rows = compared(json.dumps(one), json.dumps(other)).rows
    assert [row.kind for row in rows].count("changed") == 1
    assert compared(json.dumps(one), json.dumps(one, indent=1)).rows != ()


@pytest.mark.parametrize(
    ("left", "right"),
    [
        ("a\nb\n" * 300, "a\na\nb\n" * 200),
        ("\n".join("a b " * 47 + str(n) for n in range(100)), "\n".join("a a b " * 31 + str(n) for n in range(100))),
        ("x" * 60_000, "y" * 60_000),
        ("ab " * 20_000, "ba " * 20_000),
        ("\u3000".join("甲乙" * 15_000), "\u3000".join("乙丙" * 15_000)),
        ("[" * 50_000, "{" * 50_000),
    ],
)
def test_texts_made_to_be_slow_take_no_long_time(left: str, right: str) -> None:
    with within(paces=200):
        shown = compared(left, right)
    assert len(shown.rows) <= MOST_ROWS


def test_characters_that_are_not_seen_are_named_and_written_out() -> None:
    text = "pass\u200bword \u202eevil\u202c\ttab\nline"
    assert [(one.code, one.count) for one in hidden_in(text)] == [("U+200B", 1), ("U+202E", 1), ("U+202C", 1)]
    assert hidden_in("中文 and plain\ttext\r\n") == []
    assert revealed("a\u200bb") == "a⟨U+200B⟩b"
