"""Reasoning in five headed parts: what a model is asked for, and the parts read out of its answer.

Models write headings in many ways; `headings_in` says what is taken for one. Those that reason in a layout of their
own are read by reasoning.py.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from enum import IntEnum

from reflection_app.loops.lengths import lines_of
from reflection_app.loops.prompts import prompt
from reflection_app.loops.reasoning import as_written, blocks_in, object_of, reasoned, steps_in, without_thoughts
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Message, Value, user, with_last

# Finding the headings of the five parts of a chain of thought, in every way that models write them.
#
# Every line is looked at once and only its beginning, so that the time is linear in the length of the text.

PARTS = ("understand", "analyze", "plan", "execute", "verify")
# A heading with its decoration is shorter; what comes after it on the same line does not matter here.
LONGEST_LOOKED_AT = 160
MOST_WORDS_BESIDE = 6

# The five words of the prompt, in the languages that models answer in.
_WORDS = {
    "understand": r"understand(?:ing)?|restate(?:ment)?|comprender|comprensión|entender|comprendre|compréhension"
    r"|verstehen|verständnis|compreender|compreensão|comprendere|comprensione|понимание|понять",
    "analyze": r"analy[sz]e|analy[sz]ing|analysis|analizar|análisis|analyser|analysieren|analisar|análise|analizzare"
    r"|analisi|анализ",
    "plan": r"plan(?:ning)?|planificar|planificación|planifier|planification|planen|planung|planejar|planejamento"
    r"|plano|pianificare|piano|план|планирование",
    "execute": r"execut(?:e|ing|ion)|implement(?:ing|ation)?|ejecutar|ejecución|exécuter|exécution|ausführen"
    r"|ausführung|umsetzung|executar|execução|eseguire|esecuzione|выполнение|исполнение",
    "verify": r"verify(?:ing)?|verification|validat(?:e|ing|ion)|verificar|verificación|verificação|vérifier"
    r"|vérification|überprüfen|überprüfung|prüfen|verificare|verifica|проверка",
}
# Written without spaces: what follows may be a letter of the same word.
_WORDS_WITHOUT_SPACES = {
    "understand": "理解|이해",
    "analyze": "分析|분석",
    "plan": "规划|計[画劃]|规劃|規劃|计划|계획",
    "execute": "执行|執行|实施|實施|実行|실행",
    "verify": "验证|驗證|检验|檢驗|検証|검증",
}
_NAMES = re.compile(
    "|".join(rf"(?P<{part}>{words})(?![^\W_]|['’])" for part, words in _WORDS.items())
    + "".join(f"|(?P<{part}_zh>{words})" for part, words in _WORDS_WITHOUT_SPACES.items()),
    re.IGNORECASE,
)
_CHINESE_DIGITS = "一二三四五六七八九十"
# Whatever stands before the number or the name: marks of lists, quotes and emphasis, emoji, an opening bracket.
_MARKS = re.compile(r"(?:[^\w(（]|[_①-⑳➊-➓ⅰ-ⅻⅠ-Ⅻ]|[0-9]\ufe0f?\u20e3)*+")
_STEP = re.compile(
    r"(?:step|part|phase|stage)\s{0,3}([0-9]{1,2}|[ivx]{1,4}|one|two|three|four|five)\b"
    rf"|第([{_CHINESE_DIGITS}0-9]{{1,2}})[步部阶][分段]?|步骤\s?([{_CHINESE_DIGITS}0-9]{{1,2}})",
    re.IGNORECASE,
)
_NUMBER = re.compile(rf"[(（]?([0-9]{{1,2}}|[{_CHINESE_DIGITS}]|[ivxIVX]{{1,4}}(?=[.):]))\s?[.)）、:：．]")
# Headings of pages. Where a tag of the part's own name stands, it is a block.
_OPENS_HEADING = re.compile(r"[ \t]*<(?:h[1-6]|b|strong|summary)>", re.IGNORECASE)
_CLOSES_HEADING = re.compile(r"(?<![ \t])[ \t]*+</(?:h[1-6]|b|strong|summary)>", re.IGNORECASE)
_FENCE = re.compile(r"[ \t]*(`{3,}|~{3,})")
_UNDERLINE = re.compile(r"[ ]{0,3}(?:=+|-+)[ \t]*$")
_COLONS = ":：-–—→⇒"
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
    of_page = _OPENS_HEADING.match(start)
    marks = _MARKS.match(start, of_page.end() if of_page else 0)
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
    rest = line[name.end() :]
    if of_page:
        rest = _CLOSES_HEADING.sub("", rest, count=1)
    if of_page or before.lstrip().startswith(("#", "==", "[", "【")):
        style = Style.ATX
    elif underlined:
        style = Style.UNDERLINED
    elif "*" in before.lstrip("* ") or before.lstrip("-+ ").startswith(("*", "__")):
        style = Style.BOLD
    else:
        style = Style.STEP if step else Style.NUMBERED if numbered else Style.PLAIN
    text = rest.lstrip("*_ \t#)）】]=")
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
    """The five parts of an answer; None where the answer has no such part.

    `reasoning` is what stands under none of them, step by step; `final` the answer where it has none of the five.
    `is_within`: reasoning and answer are of one piece, which may be just what was asked for.
    """

    understand: str | None = None
    analyze: str | None = None
    plan: str | None = None
    execute: str | None = None
    verify: str | None = None
    reasoning: tuple[str, ...] = ()
    final: str | None = None
    is_within: bool = False

    @property
    def parts(self) -> dict[str, str | None]:
        """The five, in their order; empty where the answer has none of them."""
        parts = self.model_dump(include=set(PARTS))
        return {name: parts[name] for name in PARTS} if any(part is not None for part in parts.values()) else {}

    @property
    def steps(self) -> tuple[str, ...]:
        """All of the reasoning in its order: thoughts before the parts, and the parts that are not the work."""
        told = (part for name, part in self.parts.items() if name != "execute")
        return (*self.reasoning, *filter(None, told))

    @property
    def answer(self) -> str:
        """The work; empty where no part of the answer is it for certain, so that all of it is."""
        return self.execute or self.final or ""


def asking_for_parts(messages: tuple[Message, ...]) -> tuple[Message, ...]:
    """`messages` with the wish for five parts at the end of the last one."""
    wish = prompt("chain_of_thought")
    if not messages or messages[-1].role != "user":
        return (*messages, user(wish))
    return with_last(messages, f"{messages[-1].content}\n\n{wish}")


def parse_chain_of_thought(answer: str, *, beside: str = "") -> ChainOfThought | None:
    """What `answer` is made of, or None where nothing tells its reasoning from the rest.

    A part that stands twice is put together. What was thought between tags is no part, whatever its headings; nor is
    what the provider told of it `beside` the answer.
    """
    text = storable(answer)
    # <analysis> is a thought of its own, and one of the five among the others.
    among_others = frozenset({"analysis"}) if len(_tagged(text)) > 2 else frozenset()
    thoughts, rest = without_thoughts(text, but=among_others)
    thoughts = (*filter(str.strip, (storable(beside),)), *thoughts)
    parts = _headed(rest) or _tagged(rest) or _keyed(rest)
    if parts:
        told = tuple(step for thought in thoughts for step in steps_in(thought))
        return ChainOfThought(**parts, reasoning=told)
    found = reasoned(rest, thoughts=thoughts)
    return ChainOfThought(reasoning=found.reasoning, final=found.answer, is_within=found.is_within) if found else None


def _headed(text: str) -> dict[str, str]:
    lines = lines_of(text)
    headings = headings_in(lines)
    ends = [heading.line for heading in headings[1:]] + [len(lines)]
    found: dict[str, list[str]] = {}
    for heading, end in zip(headings, ends, strict=bool(headings)):
        body = [heading.rest, *lines[heading.line + heading.height : end]]
        found.setdefault(heading.part, []).append("\n".join(body).strip())
    return {part: "\n\n".join(filter(None, texts)) for part, texts in found.items()}


def _tagged(text: str) -> dict[str, str]:
    """The parts in tags of their names, where there are several: one alone may be part of the work."""
    found: dict[str, list[str]] = {}
    for block in blocks_in(text, is_wanted=lambda name: _part_named(name) != ""):
        found.setdefault(_part_named(block.name), []).append(block.inside)
    return {part: "\n\n".join(filter(None, texts)) for part, texts in found.items()} if len(found) > 1 else {}


def _keyed(text: str) -> dict[str, str]:
    """The parts as fields of one object, where there are several."""
    found = {_part_named(name): as_written(value) for name, value in (object_of(text) or {}).items()}
    found.pop("", None)
    return found if len(found) > 1 else {}


def _part_named(name: str) -> str:
    matched = _NAMES.fullmatch(name.strip())
    return str(matched.lastgroup).removesuffix("_zh") if matched else ""


def work_in(answer: str) -> str:
    """The part of a chain of thought that holds the work, or all of an answer of which no part is it for certain."""
    found = parse_chain_of_thought(answer)
    if found is not None and found.is_within:
        return without_thoughts(storable(answer))[1]
    return answer if found is None else found.answer or answer
