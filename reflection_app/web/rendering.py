"""Text of models, made fit for a page: Markdown without HTML, then sanitised; code highlighted with CSS classes."""

import json
import re
from collections.abc import MutableMapping, Sequence
from contextlib import suppress
from difflib import SequenceMatcher
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import escape, format_html, format_html_join
from django.utils.safestring import SafeString, mark_safe
from django.utils.translation import gettext
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.ruler import RuleOptionsType
from markdown_it.rules_block import StateBlock
from markdown_it.rules_block.table import table as lay_out_table
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import find_lexer_class_by_name

from reflection_app.loops.hidden_characters import in_order
from reflection_app.web.hidden_text import SCHEMES, hiding_nothing, shows_all
from reflection_app.web.page_budget import in_budget

# Longer texts are shown as they are: laying them out would cost seconds.
LONGEST_LAID_OUT = 60_000
# Cells of one text's tables. A row of two characters has as many cells as its header: a few bytes make thousands.
MOST_CELLS = 5_000
# What of one text's code is coloured, all blocks together: lexers are regular expressions that may backtrack.
LONGEST_COLOURED = 8_000
# Measured on repeated characters of every kind, at that length. The lexers of the C family, of Java and of many others
# take seconds or minutes; Markdown's runs whichever lexer is named inside of it.
COLOURED = frozenset(
    "python py python3 pycon json yaml yml toml javascript js html css xml bash sh shell sql diff go "  # noqa: SIM905
    "rust ruby rb php".split()
)
TAGS = frozenset(
    "p br hr h3 ul ol li blockquote pre code span em strong s a table thead tbody tr th td".split()  # noqa: SIM905
)
ATTRIBUTES = {"a": {"href", "title"}, "span": {"class"}, "pre": {"class", "tabindex"}, "ol": {"start"}, "li": {"value"}}
OUR_CLASS = re.compile(r"[a-z][a-z0-9]{0,2}|code")
# TypeScript's own lexer is one of the slow ones.
NEAR_ENOUGH = {"typescript": "javascript", "ts": "javascript"}


