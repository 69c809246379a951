"""What two versions say otherwise, field by field, with nothing of either lost."""

from hypothesis import given, settings
from hypothesis import strategies as st

from notebook_app.versions import MOST_PIECES, FieldDiff, diff_of, pieces_of

FIELDS = ("name", "content", "details", "tags")


def changes(field: FieldDiff) -> list[tuple[str, str]]:
    return [(piece.kind, piece.text) for piece in field.pieces if piece.kind != "same"]


def test_only_the_fields_that_differ_are_told_in_their_order() -> None:
    before = {"name": "Dates", "content": "Write 2026-01-31.", "details": {"when": "always"}, "tags": ["a"]}
    after = {"name": "Dates", "content": "Write 31 January.", "details": {"advice": "ask"}, "tags": ["a", "b"]}
    fields = diff_of(before, after, fields=FIELDS)
    assert [one.field for one in fields] == ["content", "details.when", "details.advice", "tags"]
    assert changes(fields[0]) == [("removed", "2026-01-"), ("added", " January")]
    assert (fields[2].before, fields[2].after) == ("", "ask")


def test_chinese_is_compared_by_characters() -> None:
    (field,) = diff_of({"content": "退款之前先确认"}, {"content": "退款之后先确认"}, fields=("content",))
    assert changes(field) == [("removed", "前"), ("added", "后")]


@settings(max_examples=100)
@given(st.text(max_size=200), st.text(max_size=200))
def test_the_pieces_are_both_texts(before: str, after: str) -> None:
    pieces = pieces_of(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
    assert "".join(piece.text for piece in pieces if piece.kind != "removed") == after


def test_texts_too_long_to_compare_word_by_word_are_compared_by_lines_or_whole() -> None:
    lines = [f"line {number} of many words\n" for number in range(MOST_PIECES)]
    some = lines[: MOST_PIECES // 2]
    changed = ["first\n", *some[:200], "between\n", *some[200:], "last\n"]
    by_lines = pieces_of("".join(["one\n", *some, "end\n"]), "".join(changed))
    assert [piece.text for piece in by_lines if piece.kind == "added"] == ["first\n", "between\n", "last"]
    mixed = [word for number in range(2 * MOST_PIECES) for word in (f"{number}\n", "x\n")]
    whole = pieces_of("".join(mixed), "".join(["y\n", *reversed(mixed), "z\n"]))
    assert [piece.kind for piece in whole if piece.kind != "same"] == ["removed", "added"]


def test_a_text_made_to_be_slow_is_compared_all_the_same() -> None:
    before, after = "啊哦" * 400, "哦啊啊" * 300
    pieces = pieces_of(before, after)
    assert "".join(piece.text for piece in pieces if piece.kind != "added") == before
