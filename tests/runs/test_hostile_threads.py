"""Threads of comments that were written to keep the desk busy."""

import pytest

from reflection_app.reviews.models import Comment
from reflection_app.reviews.views.comments import MOST_LAID_OUT, laid_out, render_comment

NOBODY: frozenset[str] = frozenset()


@pytest.mark.parametrize("text", ["[" * 10_000, "[a](" * 2_500, "![a" * 3_300, "|a" * 2_000 + "\n" + "|-" * 2_000])
def test_what_takes_long_to_lay_out_is_shown_as_it_was_typed(text: str) -> None:
    assert render_comment(text, NOBODY).startswith("<pre")


def test_an_ordinary_comment_is_laid_out() -> None:
    text = "See [the **source**](https://example.org) | or not.\n\n| a | b |\n|---|---|\n| 1 | 2 |\n" * 20
    assert "<strong>source</strong>" in render_comment(text, NOBODY)


def test_of_a_long_thread_the_newest_are_laid_out() -> None:
    thread = [Comment(text=f"**{'x' * 9_000}**") for _ in range(MOST_LAID_OUT // 9_000 + 2)]
    texts = [text for _, text in laid_out(thread, NOBODY)]
    assert "<strong>" in texts[0]
    assert texts[-1].startswith("<pre")