def heading(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    # One level for all: a model's headings must not disturb the outline of the page around them.
    return "<h3>" if tokens[index].nesting == 1 else "</h3>\n"


def _fence(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    token = tokens[index]
    env["coloured"] = env.get("coloured", 0) + len(token.content)
    language = language_in(token.info) if env["coloured"] <= LONGEST_COLOURED else ""
    return caption(token.info) + _coloured(in_order(token.content), language=language)


def language_in(info: str) -> str:
    """Return the language that the first word after a fence names; an empty text without one."""
    return next(iter(info.split(maxsplit=1)), "")


def caption(info: str) -> str:
    """Return what is written after a fence, above its code; nothing if it only names a language that is colored."""
    is_language = info.strip().lower() in COLOURED or info.strip().lower() in NEAR_ENOUGH
    return "" if is_language or not info.strip() else f"<p><em>{escape(in_order(info.strip()))}</em></p>"


def bounded_table(state: StateBlock, start: int, end: int, silent: bool) -> bool:
    """Markdown's rule for tables, of which the rows past MOST_CELLS are no table and shown as they were written."""
    cells = state.env.get("cells", 0)
    columns = state.src.count("|", state.bMarks[start], state.eMarks[start]) + 1
    rows = (MOST_CELLS - cells) // columns - 1
    if rows < 0 or not lay_out_table(state, start, min(end, start + 2 + rows), silent):
        return False
    if not silent:
        state.env["cells"] = cells + columns * (state.line - start - 1)
    return True


# Without images: they would only be requests to somewhere else, which the CSP forbids anyway.
MARKDOWN = hiding_nothing(MarkdownIt("commonmark", {"html": False, "breaks": True}))
MARKDOWN.enable(["table", "strikethrough"]).disable("image")
for rule, render in {
    "heading_open": heading,
    "heading_close": heading,
    "fence": _fence,
    "code_block": _fence,
}.items():
    MARKDOWN.add_render_rule(rule, render)
TABLE_ENDS: RuleOptionsType = {"alt": ["paragraph", "reference"]}
MARKDOWN.block.ruler.at("table", bounded_table, TABLE_ENDS)


def _class_of_ours(_tag: str, attribute: str, value: str) -> str | None:
    if attribute != "class":
        return value
    return value if all(OUR_CLASS.fullmatch(name) for name in value.split()) else None


def sanitised(html: str, *, attributes: dict[str, set[str]] = ATTRIBUTES) -> SafeString:
    """`html` with nothing left in it that could act, load or restyle."""
    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes=attributes,
        attribute_filter=_class_of_ours,
        url_schemes=set(SCHEMES),
        link_rel="noopener noreferrer nofollow ugc",
    )
    return mark_safe(clean)  # noqa: S308 - sanitised one line above


def _coloured(code: str, *, language: str) -> str:
    """The code, with its words coloured where the language is one of those that are known to be quick."""
    lines = coloured_lines(code, language=language)
    if lines is None:
        return render_plain(code)
    inside = "".join(f"{line}\n" for line in lines)
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>'


def coloured_lines(code: str, *, language: str, already: int = 0) -> list[str] | None:
    """The lines of the code, coloured and each complete in itself; None where colouring would take too long.

    `already` is how much of the same text's code was coloured before it.
    """
    language = NEAR_ENOUGH.get(language.lower(), language.lower())
    # The lexers swallow a byte order mark, and each place after it would be off by one.
    if language not in COLOURED or already + len(code) > LONGEST_COLOURED or code.startswith("\ufeff"):
        return None
    lexer = find_lexer_class_by_name(language)(stripnl=False)
    # The formatter closes what it opened at each line's end.
    return str(highlight(code, lexer, HtmlFormatter(nowrap=True))).removesuffix("\n").split("\n")


def render_markdown(text: str) -> SafeString:
    """A model's text laid out, safe to put into a page."""
    if len(text) > LONGEST_LAID_OUT:
        return render_plain(text)
    shown = in_budget(len(text), lambda: _markdown(text))
    return not_formatted(render_plain(text)) if shown is None else shown


@lru_cache(maxsize=512)
def _markdown(text: str) -> SafeString:
    env: dict[str, Any] = {}
    tokens = MARKDOWN.parse(in_order(text), env)
    if not shows_all(tokens, in_order(text)):
        return as_written(render_plain(text))
    return sanitised(MARKDOWN.renderer.render(tokens, MARKDOWN.options, env))


def as_written(plain: SafeString) -> SafeString:
    """The text as it was written, and why it is not laid out."""
    why = gettext("Not formatted: formatting would hide part of it.")
    return format_html('<p class="muted">{}</p>{}', why, plain)


def render_code(code: str, *, language: str = "python") -> SafeString:
    """Code with its words coloured, safe to put into a page."""
    if len(code) > LONGEST_COLOURED:
        return render_plain(code)
    return in_budget(len(code), lambda: _code_in_colour(code, language)) or render_plain(code)


@lru_cache(maxsize=512)
def _code_in_colour(code: str, language: str) -> SafeString:
    return sanitised(_coloured(in_order(code), language=language))


def not_formatted(plain: SafeString) -> SafeString:
    """The text as it was written, and why it is not laid out."""
    why = gettext("Not formatted: too much text on this page.")
    return format_html('<p class="muted">{}</p>{}', why, plain)


def render_plain(text: str) -> SafeString:
    inside = escape(in_order(text))
    return mark_safe(f'<pre class="code" tabindex="0"><code>{inside}</code></pre>')  # noqa: S308 - escaped


def render_answer(content: str, *, is_code: bool) -> SafeString:
    """An attempt's answer. Bare JSON is shown as code, and so is what should be code and has no fence around it."""
    language = language_of(content, is_code=is_code)
    return render_code(content, language=language) if language else render_markdown(content)


def language_of(content: str, *, is_code: bool) -> str:
    """The language of an answer that is nothing but code; empty for all others."""
    # An object or an array and nothing else: Markdown would take the indentation away.
    if len(content) <= LONGEST_LAID_OUT and content.lstrip().startswith(("{", "[")):
        with suppress(ValueError, RecursionError):
            json.loads(content)
            return "json"
    return "python" if is_code and "```" not in content and "~~~" not in content else ""


# Two texts side by side with what differs marked, in bounded time whatever the texts are.

# Longer texts are compared as far as this; comparing takes time with the square of the length at worst.
LONGEST_COMPARED = 20_000
MOST_LINES = 1_000
MOST_WORDS = 400
# Scripts without spaces are compared character by character.
_WORDS = re.compile(r"[^\W\u2e80-\u9fff\uac00-\ud7af\u3040-\u30ff]+|\s+|.", re.DOTALL)

# A part of a text, and whether only that text has it.
Piece = tuple[str, bool]


def marked(left: str, right: str) -> tuple[SafeString, SafeString]:
    """`left` with what is gone in `<del>`, and `right` with what is new in `<ins>`; all text in them escaped."""
    left, right = left[:LONGEST_COMPARED], right[:LONGEST_COMPARED]
    lines, other_lines = left.splitlines(keepends=True), right.splitlines(keepends=True)
    before: list[Piece] = []
    after: list[Piece] = []
    if len(lines) > MOST_LINES or len(other_lines) > MOST_LINES:
        before, after = [(left, left != right)], [(right, left != right)]
        lines = other_lines = []
    for tag, start, end, other_start, other_end in SequenceMatcher(None, lines, other_lines).get_opcodes():
        gone, new = "".join(lines[start:end]), "".join(other_lines[other_start:other_end])
        if tag == "replace":
            gone_pieces, new_pieces = _word_pieces(gone, new)
            before += gone_pieces
            after += new_pieces
        else:
            before.append((gone, tag != "equal"))
            after.append((new, tag != "equal"))
    return _html(before, mark="del"), _html(after, mark="ins")


def count_pieces(text: str) -> int:
    """How many pieces the text is compared in, where its words are."""
    return sum(1 for _ in _WORDS.finditer(text))


def _word_pieces(left: str, right: str) -> tuple[list[Piece], list[Piece]]:
    words, other_words = _WORDS.findall(left), _WORDS.findall(right)
    if len(words) > MOST_WORDS or len(other_words) > MOST_WORDS:
        return [(left, True)], [(right, True)]
    matcher = SequenceMatcher(None, words, other_words)
    if matcher.ratio() < 0.3:  # a mosaic of stray common words tells less than two whole texts
        return [(left, True)], [(right, True)]
    codes = matcher.get_opcodes()
    return _joined(words, [(code[0], code[1], code[2]) for code in codes]), _joined(
        other_words, [(code[0], code[3], code[4]) for code in codes]
    )


def _joined(words: Sequence[str], spans: Sequence[tuple[str, int, int]]) -> list[Piece]:
    return [("".join(words[start:end]), tag != "equal") for tag, start, end in spans]


def _html(pieces: Sequence[Piece], *, mark: str) -> SafeString:
    plain, changed = "{}", f"<{mark}>{{}}</{mark}>"
    shown = [format_html_join("", changed if is_new else plain, [(text,)]) for text, is_new in pieces if text]
    return mark_safe("".join(shown))  # noqa: S308 - each piece was escaped by format_html_join
