"""Text of models on a page in which each piece says where in the raw text it stands: `<span data-at="12">`.

What a reader selects on the page, laid out as it may be, is so found in the raw text, and a marked passage of the raw
text on the page. `data-at` is counted in Unicode code points. A piece that is written in another way than in the raw
text (an entity, a hidden character) is one whole, and `data-to` says where it ends.
"""

import html
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import Any

from django.utils.html import escape
from django.utils.safestring import SafeString, mark_safe
from markdown_it import MarkdownIt
from markdown_it.helpers import parseLinkDestination, parseLinkTitle
from markdown_it.token import Token

from reflection_app.loops.hidden_characters import HIDDEN, REORDERING, in_order, revealed
from reflection_app.loops.marks import find_quote
from reflection_app.web.hidden_text import hiding_nothing, shows_all
from reflection_app.web.page_budget import in_budget
from reflection_app.web.rendering import (
    ATTRIBUTES,
    LONGEST_COLOURED,
    LONGEST_LAID_OUT,
    TABLE_ENDS,
    as_written,
    bounded_table,
    caption,
    coloured_lines,
    heading,
    language_in,
    language_of,
    not_formatted,
    sanitised,
)

# Lines as Markdown and browsers count them.
LINE_END = re.compile(r"\r\n?|\n")
PLACED_ATTRIBUTES = {**ATTRIBUTES, "span": {"class", "data-at", "data-to"}}
# Runs of hidden characters that are written out each by itself; all after them is one whole.
MOST_HIDDEN_RUNS = 2_000
_HIDDEN_RUN = re.compile(f"(?:{HIDDEN.pattern})+")
_REORDERING_RUN = re.compile(f"(?:{REORDERING.pattern})+")


def placed_answer(content: str, *, is_code: bool, at: int = 0) -> SafeString:
    """The same as `render_answer`, in pieces with their places. `at` is where `content` begins in the raw text."""
    language = language_of(content, is_code=is_code)
    if language:
        return placed_code(content, language=language, at=at)
    if len(content) > LONGEST_LAID_OUT:
        return in_code_box(placed_text(content, at=at, reveals=False))
    shown = in_budget(len(content), lambda: _placed_markdown(content, at))
    return not_formatted(in_code_box(placed_text(content, at=at, reveals=False))) if shown is None else shown


def placed_text(text: str, *, at: int = 0, reveals: bool = True) -> SafeString:
    """The raw text with characters that reorder it written out, and where it `reveals`, all hidden ones."""
    runs = (_HIDDEN_RUN if reveals else _REORDERING_RUN).finditer(text)
    parts: list[str] = []
    last = 0
    for count, run in enumerate(runs, start=1):
        parts.append(_piece(text[last : run.start()], at + last))
        last = run.end()
        if count == MOST_HIDDEN_RUNS:
            last = len(text)
        parts.append(_whole(revealed(text[run.start() : last]), at + run.start(), at + last))
        if last == len(text):
            break
    parts.append(_piece(text[last:], at + last))
    return mark_safe("".join(parts))  # noqa: S308 - _piece and _whole escape


def in_code_box(inside: str) -> SafeString:
    return mark_safe(f'<pre class="code" tabindex="0"><code>{inside}</code></pre>')  # noqa: S308 - escaped before


def placed_code(code: str, *, language: str = "python", at: int = 0) -> SafeString:
    """The same as `render_code`, in lines with their places."""
    is_colored = len(code) <= LONGEST_COLOURED and not REORDERING.search(code)
    if is_colored and (shown := in_budget(len(code), lambda: _placed_code(code, language, at))):
        return shown
    return in_code_box(placed_text(code, at=at, reveals=False))


@lru_cache(maxsize=64)
def _placed_code(code: str, language: str, at: int) -> SafeString:
    coloured = coloured_lines(LINE_END.sub("\n", code), language=language)
    starts = _line_starts(code)
    if coloured is None or len(coloured) > len(starts):
        return in_code_box(placed_text(code, at=at, reveals=False))
    lines = (f'<span data-at="{at + start}">{line}\n</span>' for line, start in zip(coloured, starts, strict=False))
    return sanitised(in_code_box("".join(lines)), attributes=PLACED_ATTRIBUTES)


def _piece(text: str, at: int) -> str:
    return f'<span data-at="{at}">{_escaped(text)}</span>' if text else ""


