"""Texts of models as they come onto a page."""

import html
import re
from collections.abc import Callable

import pytest
from pygments.lexers import find_lexer_class_by_name

from reflection_app.web import page_budget, rendering
from reflection_app.web.placed import placed_answer
from reflection_app.web.rendering import (
    COLOURED,
    LONGEST_COLOURED,
    MOST_CELLS,
    render_answer,
    render_code,
    render_markdown,
)

COLOUR = '<span class="'


def fenced(language: str, code: str) -> str:
    return f"```{language}\n{code}\n```\n"


@pytest.mark.parametrize("language", ["python", "Python", "js", "ts", "yaml", "rust"])
def test_code_of_a_known_language_is_coloured(language: str) -> None:
    assert COLOUR in render_markdown(fenced(language, "x = 'one' # two"))


def test_each_language_that_is_coloured_has_a_lexer() -> None:
    assert all(find_lexer_class_by_name(language) for language in COLOURED)


@pytest.mark.parametrize("language", ["gherkin", "c", "java", "markdown", "md", "no-such-language", ""])
def test_any_other_language_is_shown_plain_since_its_lexer_may_take_for_ever(language: str) -> None:
    shown = render_markdown(fenced(language, "Scenario: <b>\n```python x"))
    assert COLOUR not in shown
    assert "Scenario: &lt;b&gt;" in shown


def test_long_code_is_shown_plain() -> None:
    code = "x = 1\n" * (LONGEST_COLOURED // 6 + 1)
    assert COLOUR not in render_code(code)
    assert COLOUR not in render_markdown(fenced("python", code))
    assert "x = 1" in render_code(code)


def test_blocks_share_what_may_be_coloured(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rendering, "LONGEST_COLOURED", 40)
    shown = render_markdown("\n".join(fenced("python", f"block{number} = '{'x' * 15}'") for number in range(4)))
    assert [COLOUR in block for block in shown.split("<pre")[1:]] == [True, False, False, False]


@pytest.mark.parametrize("content", ['{\n  "papers": [\n    {"title": "一"}\n  ]\n}\n', '[\n  {\n    "a": 1\n  }\n]'])
def test_bare_json_keeps_its_indentation(content: str) -> None:
    shown = render_answer(content, is_code=False)
    assert shown.startswith('<pre class="code" tabindex="0">')
    assert html.unescape(re.sub(r"<[^>]*>", "", shown)).strip() == content.strip()


@pytest.mark.parametrize("content", ["[a link](https://example.org)", "{", "[" * 30_000 + "]" * 30_000])
def test_what_only_begins_like_json_is_laid_out_as_text(content: str) -> None:
    assert 'class="code"' not in render_answer(content, is_code=False)


# 32 columns and 63 rows that name none of them: 250 characters make 2,000 cells.
SMALL_TABLE = f"|{'a|' * 32}\n|{'-|' * 32}\n" + "|\n" * 63 + "\n"


@pytest.mark.parametrize("shown", [render_markdown, lambda text: placed_answer(text, is_code=False)])
def test_a_text_has_a_bounded_number_of_cells_and_loses_no_row(shown: Callable[[str], str]) -> None:
    page = shown(SMALL_TABLE * 100)
    assert 0 < page.count("<td") + page.count("<th>") <= MOST_CELLS
    rows = "".join(f"|w{number}|\n" for number in range(6_000))
    page = shown(f"|a|\n|-|\n{rows}")
    assert 0 < page.count("<td") <= MOST_CELLS
    assert all(f"w{number}" in page for number in (0, 5_999))


def test_a_usual_table_is_one() -> None:
    page = render_markdown("|a|b|\n|-|-|\n|c|d|\n\nafter")
    assert (page.count("<th>"), page.count("<td>")) == (2, 2)
    assert "<p>after</p>" in page


def test_a_page_lays_out_as_much_text_as_its_budget_and_shows_the_rest_as_written() -> None:
    texts = [f"**{number}** " + "x" * 40 for number in range(4)]
    for render in (render_markdown, lambda text: placed_answer(text, is_code=False)):
        with page_budget.page_budget() as budget:
            budget.characters = 100
            shown = [render(text) for text in texts]
        assert ["<strong>" in one for one in shown] == [True, True, False, False]
        assert ["Not formatted" in one for one in shown] == [False, False, True, True]
        assert all(str(number) in one for number, one in enumerate(shown))
    assert "<strong>" in render_markdown(texts[3])


def test_a_page_whose_time_is_up_lays_out_nothing_more() -> None:
    with page_budget.page_budget() as budget:
        budget.seconds = 1e-9
        shown = [render_markdown(f"*{number}*") for number in range(2)]
        assert COLOUR not in render_code("x = 'one'")
    assert ["<em>" in one for one in shown] == [True, False]
