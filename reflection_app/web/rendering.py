"""Text of models, made fit for a page: Markdown without HTML, then sanitised; code highlighted with CSS classes."""

import json
import re
from collections.abc import MutableMapping, Sequence
from functools import lru_cache
from typing import Any

import nh3
from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.renderer import RendererHTML
from markdown_it.token import Token
from pygments import highlight
from pygments.formatters import HtmlFormatter
from pygments.lexers import find_lexer_class_by_name

# Longer texts are shown as they are: laying them out would cost seconds.
LONGEST_LAID_OUT = 60_000
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
ATTRIBUTES = {"a": {"href", "title"}, "span": {"class"}, "pre": {"class", "tabindex"}, "ol": {"start"}}
OUR_CLASS = re.compile(r"[a-z][a-z0-9]{0,2}|code")
# TypeScript's own lexer is one of the slow ones.
NEAR_ENOUGH = {"typescript": "javascript", "ts": "javascript"}


def _heading(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, _env: MutableMapping[str, Any]
) -> str:
    # One level for all: a model's headings must not disturb the outline of the page around them.
    return "<h3>" if tokens[index].nesting == 1 else "</h3>\n"


def _fence(
    _self: RendererHTML, tokens: Sequence[Token], index: int, _options: Any, env: MutableMapping[str, Any]
) -> str:
    token = tokens[index]
    language = token.info.strip().split(maxsplit=1)[0] if token.info.strip() else ""
    env["coloured"] = env.get("coloured", 0) + len(token.content)
    return _coloured(token.content, language=language if env["coloured"] <= LONGEST_COLOURED else "")


def _markdown() -> MarkdownIt:
    # Without images: they would only be requests to somewhere else, which the CSP forbids anyway.
    reader = MarkdownIt("commonmark", {"html": False, "breaks": True})
    reader.enable(["table", "strikethrough"]).disable("image")
    for rule in ("heading_open", "heading_close"):
        reader.add_render_rule(rule, _heading)
    for rule in ("fence", "code_block"):
        reader.add_render_rule(rule, _fence)
    return reader


MARKDOWN = _markdown()


def _class_of_ours(_tag: str, attribute: str, value: str) -> str | None:
    if attribute != "class":
        return value
    return value if all(OUR_CLASS.fullmatch(name) for name in value.split()) else None


def sanitised(html: str) -> SafeString:
    """`html` with nothing left in it that could act, load or restyle."""
    clean = nh3.clean(
        html,
        tags=set(TAGS),
        attributes=ATTRIBUTES,
        attribute_filter=_class_of_ours,
        url_schemes={"http", "https", "mailto"},
        link_rel="noopener noreferrer nofollow ugc",
    )
    return mark_safe(clean)  # noqa: S308 - sanitised one line above


def _coloured(code: str, *, language: str) -> str:
    """The code, with its words coloured where the language is one of those that are known to be quick."""
    language = NEAR_ENOUGH.get(language.lower(), language.lower())
    if language not in COLOURED:
        return render_plain(code)
    inside = highlight(code, find_lexer_class_by_name(language)(stripnl=False), HtmlFormatter(nowrap=True))
    return f'<pre class="code" tabindex="0"><code>{inside}</code></pre>'


@lru_cache(maxsize=512)
def render_markdown(text: str) -> SafeString:
    """A model's text laid out, safe to put into a page."""
    if len(text) > LONGEST_LAID_OUT:
        return render_plain(text)
    return sanitised(MARKDOWN.render(text))


@lru_cache(maxsize=512)
def render_code(code: str, *, language: str = "python") -> SafeString:
    """Code with its words coloured, safe to put into a page."""
    return render_plain(code) if len(code) > LONGEST_COLOURED else sanitised(_coloured(code, language=language))


def render_plain(text: str) -> SafeString:
    return mark_safe(f'<pre class="code" tabindex="0"><code>{escape(text)}</code></pre>')  # noqa: S308 - escaped


def render_answer(content: str, *, is_code: bool) -> SafeString:
    """An attempt's answer. Bare JSON is shown as code, and so is what should be code and has no fence around it."""
    if _is_json(content):
        return render_code(content, language="json")
    if is_code and "```" not in content and "~~~" not in content:
        return render_code(content)
    return render_markdown(content)


def _is_json(content: str) -> bool:
    """Whether it is an object or an array and nothing else. Markdown would take the indentation away."""
    if len(content) > LONGEST_LAID_OUT or not content.lstrip().startswith(("{", "[")):
        return False
    try:
        json.loads(content)
    except (ValueError, RecursionError):
        return False
    return True