def _whole(text: str, at: int, to: int) -> str:
    return f'<span data-at="{at}" data-to="{to}">{_escaped(text)}</span>'


def _escaped(text: str) -> str:
    # A browser reads a bare CR as a line feed, and CR LF as one character: places after it would be off.
    return escape(text).replace("\r", "&#13;")


def _line_starts(text: str) -> list[int]:
    return [0, *(end.end() for end in LINE_END.finditer(text))]


# Markdown. Blocks know their lines; within a line, what is shown is found from left to right.


def _text(_self: Any, tokens: Sequence[Token], index: int, _options: Any, _env: Any) -> str:
    token = tokens[index]
    at, to = token.meta.get("at"), token.meta.get("to")
    if at is None:
        return escape(in_order(token.content))
    return placed_text(token.content, at=at, reveals=False) if to is None else _whole(in_order(token.content), at, to)


def _code(self: Any, tokens: Sequence[Token], index: int, options: Any, env: Any) -> str:
    return f"<code>{_text(self, tokens, index, options, env)}</code>"


def _fence(_self: Any, tokens: Sequence[Token], index: int, _options: Any, env: Any) -> str:
    token = tokens[index]
    if not token.content:
        return caption(token.info) + in_code_box("")
    name = language_in(token.info)
    env["coloured"] = env.get("coloured", 0) + len(token.content)
    lines = token.content.removesuffix("\n").split("\n")
    coloured = coloured_lines(token.content, language=name, already=env["coloured"] - len(token.content))
    places = token.meta.get("lines", [None] * len(lines))
    if coloured is None or len(coloured) != len(lines) or REORDERING.search(token.content):
        plain = (_plain_line(line, at) for line, at in zip(lines, places, strict=True))
        return caption(token.info) + in_code_box("".join(plain))
    inside = "".join(_line(line, at) for line, at in zip(coloured, places, strict=True))
    return caption(token.info) + in_code_box(inside)


def _plain_line(line: str, at: int | None) -> str:
    return f"{escape(in_order(line))}\n" if at is None else placed_text(f"{line}\n", at=at, reveals=False)


def _line(line: str, at: int | None) -> str:
    return f"{line}\n" if at is None else f'<span data-at="{at}">{line}\n</span>'


# Text that is not joined keeps entities and escapes apart, which are longer in the raw text than on the page.
PLACED = hiding_nothing(MarkdownIt("commonmark", {"html": False, "breaks": True}))
PLACED.enable(["table", "strikethrough"]).disable(["image", "text_join"])
PLACED.block.ruler.at("table", bounded_table, TABLE_ENDS)
PLACED.add_render_rule("heading_open", heading)
PLACED.add_render_rule("heading_close", heading)
for rule, render in {
    "text": _text,
    "text_special": _text,
    "code_inline": _code,
    "fence": _fence,
    "code_block": _fence,
}.items():
    PLACED.add_render_rule(rule, render)


@lru_cache(maxsize=64)
def _placed_markdown(text: str, at: int) -> SafeString:
    env: dict[str, Any] = {}
    tokens = PLACED.parse(text, env)
    if not shows_all(tokens, text):
        return as_written(in_code_box(placed_text(text, at=at, reveals=False)))
    raw = RawLines(text, at)
    for token in tokens:
        if token.map is None:
            continue
        if token.type == "inline":
            _place_inline(token, raw)
        elif token.type in {"fence", "code_block"}:
            first = token.map[0] + (token.type == "fence")
            lines = token.content.removesuffix("\n").split("\n")
            token.meta["lines"] = [raw.place_of_end(first + number, line) for number, line in enumerate(lines)]
    return sanitised(PLACED.renderer.render(tokens, PLACED.options, env), attributes=PLACED_ATTRIBUTES)


class RawLines:
    """The lines of the raw text, and how far each was looked through: the cells of a table share one."""

    def __init__(self, text: str, at: int) -> None:
        self.at = at
        self.starts = _line_starts(text)
        ends = [end.start() for end in LINE_END.finditer(text)]
        self.lines = [text[start:end] for start, end in zip(self.starts, [*ends, len(text)], strict=True)]
        self.looked: dict[int, int] = {}

    def place_of(self, number: int, part: str) -> int | None:
        """Where the next `part` of the line begins in the raw text."""
        if not part or number >= len(self.lines):
            return None
        column = self.lines[number].find(part, self.looked.get(number, 0))
        if column < 0:
            return None
        self.looked[number] = column + len(part)
        return self.at + self.starts[number] + column

    def place_of_end(self, number: int, part: str) -> int | None:
        """Where `part`, which ends the line, begins: code stands behind the signs of quotes and lists."""
        if number >= len(self.lines) or not self.lines[number].endswith(part):
            return None
        return self.at + self.starts[number] + len(self.lines[number]) - len(part)


