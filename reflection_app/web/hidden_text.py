"""Markdown whose page shows all letters and digits that its source holds: nothing is hidden from those who judge it.

Markdown drops link definitions, cells beyond a table's last column, quotes that are nested too deeply, and
the backslash of an escape. What can be shown is shown; a text of which a part would be dropped is shown as it was
written.
"""

import html
import re
from collections.abc import Iterator, Sequence
from urllib.parse import unquote

from markdown_it import MarkdownIt
from markdown_it.rules_inline import StateInline
from markdown_it.rules_inline.escape import escape as drop_backslash
from markdown_it.token import Token

# The backslash before these is part of a formula or a path more often than of Markdown.
KEPT_ESCAPES = frozenset("()[]{}\\$,;:!")
_SEEN = re.compile(r"[^\W_]+")


def escape_in_sight(state: StateInline, silent: bool) -> bool:
    """Markdown's rule for escapes, which shows the backslash of a formula: `\\(`, `\\[`, `\\\\`."""
    is_escape = drop_backslash(state, silent)
    if is_escape and not silent and state.tokens:
        token = state.tokens[-1]
        if token.type == "text_special" and token.content in KEPT_ESCAPES:
            token.content = token.markup
    return is_escape


def hiding_nothing(markdown: MarkdownIt) -> MarkdownIt:
    """Return `markdown` with the rules changed that hide text of a source."""
    markdown.disable("reference")
    markdown.inline.ruler.at("escape", escape_in_sight)
    return markdown


def shows_all(tokens: Sequence[Token], source: str) -> bool:
    """Return True if the laid out `tokens` show every letter and digit of `source`, in its order. Linear in it."""
    return _letters("".join(_shown(tokens))) == _letters(html.unescape(source))


def _letters(text: str) -> str:
    return "".join(_SEEN.findall(unquote(text, errors="replace")))


def _shown(tokens: Sequence[Token]) -> Iterator[str]:
    address = ""
    for token in tokens:
        match token.type:
            case "inline":
                yield from _shown(token.children or ())
            case "list_item_open":
                yield token.info
            case "fence":
                yield f"{token.info} {token.content}"
            case "link_open":
                # Address and title are seen on the link. An address that is its own text stands in the source once.
                address = "" if token.markup == "autolink" else " ".join(map(str, token.attrs.values()))
            case "link_close":
                yield address
            case _:
                yield token.content
