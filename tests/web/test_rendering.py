"""Texts of models as they come onto a page."""

import html
import re

import pytest
from pygments.lexers import find_lexer_class_by_name

from reflection_app.web import rendering
from reflection_app.web.rendering import COLOURED, LONGEST_COLOURED, render_answer, render_code, render_markdown

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
