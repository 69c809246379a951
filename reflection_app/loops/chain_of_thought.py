"""Reasoning in five headed parts: what a model is asked for, and the parts read out of its answer.

Models write headings in many ways; `headings_in` says what is taken for one.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from reflection_app.loops.prompts import prompt
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Message, Value, user, with_last

# Finding the headings of the five parts of a chain of thought, in every way that models write them.
#
# Every line is looked at once and only its beginning, so that the time is linear in the length of the text.

PARTS = ("understand", "analyze", "plan", "execute", "verify")
# A heading with its decoration is shorter; what comes after it on the same line does not matter here.
LONGEST_LOOKED_AT = 160
MOST_WORDS_BESIDE = 6

_NAMES = re.compile(
    r"(?P<understand>understand(?:ing)?|restate(?:ment)?)(?![0-9A-Za-z'’])"
    r"|(?P<analyze>analy[sz]e|analy[sz]ing|analysis)(?![0-9A-Za-z'’])"
    r"|(?P<plan>plan(?:ning)?)(?![0-9A-Za-z'’])"
    r"|(?P<execute>execut(?:e|ing|ion)|implement(?:ing|ation)?)(?![0-9A-Za-z'’])"
    r"|(?P<verify>verify(?:ing)?|verification|validat(?:e|ing|ion))(?![0-9A-Za-z'’])"
    r"|(?P<understand_zh>理解)|(?P<analyze_zh>分析)|(?P<plan_zh>规划|计划)|(?P<execute_zh>执行|实施)"
    r"|(?P<verify_zh>验证|检验)",
    re.IGNORECASE,
)
_CHINESE_DIGITS = "一二三四五六七八九十"
# Whatever stands before the number or the name: marks of lists, quotes and emphasis, emoji, an opening bracket.
_MARKS = re.compile(r"[^0-9A-Za-z\u4e00-\u9fff(（]*+")
_STEP = re.compile(
    rf"(?:step|part|phase)\s{{0,3}}([0-9]{{1,2}}|[ivx]{{1,4}})\b|第([{_CHINESE_DIGITS}0-9]{{1,2}})[步部阶][分段]?"
    rf"|步骤\s?([{_CHINESE_DIGITS}0-9]{{1,2}})",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"[(（]?([0-9]{{1,2}}|[{_CHINESE_DIGITS}]|[ivxIVX]{{1,4}}(?=[.):]))\s?[.)）、:：．]")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*$")
_COLONS = ":：-–—"
_ROMAN = ("i", "ii", "iii", "iv", "v")


class Style(IntEnum):
    """How a heading is marked, the surest last."""

    PLAIN = 0
    NUMBERED = 1
    STEP = 2
    BOLD = 3
    UNDERLINED = 4
    ATX = 5


@dataclass(frozen=True)
class Heading:
    """A heading of `part` on line `line`, `height` lines high; `rest` is text that begins on the same line.

    `is_exact`: it holds nothing but the name, before a colon or the end of the line.
    """

    part: str
    line: int
    style: Style
    rest: str
    is_exact: bool
    height: int = 1

    @property
    def is_sure(self) -> bool:
        return self.is_exact or self.style >= Style.BOLD


def headings_in(lines: Sequence[str]) -> list[Heading]:
    """The headings of parts among `lines`, those inside of code fences aside.

    The style that marks the most parts is the answer's own. A heading of another style counts only for a part that
    this style does not mark: a list inside the plan may well have an item that begins with "Verify".
    """
    found: list[Heading] = []
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip(" \t`~"):
            fence = ""
        elif not fence:
            below = lines[number + 1] if number + 1 < len(lines) else ""
            heading = _heading(line, below, number=number)
            found += [heading] if heading else []
    if not found:
        return []
    parts_by_style: dict[Style, set[str]] = {}
    for heading in found:
        parts_by_style.setdefault(heading.style, set()).add(heading.part)
    own = max(parts_by_style, key=lambda style: (len(parts_by_style[style]), style))
    marked = parts_by_style[own]
    return [one for one in found if one.style is own or (one.part not in marked and one.is_sure)]


def _heading(line: str, below: str, *, number: int) -> Heading | None:
    start = line[:LONGEST_LOOKED_AT]
    marks = _MARKS.match(start)
    assert marks is not None
    place, counted = marks.end(), None
    step = _STEP.match(start, place)
    numbered = step or _NUMBER.match(start, place)
    if numbered:
        counted = next(text for text in numbered.groups() if text)
        more = _MARKS.match(start, numbered.end())
        assert more is not None
        place = more.end()
    name = _NAMES.match(start, place)
    if name is None:
        return None
    part = str(name.lastgroup).removesuffix("_zh")
    underlined = bool(below) and _UNDERLINE.match(below[:LONGEST_LOOKED_AT]) is not None and not start[:1].isspace()
    before = start[:place]
    if before.lstrip().startswith("#"):
        style = Style.ATX
    elif underlined:
        style = Style.UNDERLINED
    elif "*" in before.lstrip("* ") or before.lstrip("-+ ").startswith(("*", "__")):
        style = Style.BOLD
    else:
        style = Style.STEP if step else Style.NUMBERED if numbered else Style.PLAIN
    rest = line[name.end() :]
    text = rest.lstrip("*_ \t#)）】")
    is_exact = not text or text[0] in ":：" or (text[0] in _COLONS and text[1:2] in {"", " ", text[0]})
    if not is_exact and not _is_title(rest, style=style, counted=counted, part=part):
        return None
    beside = text[1:].lstrip("*_ \t") if is_exact else ""
    return Heading(part, number, style, beside, is_exact, 2 if style is Style.UNDERLINED else 1)


def _is_title(rest: str, *, style: Style, counted: str | None, part: str) -> bool:
    """Whether what follows the name belongs to a title, such as "Plan the approach", and not to a sentence."""
    title = rest[:LONGEST_LOOKED_AT].rstrip("#* _:：")
    if (
        len(rest) >= LONGEST_LOOKED_AT
        or len(title.split()) > MOST_WORDS_BESIDE
        or title.endswith((".", "。", "，", ","))
    ):
        return False
    if style is Style.BOLD:
        return rest.rstrip().endswith(("*", "__", "*:", "_:", "*：")) or rest.rstrip(" :：").endswith(("*", "__"))
    if style is Style.NUMBERED and counted:
        # "1. Analyze the data" is an item of some list; "2. Analyze the problem" is the second part.
        if counted.isdecimal():
            position = int(counted) - 1
        elif counted.lower() in _ROMAN:
            position = _ROMAN.index(counted.lower())
        else:
            position = _CHINESE_DIGITS.find(counted)
        return position == PARTS.index(part)
    return style in {Style.ATX, Style.UNDERLINED, Style.STEP}


class ChainOfThought(Value):
    """The five parts of an answer; None where the answer has no such part."""

    understand: str | None = None
    analyze: str | None = None
    plan: str | None = None
    execute: str | None = None
    verify: str | None = None


def asking_for_parts(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` with the wish for five parts at the end of the last one."""
    wish = prompt("chain_of_thought")
    if not messages or messages[-1].role != "user":
        return (*messages, user(wish))
    return with_last(messages, f"{messages[-1].content}\n\n{wish}")


def parse_chain_of_thought(answer: str) -> ChainOfThought | None:
    """The parts of `answer`, or None where it has none of them. A part that stands twice is put together."""
    lines = storable(answer).splitlines()
    headings = headings_in(lines)
    if not headings:
        return None
    texts: dict[str, list[str]] = {part: [] for part in PARTS}
    ends = [heading.line for heading in headings[1:]] + [len(lines)]
    for heading, end in zip(headings, ends, strict=True):
        body = [heading.rest, *lines[heading.line + heading.height : end]]
        texts[heading.part].append("\n".join(body).strip())
    return ChainOfThought(
        **{part: "\n\n".join(text for text in found if text) if found else None for part, found in texts.items()}
    )


def work_in(answer: str) -> str:
    """The part of a chain of thought that holds the work, or all of an answer that has no such part."""
    parts = parse_chain_of_thought(answer)
    return parts.execute if parts is not None and parts.execute else answer
