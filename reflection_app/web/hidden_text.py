"""Markdown whose page shows all letters and digits that its source holds: nothing is hidden from those who judge it.

Markdown drops link definitions, cells beyond a table's last column, quotes that are nested too deeply, the backslash of
an escape, the numbers of list items, and signs of multiplication. The sanitiser drops addresses. What can be shown is
shown; a text of which a part would be dropped is shown as it was written.
"""

import html
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

import nh3
from markdown_it import MarkdownIt
from markdown_it.common.normalize_url import normalizeLinkText
from markdown_it.rules_core import StateCore
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.emphasis import tokenize as find_emphasis
from markdown_it.rules_inline.escape import escape as drop_backslash
from markdown_it.token import Token

from reflection_app.loops.hidden_characters import HIDDEN, in_order

SCHEMES = frozenset({"http", "https", "mailto"})
# A backslash is dropped only where Markdown needs it. Elsewhere it is part of a formula, a path or a pattern.
ESCAPED = frozenset("*_`<~")
ESCAPED_AT_START = re.compile(r"[ \t]*(?:\\[#>+-]|[0-9]{1,9}\\[.)])")
_WORD = re.compile(r"[A-Za-z0-9]")
_DUNDER = re.compile(r"__[a-z][a-z0-9_]{0,40}__(?![A-Za-z0-9])")
# Letters, digits and signs, without the signs of which Markdown makes formatting.
_SEEN = re.compile(r"[^\W_]+|[^\x00-\x7f\s]+|[$,?@^]+")
# Entities within entities are resolved this often.
_DEEPEST = 3


def escape_in_sight(state: StateInline, silent: bool) -> bool:
    """Markdown's rule for escapes, which shows a backslash that Markdown does not need: `\\(`, `\\[`, `\\\\`."""
    begins = state.pos
    is_escape = drop_backslash(state, silent)
    if is_escape and not silent and state.tokens:
        token = state.tokens[-1]
        if token.type == "text_special" and token.content not in ESCAPED and not _begins_line(state, begins):
            token.content = token.markup
    return is_escape


def _begins_line(state: StateInline, place: int) -> bool:
    line = state.src.rfind("\n", max(0, place - 20), place) + 1
    found = ESCAPED_AT_START.match(state.src, line)
    return bool(found and found.end() == place + 2)


def literal_emphasis(state: StateInline, silent: bool) -> bool:
    """Markdown's rule for emphasis, which shows the signs of `2*3*4`, `a**2` and `__init__`."""
    begins, known = state.pos, len(state.delimiters)
    if not find_emphasis(state, silent):
        return False
    is_inside = begins > 0 and _WORD.match(state.src, begins - 1) and _WORD.match(state.src, state.pos)
    if is_inside or _DUNDER.match(state.src, begins):
        for delimiter in state.delimiters[known:]:
            delimiter.open = False
    return True


def number_items(state: StateCore) -> None:
    """Give list items the numbers that they have in the source, unless all have the same: that asks for counting."""
    lists: list[list[Token]] = []
    for token in state.tokens:
        match token.type:
            case "ordered_list_open":
                lists.append([])
            case "list_item_open" if token.info:
                lists[-1].append(token)
            case "ordered_list_close":
                items = lists.pop()
                numbers = [int(item.info) for item in items]
                if len(set(numbers)) > 1 and numbers != list(range(numbers[0], numbers[0] + len(numbers))):
                    for item, number in zip(items, numbers, strict=True):
                        item.attrSet("value", str(number))


def order_titles(state: StateCore) -> None:
    """Write out characters in titles of links that reorder them."""
    for block in state.tokens:
        for token in block.children or ():
            if title := token.attrGet("title"):
                token.attrSet("title", in_order(str(title)))


def accepts_address(address: str) -> bool:
    """Return True if the sanitiser keeps a link to `address`. Other links are shown as they were written."""
    link = f'<a href="{html.escape(address)}">'
    return "href=" in nh3.clean(link, tags={"a"}, attributes={"a": {"href"}}, url_schemes=set(SCHEMES))


def hiding_nothing(markdown: MarkdownIt) -> MarkdownIt:
    """Return `markdown` with the rules changed that hide text of a source."""
    markdown.disable("reference")
    markdown.inline.ruler.at("escape", escape_in_sight)
    markdown.inline.ruler.at("emphasis", literal_emphasis)
    markdown.core.ruler.push("number_items", number_items)
    markdown.core.ruler.push("order_titles", order_titles)
    markdown.validateLink = accepts_address  # type: ignore[method-assign, assignment]
    return markdown


def shows_all(tokens: Sequence[Token], source: str) -> bool:
    """Return True if the laid out `tokens` show every letter, digit and sign of `source` that is not Markdown's.

    Linear in it.
    """
    return _letters("\n".join(_shown(tokens))) == _letters(source)


def _letters(text: str) -> str:
    # Code shows an entity as it is written, running text its character: both are compared as the character.
    for _ in range(_DEEPEST):
        text = unquote(html.unescape(text), errors="replace")
    return "".join(_SEEN.findall(text))


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    address, has_words = "", False
    for token in tokens:
        match token.type:
            case "inline":
                yield "".join(_shown(token.children or ()))
            case "list_item_open":
                yield token.info
            case "fence":
                yield f"{token.info} {token.content}"
            case "link_open":
                # Address and title are seen on the link. An address that is its own text stands in the source once.
                named = [normalizeLinkText(str(token.attrGet("href") or "")), str(token.attrGet("title") or "")]
                address, has_words = "" if token.markup == "autolink" else "\n".join(named), False
            case "link_close":
                # A link without words cannot be pointed at.
                yield f"\n{address}\n" if has_words else ""
            case _:
                has_words = has_words or bool(HIDDEN.sub("", token.content).strip())
                yield token.content
