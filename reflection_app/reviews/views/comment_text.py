"""Comments made fit for a page: Markdown as everywhere, with the mentions of members marked in the running text."""

from collections.abc import Iterator, Sequence
from functools import lru_cache

from django.utils.safestring import SafeString
from markdown_it.token import Token

from reflection_app.reviews.mentions import mentions_in
from reflection_app.web.rendering import LONGEST_LAID_OUT, MARKDOWN, render_plain, sanitised

# Let through by the sanitiser, and no class that the colours of code use.
MARK = "at"
# Laying out takes time with the square of these at worst: nobody writes so many, and a thread has many comments.
MOST_MARKS = {"[": 400, "|": 1_000}


@lru_cache(maxsize=512)
def render_comment(text: str, names: frozenset[str]) -> SafeString:
    """The comment laid out, safe to put into a page; `names` are the members that it may mention."""
    if len(text) > LONGEST_LAID_OUT or any(text.count(mark) > most for mark, most in MOST_MARKS.items()):
        return render_plain(text)
    env: dict[str, object] = {}
    tokens = MARKDOWN.parse(text, env)
    for token in tokens:
        if token.children:
            token.children = list(_marked(token.children, names))
    return sanitised(MARKDOWN.renderer.render(tokens, MARKDOWN.options, env))


def _marked(tokens: Sequence[Token], names: frozenset[str]) -> Iterator[Token]:
    for token in tokens:
        if token.type != "text":
            yield token
            continue
        at = 0
        for mention in mentions_in(token.content, names):
            yield _text(token.content[at : mention.start])
            yield Token("mention_open", "span", 1, attrs={"class": MARK})
            yield _text(token.content[mention.start : mention.end])
            yield Token("mention_close", "span", -1)
            at = mention.end
        yield _text(token.content[at:])


def _text(content: str) -> Token:
    return Token("text", "", 0, content=content)
