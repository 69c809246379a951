"""The plain words by which an agent is heard to say that it does not know, where no model reads the meaning."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.protocol.classification import LONGEST_QUOTE, said_in_words
from tests.pace import within

SAID = (
    "I don't know.",
    "Honestly, I don't actually know when the bridge was opened.",
    "I have no idea what the third parameter means.",
    "I don't have any information on this company.",
    "I was unable to find any relevant studies.",
    "The list is below.\nI don't know the year of the fourth paper.",
    "我不知道。",
    "抱歉，我不清楚具体的数字。",
    "具体时间不得而知。",
    "以下是三篇论文。\n第四篇的年份我不清楚。",
)
NOT_SAID = (
    "",
    "   \n",
    "The answer is 42.",
    "The customer does not know his order number.",
    "很多人不知道这个功能。",
    "我知道答案，是四十二。",
)


@pytest.mark.parametrize("text", SAID)
def test_it_is_told_in_the_words_themselves(text: str) -> None:
    quote = said_in_words(text)
    assert quote
    assert quote in text


@pytest.mark.parametrize("text", NOT_SAID)
def test_what_is_said_of_others_does_not_count(text: str) -> None:
    assert said_in_words(text) == ""


def test_a_long_sentence_is_quoted_in_part() -> None:
    quote = said_in_words("I don't know " + "whether this holds and " * 100)
    assert len(quote) == LONGEST_QUOTE
    assert quote.endswith("…")


@pytest.mark.parametrize(
    "text",
    [
        "I " * 100_000,
        "我" * 200_000,
        "“" * 100_000,
        "`" * 100_000,
        "no " * 100_000,
        "没有" * 100_000,
        "if I don't know, " * 20_000,
        '"' * 99_999,
        "I do not " * 30_000,
    ],
)
def test_hostile_text_is_read_in_bounded_time(text: str) -> None:
    with within(paces=500):
        said_in_words(text)


@given(st.text(alphabet="I don'tknow,.\"“”我不知道没有信息找到\n ", max_size=300))
def test_any_text_is_answered_with_a_part_of_it(text: str) -> None:
    quote = said_in_words(text)
    assert quote == "" or quote.rstrip("…") in text