def _place_inline(token: Token, raw: RawLines) -> None:
    """Gives each child of a block's text its place."""
    assert token.map is not None
    content, first = token.content, token.map[0]
    # Where each line of the block's text begins in it, and where in the raw text.
    starts = [0, *(end.end() for end in re.finditer("\n", content))]
    places = [raw.place_of(first + number, line) for number, line in enumerate(content.split("\n"))]
    line = 0

    def place(offset: int) -> int | None:
        nonlocal line
        while line + 1 < len(starts) and starts[line + 1] <= offset:
            line += 1
        begins = places[line]
        return None if begins is None else begins + offset - starts[line]

    cursor = 0
    for child in token.children or ():
        match child.type:
            case "text" | "text_special":
                written = child.markup if child.type == "text_special" else child.content
                found = content.find(written, cursor) if written else -1
                if found < 0:
                    continue
                cursor = found + len(written)
                child.meta["at"] = place(found)
                if child.meta["at"] is not None and written != child.content:
                    child.meta["to"] = child.meta["at"] + len(written)
            case "code_inline":
                cursor = _place_code(child, content, cursor, place)
            case "softbreak" | "hardbreak":
                cursor = content.find("\n", cursor) + 1 or cursor
            case "link_close" if child.markup != "autolink":
                cursor = _after_link(content, cursor)
            case _ if child.markup and content.startswith(child.markup, cursor):
                cursor += len(child.markup)


def _place_code(child: Token, content: str, cursor: int, place: Any) -> int:
    """Places code between backticks, and returns where it ends. Its line ends are shown as spaces."""
    opens = content.find(child.markup, cursor)
    begins = opens + len(child.markup)
    inside = content[begins:].replace("\n", " ").find(child.content) if opens >= 0 else -1
    if inside < 0:
        return cursor
    begins += inside
    ends = begins + len(child.content)
    at = place(begins)
    if at is not None:
        child.meta["at"] = at
        if "\n" in content[begins:ends] and (last := place(ends - 1)) is not None:
            child.meta["to"] = last + 1
    closes = content.find(child.markup, ends)
    return closes + len(child.markup) if closes >= 0 else ends


def _after_link(content: str, cursor: int) -> int:
    """The place after the address of a link whose words end at `cursor`."""
    closes = content.find("]", cursor)
    if closes < 0:
        return cursor
    most, after = len(content), closes + 1
    if content.startswith("[", after):
        return content.find("]", after) + 1 or after
    if not content.startswith("(", after):
        return after
    address = parseLinkDestination(content, _after_space(content, after + 1), most)
    ends = _after_space(content, address.pos if address.ok else after + 1)
    title = parseLinkTitle(content, ends, most)
    ends = _after_space(content, title.pos if title.ok else ends)
    return ends + 1 if content.startswith(")", ends) else after


def _after_space(content: str, cursor: int) -> int:
    while cursor < len(content) and content[cursor] in " \t\n":
        cursor += 1
    return cursor


# Marked passages.

_TOKEN = re.compile(r'<(?:[^<>"]|"[^"]*")*+>|[^<]++')
_TAG = re.compile(r"</?([a-z0-9]+)")
_PLACE = re.compile(r' data-(at|to)="(\d+)"')
_VOID = frozenset({"br", "hr"})


@dataclass(frozen=True, slots=True)
class Passage:
    """A passage of the raw text to be highlighted; its number leads to `href`, and has the id `name`."""

    start: int
    end: int
    number: int
    label: str
    href: str = ""
    name: str = ""


def with_passages(placed: str, passages: Sequence[Passage], *, is_named: bool = True) -> SafeString:
    """The placed text with its passages in `<mark>`, each with its number before it; they may overlap.

    Where it is not `is_named`, no number is led to: the text stands on the page twice.
    """
    return Marker(passages, is_named=is_named).marked(placed)


