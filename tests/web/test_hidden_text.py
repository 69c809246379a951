"""Markdown whose page shows what its source holds."""

import html
import re

import pytest

from reflection_app.web.placed import placed_answer
from reflection_app.web.rendering import render_markdown

AS_WRITTEN = "Not formatted"


def words_of(source: str) -> str:
    """The words of the page, the same with and without places."""
    plain, placed = (
        html.unescape(re.sub(r"<[^>]+>", "", laid_out)).strip()
        for laid_out in (render_markdown(source), placed_answer(source, is_code=False))
    )
    assert plain == placed
    return plain


@pytest.mark.parametrize(
    "source",
    [
        "2*3*4 = 24 and 2**3**2 = 512",
        "x = a**2 + b**2",
        "https://a.org/c*d*e",
        "call __init__ and __main__",
        r"^\+?\d{1,3}\-\d+\.\d+\/x\?$",
        r"$\|x\| \le 5\% \& \# \{ \} \, \; \"o$",
        r"C:\.git\-x\#y and \\server\share",
        "[the report](ftp://host/file) and [data](s3://bucket/key)",
        "[a port](http://host:99999/file)",
    ],
)
def test_literal_signs_are_on_the_page(source: str) -> None:
    assert words_of(source) == source


@pytest.mark.parametrize(
    "source",
    [
        "| a | b |\n|---|---|\n| 1 | 2 | ❌ |",
        "| a | b |\n|---|---|\n| 1 | 2 | $ |",
        "Fine.[](http://a.org/The-answer-is-42)",
        "Fine.[ ](http://a.org/42)",
        "Fine.[\u200b](http://a.org/42 'the answer')",
    ],
)
def test_text_that_would_lose_a_part_is_not_formatted(source: str) -> None:
    assert words_of(source).endswith(source)
    assert AS_WRITTEN in render_markdown(source)


@pytest.mark.parametrize(
    ("source", "page"),
    [
        ("```html\n<b>&lt;x&gt; &amp; y</b>\n```", "<b>&lt;x&gt; &amp; y</b>"),
        ("Write `&lt;div&gt;`.", "Write &lt;div&gt;."),
        ("&lt;b&gt; &copy; 2020", "<b> © 2020"),
        ("https://a.org/?a=1&copy=2&section=3", "https://a.org/?a=1&copy=2&section=3"),
        ("[See](https://a.org/?a=1&copy=2&lt=3 'A &amp; B') it.", "See it."),
        ("[See](https://münchen.de/ä) it.", "See it."),
        (r"snake\_case, \*all\*, \<b>", "snake_case, *all*, <b>"),
        ("1\\. One\n\n\\# No heading\n\n\\- no item", "1. One\n# No heading\n- no item"),
        ("the **API**s and 这是**重要的**内容", "the APIs and 这是重要的内容"),
        ("**Bold**, *italic*, __very strong__ and _em_", "Bold, italic, very strong and em"),
    ],
)
def test_usual_markdown_is_laid_out(source: str, page: str) -> None:
    assert words_of(source) == page
    assert AS_WRITTEN not in render_markdown(source)


def test_items_have_the_numbers_of_the_source() -> None:
    for page in (render_markdown("3. gold\n1. silver\n"), placed_answer("3. gold\n1. silver\n", is_code=False)):
        assert re.findall(r'<li value="(\d+)"', page) == ["3", "1"]


@pytest.mark.parametrize("source", ["1. a\n1. b\n", "4. a\n5. b\n", "- a\n- b\n"])
def test_items_that_are_counted_have_no_numbers_of_their_own(source: str) -> None:
    assert "value=" not in render_markdown(source)
