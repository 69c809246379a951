"""Text on a page in pieces that say where in the raw text they stand, and marked passages in it."""

import html
import re

import hypothesis
import pytest
from hypothesis import example
from hypothesis import strategies as st

from reflection_app.web.placed import Passage, find_shown, placed_answer, placed_code, placed_text, with_passages
from reflection_app.web.rendering import render_answer
from tests import given

MARKDOWN = """# A head

Some **bold** and [a link](http://here.example/a(b) "a title") &amp; an \\*escape `code x` 😀 e\u0301.
line two

> quoted
> - item `over
>   lines` end
>   ```python
>   def f():
>       return 1
>   ```

| a | b |
|---|---|
| a | a |

    indented

\u202eturned\u202c ~~gone~~
"""
PIECE = re.compile(r'<span data-at="(\d+)">((?:<span class="[a-z0-9]+">|</span>(?=[^\n]*</span>)|[^<])*)</span>')
TAGS = re.compile(r"<[^>]*>")


def pieces(placed: str) -> list[tuple[int, str]]:
    return [(int(found[1]), html.unescape(TAGS.sub("", found[2])).rstrip("\n")) for found in PIECE.finditer(placed)]


def marked(shown: str) -> str:
    """What is in marks, one after another."""
    return html.unescape("".join(TAGS.sub("", one) for one in re.findall(r"<mark[^>]*>(.*?)</mark>", shown, re.DOTALL)))


def stripped(shown: str) -> str:
    return re.sub(r"</?(?:span|mark)\b[^>]*>", "", shown)


def at(text: str, part: str, number: int = 1, *, after: int = 0) -> Passage:
    start = text.index(part, after)
    return Passage(
        start, start + len(part), number=number, label=f"Issue {number}", href=f"i{number}", name=f"p{number}"
    )


@pytest.mark.parametrize(
    "text", [MARKDOWN, MARKDOWN.replace("\n", "\r\n"), given.HOSTILE, '{"a":\r\n [1, "\u202e"]}', "a\rb\r\n\rc"]
)
@pytest.mark.parametrize("is_code", [False, True])
def test_each_piece_stands_in_the_raw_text_where_it_says_so(text: str, is_code: bool) -> None:
    found = pieces(placed_answer(text, is_code=is_code))
    assert found
    for start, shown in found:
        assert text[start : start + len(shown)] == shown


@hypothesis.given(st.text(alphabet="ab *_`[]()#>-|\\&;!~<\"'\n\t\r😀\u200b", max_size=80))
def test_whatever_is_written_each_piece_stands_where_it_says_so(text: str) -> None:
    for start, shown in pieces(placed_answer(text, is_code=False)):
        assert text[start : start + len(shown)] == shown


@example("~~~")
@hypothesis.given(st.text(alphabet="ab *_`[]()#>-\\&;!~<\"'\n 😀", max_size=80))
def test_it_looks_as_it_does_without_places(text: str) -> None:
    assert stripped(placed_answer(text, is_code=False)) == stripped(render_answer(text, is_code=False))


def test_code_in_colours_looks_as_it_does_without_places() -> None:
    code = 'def f(x):\n    """Doc\n    more"""\n    return "<b>" + x\n'
    assert stripped(placed_code(code)) == stripped(render_answer(code, is_code=True))


def test_a_passage_is_marked_through_all_that_lies_between() -> None:
    passage = at(
        MARKDOWN, 'bold** and [a link](http://here.example/a(b) "a title") &amp; an \\*escape `code x` 😀 e\u0301'
    )
    shown = with_passages(placed_answer(MARKDOWN, is_code=False), [passage])
    assert marked(shown) == "bold and a link & an *escape code x 😀 e\u0301"
    assert shown.count('id="p1"') == 1
    assert '<a class="passage-number" data-apart href="#i1" id="p1" aria-label="Issue 1">1</a>' in shown


def test_passages_may_overlap_and_lie_within_one_another() -> None:
    text = "one two three four"
    shown = with_passages(placed_text(text), [at(text, "one two three"), at(text, "two", 2), at(text, "three four", 3)])
    assert marked(shown) == text
    assert shown.count("passage-many") == 2
    assert [int(one) for one in re.findall(r">(\d)</a>", shown)] == [1, 2, 3]


def test_what_is_hidden_is_written_out_and_is_one_with_its_place() -> None:
    text = "a\u200b\u200bb 😀\u202ec"
    shown = placed_text(text)
    assert '<span data-at="1" data-to="3">⟨U+200B⟩⟨U+200B⟩</span>' in shown
    assert marked(with_passages(shown, [Passage(2, 4, number=1, label="Issue 1")])) == "⟨U+200B⟩⟨U+200B⟩b"
    assert marked(with_passages(shown, [Passage(5, 6, number=1, label="Issue 1")])) == "😀"


def test_hidden_characters_without_number_make_no_page_without_end() -> None:
    assert len(placed_text("a\u200b" * 500_000)) < 12_000_000


def test_nothing_in_a_text_can_act() -> None:
    text = f'{given.HOSTILE}\n<span data-at="0" onclick="x">&lt;script&gt;</span>'
    for shown in (placed_text(text), placed_answer(text, is_code=False), placed_answer(text, is_code=True)):
        marks = with_passages(shown, [Passage(0, len(text), number=1, label='"><script>')])
        assert "<script" not in marks
        assert '<span data-at="0" onclick' not in marks


def test_a_number_is_no_link_within_a_link() -> None:
    text = "[words here](https://example.org)"
    shown = with_passages(placed_answer(text, is_code=False), [at(text, "here")])
    assert '<span class="passage-number" data-apart role="img" id="p1" aria-label="Issue 1">1</span>' in shown


def test_a_long_text_is_marked_quickly_and_all_of_it_is_there() -> None:
    text = "All the words of a long text, é and 😀. " * 25_000
    shown = with_passages(placed_answer(text, is_code=False), [at(text, "long text", after=500_000)])
    assert html.unescape(TAGS.sub("", shown)).replace("1long", "long") == text
    assert marked(shown) == "long text"


def test_words_that_were_copied_from_the_page_are_found_in_the_raw_text() -> None:
    [(start, end)] = find_shown(MARKDOWN, "bold and a link & an *escape code x")
    assert MARKDOWN[start:end].startswith("bold** and [a link]")
    assert MARKDOWN[start:end].endswith("`code x")
    assert find_shown(MARKDOWN, "no such words") == []