# Where the next character of an element stands, None where that is not known, and where a whole one ends.
type Place = list[int | None]


def _walk(placed: str) -> Iterator[tuple[str, Place | None]]:
    """Each tag, and each text between tags with the place of the element that it is in; whoever reads it moves that."""
    open_at: list[Place] = []
    for found in _TOKEN.finditer(placed):
        token = found[0]
        if not token.startswith("<"):
            yield token, open_at[-1] if open_at else [None, None]
            continue
        tag = _TAG.match(token)
        if token.startswith("</") and open_at:
            open_at.pop()
        elif tag and tag[1] not in _VOID:
            places = {name: int(value) for name, value in _PLACE.findall(token)}
            inherited: Place = open_at[-1] if open_at else [None, None]
            own: Place = [places.get("at"), places.get("to")]
            open_at.append(own if "at" in places else inherited)
        yield token, None


class Marker:
    """Marks one text after another, and remembers which passages have their number already."""

    def __init__(self, passages: Sequence[Passage], *, is_named: bool) -> None:
        self.passages, self.is_named = sorted(passages, key=lambda one: (one.start, -one.end)), is_named
        self.edges = sorted({edge for one in passages for edge in (one.start, one.end)})
        self.numbered: set[int] = set()
        # How many links are open: there can be none within another.
        self.links = 0

    def marked(self, placed: str) -> SafeString:
        inside = "".join(self._tokens(placed)) if self.passages else placed
        return mark_safe(inside)  # noqa: S308 - what was escaped stays so

    def _tokens(self, placed: str) -> Iterator[str]:
        for part, place in _walk(placed):
            if part.startswith(("<a ", "<a>")):
                self.links += 1
            elif part.startswith("</a>"):
                self.links -= 1
            yield part if place is None else self._text(part, place)

    def _text(self, token: str, place: Place) -> str:
        at, to = place
        if at is None:
            return token
        if to is not None:
            return self._covered(token, at, to)
        # What was sanitised or escaped holds entities; each is one character.
        text = html.unescape(token) if "&" in token else token
        place[0] = end = at + len(text)
        inside = [edge for edge in self.edges if at < edge < end]
        if not inside and not self._over(at, end):
            return token
        cuts = pairwise([at, *inside, end])
        return "".join(self._covered(_escaped(text[start - at : stop - at]), start, stop) for start, stop in cuts)

    def _over(self, start: int, end: int) -> list[Passage]:
        return [one for one in self.passages if one.start < end and start < one.end]

    def _covered(self, inside: str, start: int, end: int) -> str:
        """One piece that lies within the same passages from its beginning to its end."""
        over = self._over(start, end)
        if not over or not inside:
            return inside
        new = [one for one in over if one.number not in self.numbered]
        self.numbered |= {one.number for one in new}
        numbers = "".join(self._number(one) for one in new)
        tone = " passage-many" if len(over) > 1 else ""
        return f'{numbers}<mark class="passage{tone}">{inside}</mark>'

    def _number(self, one: Passage) -> str:
        name = f' id="{one.name}"' if one.name and self.is_named else ""
        label = f' aria-label="{escape(one.label)}"'
        if not one.href or self.links:
            return f'<span class="passage-number" data-apart role="img"{name}{label}>{one.number}</span>'
        return f'<a class="passage-number" data-apart href="#{one.href}"{name}{label}>{one.number}</a>'


# Passages that were copied from the page, where signs of Markdown are not seen.


def find_shown(content: str, quote: str) -> list[tuple[int, int]]:
    """Where the text, laid out as Markdown, shows the words of `quote`, as places in the raw text; the first ones."""
    if len(content) > LONGEST_LAID_OUT:
        return []
    shown: list[str] = []
    places: list[tuple[int, int]] = []
    for token, place in _walk(_placed_markdown(content, 0)):
        if place is None:
            continue
        text = html.unescape(token)
        at, to = place
        shown.append(text)
        if at is None:
            # Between two pieces there is only white space.
            last = places[-1][1] if places else 0
            places += [(last, last)] * len(text)
        elif to is not None:
            places += [(at, to)] * len(text)
        else:
            places += [(at + number, at + number + 1) for number in range(len(text))]
            place[0] = at + len(text)
    found = find_quote("".join(shown), quote)
    return [(places[start][0], places[end - 1][1]) for start, end in found]
