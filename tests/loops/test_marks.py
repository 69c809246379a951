"""Marks: found by place and by quote, put right or refused, and told of in prompts."""

import json
from time import perf_counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.actor_critic import Earlier, actor_messages
from reflection_app.loops.attempts import repairs_of
from reflection_app.loops.marks import Mark, MarkedText, MarkRefused, find_quote, with_passage
from reflection_app.loops.reflexion import issues_of
from reflection_app.loops.verdicts import Issue, Judgement, Referee, Verdict

TEXT = "one two\nthree 😀 two\n\u202eסוף e\u0301 two\u200bthree"


def test_a_mark_at_its_place_stays_there_and_learns_its_lines_and_what_is_around_it() -> None:
    start = TEXT.index("😀")
    mark = Mark(start=start, end=start + 1, exact="😀").within(TEXT)
    assert (mark.start, mark.end, mark.line, mark.last_line) == (start, start + 1, 2, 2)
    assert TEXT[: mark.start].endswith(mark.prefix)
    assert TEXT[mark.end :].startswith(mark.suffix)


def test_a_mark_whose_place_is_off_is_put_where_its_only_quote_is() -> None:
    mark = Mark(start=999, end=1_003, exact="three 😀").within(TEXT)
    assert TEXT[mark.start : mark.end] == "three 😀"


def test_of_two_places_the_one_with_prefix_and_suffix_counts() -> None:
    mark = Mark(exact="two", prefix="😀 ").within(TEXT)
    assert mark.start == TEXT.index("two", 10)
    with pytest.raises(MarkRefused, match="more than once"):
        Mark(exact="two").within(TEXT)
    with pytest.raises(MarkRefused, match="more than once"):
        Mark(exact="two", prefix=" ").within(TEXT)


def test_what_the_text_does_not_hold_is_refused_in_a_short_sentence() -> None:
    with pytest.raises(MarkRefused) as refused:
        Mark(exact="nowhere " * 1_000).within(TEXT)
    assert len(str(refused.value)) < 500


def test_combining_characters_are_not_taken_for_composed_ones() -> None:
    with pytest.raises(MarkRefused):
        Mark(exact="é").within(TEXT)
    assert Mark(exact="e\u0301").within(TEXT).exact == "e\u0301"


@given(st.text(min_size=1, max_size=60), st.data())
def test_every_passage_of_every_text_is_found_at_its_place(text: str, data: st.DataObject) -> None:
    start = data.draw(st.integers(0, len(text) - 1))
    end = data.draw(st.integers(start + 1, len(text)))
    text = "".join("x" if 0xD800 <= ord(one) <= 0xDFFF or one == "\0" else one for one in text)
    mark = Mark(start=start, end=end, exact=text[start:end])
    found = mark.within(text)
    assert (found.start, found.end) == (start, end)
    assert Mark.model_validate(found.model_dump(mode="json")).within(text) == found
    assert found.within(text) == found


@given(st.text(alphabet=" \n\tab", max_size=40), st.text(alphabet=" \n\tab", max_size=8))
def test_a_copied_quote_is_found_whatever_white_space_is_in_it(text: str, quote: str) -> None:
    for start, end in find_quote(text, quote):
        assert text[start:end].split() == quote.split()


def test_a_quote_whose_line_ends_became_spaces_is_found() -> None:
    assert [TEXT[start:end] for start, end in find_quote(TEXT, " two three 😀 ")] == ["two\nthree 😀"]
    assert find_quote(TEXT, "   ") == []


def test_a_long_text_of_repeats_is_looked_through_quickly() -> None:
    text = "ab " * 400_000
    assert len(find_quote(text, "ab")) == 1_000
    with pytest.raises(MarkRefused):
        Mark(exact="ab ab").within(text)
    assert find_quote(" " * 1_000_000 + "x", "a x") == []


def test_a_long_quote_that_a_long_text_almost_holds_everywhere_is_soon_not_found() -> None:
    begun = perf_counter()
    assert find_quote("a  " * 100_000, "a " * 4_000 + "b") == []
    assert perf_counter() - begun < 2
    assert find_quote("xa  b\n\nbc a b", "a b b") == [(1, 8)]


def test_an_issue_without_a_mark_is_written_as_before_there_were_marks() -> None:
    assert json.loads(Issue(description="Too short").model_dump_json()) == {
        "category": "other",
        "severity": "medium",
        "description": "Too short",
        "suggested_fix": "",
        "path": "",
    }
    assert Issue(description="Too short").in_words == "Too short"


MARKED = Issue(
    description="Not so", suggested_fix="Say seven", mark=Mark(exact="three\nof them").within("a\nthree\nof them")
)
JUDGED = Judgement(attempt=1, referee=Referee.PERSON, verdict=Verdict.REVISE, score=50, issues=(MARKED,))


def test_the_next_attempt_is_told_which_passage_an_issue_is_about() -> None:
    said = "Not so [in lines 2 to 3: “three of them”]"
    assert said in issues_of(JUDGED)
    assert said in actor_messages("Write", [Earlier("a", JUDGED)])[-1].content
    assert repairs_of(JUDGED) == ("Say seven [in lines 2 to 3: “three of them”]",)


def test_a_long_passage_is_named_in_a_prompt_by_its_beginning_and_its_end() -> None:
    mark = Mark(exact=f"begin {'x' * 5_000} end").within(f"begin {'x' * 5_000} end")
    assert len(with_passage("Wrong", mark)) < 400


def test_it_says_of_which_other_text_a_passage_is() -> None:
    of_output = Mark(exact="a", text=MarkedText.OUTPUT, step=4).within("a")
    assert of_output.where == "line 1 of the output of step 4"
    assert Mark(exact="a", attempt=2).within("a").where == "line 1 of attempt 2"
