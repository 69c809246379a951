"""Chain of thought in five headed parts: the prompt for it and the parser.

`headings_in` defines what counts as a heading. Reasoning comes from the provider's field or from `<think>`.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from pydantic import ConfigDict

from reflection_app.loops.lengths import lines_of
from reflection_app.loops.prompts import prompt
from reflection_app.loops.storable import storable
from reflection_app.loops.thinking import split_thinking
from reflection_app.loops.values import Message, Value, user, with_last

# Each line is read once, and only its beginning, so that time is linear in the length of the text.

PARTS = ("understand", "analyze", "plan", "execute", "verify")
# Longer than any decorated heading. Later text on the line is irrelevant here.
LONGEST_HEADING = 160
MOST_WORDS_BESIDE = 6

_ENGLISH = {
    "understand": "understand(?:ing)?",
    "analyze": "analy[sz](?:e|ing|is)",
    "plan": "plan(?:ning)?",
    "execute": "execut(?:e|ing|ion)",
    "verify": "verify(?:ing)?|verification",
}
# Chinese has no spaces between words, so no word boundary is required after a name.
_CHINESE = {
    "understand": "理解",
    "analyze": "分析",
    "plan": "规划|規劃|计划|計劃",
    "execute": "执行|執行",
    "verify": "验证|驗證",
}
_NAMES = "|".join(rf"(?P<{part}>(?:{_ENGLISH[part]})(?![^\W_]|['’])|{_CHINESE[part]})" for part in PARTS)
_CHINESE_DIGITS = "一二三四五"
_NUMBER = rf"(?:[1-5][.)、．]|[{_CHINESE_DIGITS}]、)[ \t]*+"
_HEADING = re.compile(
    rf" {{0,3}}(?P<hashes>#{{1,6}}[ \t]*+)?(?:[-*][ \t]++)?(?P<number>{_NUMBER})?(?P<mark>\*\*|__)?(?:{_NUMBER})?"
    rf"(?:{_NAMES})",
    re.IGNORECASE,
)
# End of a heading that holds only the name. Text of the part may follow a colon or a dash.
_ENDS = re.compile(r"[*_# \t]*+(?:[:：]|[-–—](?=[ \t]|\Z)|\Z)(?:\*\*|__)?[ \t]*+")
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")


class Style(IntEnum):
    """Markup of a heading, the most reliable last."""

    NUMBERED = 1
    BOLD = 2
    ATX = 3


@dataclass(frozen=True)
class Heading:
    """A heading of `part` on line `line`; `rest` is text that begins on the same line."""

    part: str
    line: int
    style: Style
    rest: str


def headings_in(lines: Sequence[str]) -> list[Heading]:
    """Return the headings of parts in `lines`: Markdown, bold or numbered, in English or Chinese.

    Lines in code fences are ignored. Only the style that marks the most parts counts in an answer. A list inside the
    plan may have an item that begins with "Verify".
    """
    found: list[Heading] = []
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence) and not line.strip(" \t`~"):
            fence = ""
        elif not fence and (heading := _heading(line, number=number)):
            found.append(heading)
    parts_by_style: dict[Style, set[str]] = {}
    for heading in found:
        parts_by_style.setdefault(heading.style, set()).add(heading.part)
    own = max(parts_by_style, key=lambda style: (len(parts_by_style[style]), style), default=None)
    return [heading for heading in found if heading.style is own]


def _heading(line: str, *, number: int) -> Heading | None:
    found = _HEADING.match(line[:LONGEST_HEADING])
    if found is None:
        return None
    part, counted = str(found.lastgroup), found["number"]
    if found["hashes"]:
        style = Style.ATX
    elif found["mark"]:
        style = Style.BOLD
    elif counted and counted[0] in {str(PARTS.index(part) + 1), _CHINESE_DIGITS[PARTS.index(part)]}:
        # "1. Verify it" is a list item; "5. Verify it" is the heading of the fifth part.
        style = Style.NUMBERED
    else:
        return None
    rest = line[found.end() :]
    if (end := _ENDS.match(rest)) is not None:
        return Heading(part, number, style, rest[end.end() :])
    return Heading(part, number, style, "") if _is_title(rest, mark=found["mark"]) else None


def _is_title(rest: str, *, mark: str | None) -> bool:
    """Return True if what follows the name belongs to a title, such as "Plan the approach", and not to a sentence."""
    title = rest[:LONGEST_HEADING].rstrip("#* _:：")
    return (
        len(rest) < LONGEST_HEADING
        and len(title.split()) <= MOST_WORDS_BESIDE
        and not title.endswith((".", "。", "，", ","))
        and (mark is None or (mark not in title and rest.rstrip(" \t#:：").endswith(mark)))
    )


class ChainOfThought(Value):
    """The five parts of an answer; a missing part is None.

    `reasoning` holds the steps outside of the parts. `final` is the answer if it has none of the five parts.
    """

    # Stored values may contain fields of earlier versions.
    model_config = ConfigDict(extra="ignore")

    understand: str | None = None
    analyze: str | None = None
    plan: str | None = None
    execute: str | None = None
    verify: str | None = None
    reasoning: tuple[str, ...] = ()
    final: str | None = None

    @property
    def parts(self) -> dict[str, str | None]:
        """The five parts in order, or an empty dict if the answer has none."""
        parts = self.model_dump(include=set(PARTS))
        return {name: parts[name] for name in PARTS} if any(part is not None for part in parts.values()) else {}

    @property
    def steps(self) -> tuple[str, ...]:
        """All reasoning in order: thoughts before the parts, then every part except `execute`."""
        told = (part for name, part in self.parts.items() if name != "execute")
        return (*self.reasoning, *filter(None, told))

    @property
    def answer(self) -> str:
        """The work, or "" if no part is clearly the work. Callers then use the whole answer."""
        return self.execute or self.final or ""


def asking_for_parts(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """Return `messages` with a request for five parts at the end of the last one."""
    wish = prompt("chain_of_thought")
    if not messages or messages[-1].role != "user":
        return (*messages, user(wish))
    return with_last(messages, f"{messages[-1].content}\n\n{wish}")


def parse_chain_of_thought(answer: str, *, beside: str = "") -> ChainOfThought | None:
    """Split `answer` into its parts. Return None if its reasoning cannot be separated.

    Texts of a repeated part are joined. Headings inside a thought are ignored. `beside` is the provider's reasoning
    field.
    """
    text = storable(answer)
    thought, rest = split_thinking(text)
    if not rest:
        thought, rest = "", text
    reasoning = (*_steps_in(storable(beside)), *_steps_in(thought))
    if parts := _headed(rest):
        return ChainOfThought(**parts, reasoning=reasoning)
    return ChainOfThought(reasoning=reasoning, final=rest.strip()) if reasoning else None


def _headed(text: str) -> dict[str, str]:
    lines = lines_of(text)
    headings = headings_in(lines)
    ends = [heading.line for heading in headings[1:]] + [len(lines)]
    found: dict[str, list[str]] = {}
    for heading, end in zip(headings, ends, strict=bool(headings)):
        body = [heading.rest, *lines[heading.line + 1 : end]]
        found.setdefault(heading.part, []).append("\n".join(body).strip())
    return {part: "\n\n".join(filter(None, texts)) for part, texts in found.items()}


_EMPTY_LINES = re.compile(r"\n\s*\n")
MOST_STEPS = 100


def _steps_in(thought: str) -> tuple[str, ...]:
    """Return the paragraphs of a thought, at most MOST_STEPS; the last one holds the rest."""
    return tuple(filter(None, map(str.strip, _EMPTY_LINES.split(thought, maxsplit=MOST_STEPS - 1))))


def work_in(answer: str) -> str:
    """Return the part of `answer` that holds the work, or all of it if no part clearly does."""
    found = parse_chain_of_thought(answer)
    return (found and found.answer) or answer
