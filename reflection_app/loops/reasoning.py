"""What of an answer is reasoning and what is the answer, in the layouts that models reason in.

Tags, channels, labelled lines, turns of thought and action, an object with both. Where nothing marks the answer for
certain, nothing is taken apart: all of the text is the answer. Every sign that is no mark is kept on one side or the
other, and time is linear in the length of the text.
"""

import json
import re
from bisect import bisect
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from reflection_app.loops.lengths import lines_of


@dataclass(frozen=True)
class Reasoned:
    """The reasoning, piece by piece, and the answer.

    `is_within`: both are fields of one object, or the answer is the last sentence of its reasoning. What was asked for
    may be all of it, then.
    """

    reasoning: tuple[str, ...]
    answer: str
    is_within: bool = False


# Tags around thoughts and around answers.

THOUGHT_TAGS = frozenset(
    {"think", "thinking", "thought", "thoughts", "reasoning", "rationale", "scratchpad", "analysis", "cot"}
    | {"chain_of_thought", "inner_monologue", "reflection", "begin_of_thought", "seed:think"}
)
ANSWER_TAGS = frozenset(
    {"answer", "final_answer", "final", "response", "output", "result", "solution", "begin_of_solution"}
)
_TAG = re.compile(
    r"<(?P<close>/?)(?P<name>[\w:-]{1,40})>|\[(?P<bclose>/?)(?P<bname>THINK(?:ING)?)\]"
    r"|[◁](?P<tclose>/?)(?P<tname>think)[▷]|<\|(?P<when>begin|end)(?P<of>_of_(?:thought|solution))\|>"
    r"|<\|(?P<pclose>/?)(?P<pname>\w{1,40})\|>"
)
_CHANNEL = re.compile(r"<\|channel\|>(\w{1,20})[^<>\n]{0,80}<\|message\|>")
_CHANNEL_MARKS = re.compile(r"<\|(?:end|return|call)\|>|<\|start\|>\w{0,20}")
_FENCE = re.compile(r"^[ \t]*(`{3,}|~{3,})", re.MULTILINE)
# What a page, a block of code or a terminal folds away before the answer.
_FOLDED_AWAY = re.compile(
    r"\A\s*(?:<details[^<>]{0,80}>\s*<summary>\s*(?:thoughts?|thinking|reasoning)[^<>]{0,40}</summary>(.*?)</details>"
    r"|```(?:thinking|thoughts?|reasoning)[ \t]*\n(.*?)\n```[ \t]*(?:\n|\Z)"
    r"|thinking\.\.\.[ \t]*\n(.*?)\n\.\.\.done thinking\.[ \t]*(?:\n|\Z))",
    re.DOTALL | re.IGNORECASE,
)


@dataclass(frozen=True)
class Block:
    """What stands between a tag and its end, from `begins` to `ends` with the tags."""

    name: str
    begins: int
    ends: int
    inside: str


def blocks_in(text: str, *, is_wanted: Callable[[str], bool]) -> list[Block]:
    """The closed blocks of wanted tags that begin a line, outermost ones alone and none in a fence of code."""
    tags = [(found, *_read_tag(found)) for found in _TAG.finditer(text)]
    fences = _closed_fences(text) if tags else []
    ignored: set[str] = set()
    while True:
        blocks: list[Block] = []
        opened: tuple[str, re.Match[str]] | None = None
        for found, name, closes in tags:
            if opened is not None:
                if closes and name == opened[0]:
                    inside = text[opened[1].end() : found.start()].strip()
                    blocks.append(Block(name, opened[1].start(), found.end(), inside))
                    opened = None
            elif not closes and name not in ignored and is_wanted(name):
                last = bisect(fences, (found.start(), 0)) - 1
                if not (last >= 0 and found.start() < fences[last][1]) and _begins_line(text, found, blocks):
                    opened = name, found
        if opened is None:
            return blocks
        # One that is never closed is none, and must not hide those that are.
        ignored.add(opened[0])


def _read_tag(found: re.Match[str]) -> tuple[str, bool]:
    if found["of"]:
        return f"begin{found['of']}", found["when"] == "end"
    name = found["name"] or found["bname"] or found["tname"] or found["pname"]
    return name.lower(), bool(found["close"] or found["bclose"] or found["tclose"] or found["pclose"])


def _begins_line(text: str, found: re.Match[str], before: Sequence[Block]) -> bool:
    """Whether only spaces or another block stand before it on its line: elsewhere a tag is spoken of."""
    line = max(text.rfind("\n", 0, found.start()) + 1, before[-1].ends if before else 0)
    return not text[line : found.start()].strip(" \t>")


def _closed_fences(text: str) -> list[tuple[int, int]]:
    fences, opened = [], None
    for found in _FENCE.finditer(text):
        if opened is None:
            opened = found
        elif found[1][0] == opened[1][0] and len(found[1]) >= len(opened[1]):
            fences.append((opened.start(), found.end()))
            opened = None
    return fences


def without_thoughts(text: str, *, but: frozenset[str] = frozenset()) -> tuple[tuple[str, ...], str]:
    """The thoughts that tags or channels mark, and the rest; no thoughts where the rest would be nothing.

    Tags named in `but` are none of thoughts here.
    """
    channels = list(_CHANNEL.finditer(text))
    if channels and not text[: channels[0].start()].strip():
        said = {True: [""], False: [""]}
        ends = [found.start() for found in channels[1:]] + [len(text)]
        for found, end in zip(channels, ends, strict=True):
            said[found[1] == "final"].append(_CHANNEL_MARKS.sub("", text[found.end() : end]).strip())
        rest = "\n\n".join(filter(None, said[True]))
        return (tuple(filter(None, said[False])), rest) if rest else ((), text)
    if (folded := _FOLDED_AWAY.match(text)) is not None:
        inside, rest = next(filter(None, folded.groups()), "").strip(), text[folded.end() :].strip()
        return ((inside,), rest) if inside and rest else ((), text)
    names = THOUGHT_TAGS - but
    blocks = blocks_in(text, is_wanted=names.__contains__)
    if blocks:
        rest = _without(text, blocks)
        return (tuple(block.inside for block in blocks if block.inside), rest) if rest else ((), text)
    # Servers put the opening tag into the prompt, so that the answer has the closing one alone.
    tags = [(found, *_read_tag(found)) for found in _TAG.finditer(text)]
    of_thought = [(found, closes) for found, name, closes in tags if name in names]
    if len(of_thought) == 1 and of_thought[0][1]:
        found = of_thought[0][0]
        before, after = text[: found.start()].strip(), text[found.end() :].strip()
        if before and after:
            return (before,), after
    return (), text


def _without(text: str, blocks: Sequence[Block]) -> str:
    pieces, at = [], 0
    for block in blocks:
        pieces.append(text[at : block.begins].strip())
        at = block.ends
    pieces.append(text[at:].strip())
    return "\n\n".join(filter(None, pieces))


# Labels at the beginning of a line: `**Reasoning:** …`, `## Answer`, `思考：…`.

_MARKS = re.compile(r"(?:[^\w(（]|_)*+")
_REASONING_NAMES = (
    r"thoughts?(?: process)?|thinking(?: process)?|(?:my )?reasoning(?: process| steps)?|rationale|explanation"
    r"|chain[ -]of[ -]thought|scratchpad|思考(?:过程|過程)?|推理(?:过程|過程)?|思路(?:分析)?|分析(?:过程|過程)?|理由"
    r"|考え方|推論"
    r"|생각|추론|풀이|überlegung(?:en)?|begründung|gedankengang|lösungsweg|raisonnement|réflexion|razonamiento"
    r"|explicación|raciocínio|ragionamento|рассуждени[ея]|обоснование|размышления"
)
_ANSWER_NAMES = (
    r"(?:my |the )?(?:final |short )?answer|最[终終]答案|最[终終]回答|答案|回答|答え|정답|답변|최종 답변"
    r"|(?:endgültige )?antwort"
    r"|réponse(?: finale)?|respuesta(?: final)?|resposta(?: final)?|risposta(?: finale)?|(?:итоговый )?ответ"
)
# Work of any kind has parts of these names; they head the answer only where the reasoning before it is headed too.
_WEAK_NAMES = r"(?:final )?(?:solution|result|output|response|conclusion)|结论|結論|结果|結果|lösung|ergebnis|resultado"
_LABEL = re.compile(
    rf"(?:(?P<reasoning>{_REASONING_NAMES})|(?P<answer>{_ANSWER_NAMES})|(?P<weak>{_WEAK_NAMES}))(?!\w)", re.IGNORECASE
)
_DECORATED = ("#", "*", "_", "【", "[", "=", "「", "『", ">")
_AFTER_NAME = "*_ \t#)）】]」』=~"
_FINAL = re.compile(r"final|最[终終]|endgültig|finale|итогов|최종", re.IGNORECASE)
LONGEST_LOOKED_AT = 160
_HASHES = re.compile(r"^####[ \t]*(\S[^\n]{0,200})$")


@dataclass(frozen=True)
class _Label:
    kind: str
    line: int
    rest: str
    is_final: bool


def _labels(lines: Sequence[str]) -> Iterator[_Label]:
    fence = ""
    for number, line in enumerate(lines):
        mark = _FENCE.match(line)
        if mark and not fence:
            fence = mark[1]
        elif mark and mark[1][0] == fence[0] and len(mark[1]) >= len(fence):
            fence = ""
        elif not fence:
            start = line[:LONGEST_LOOKED_AT]
            marks = _MARKS.match(start)
            place = marks.end() if marks else 0
            name = _LABEL.match(start, place)
            if name is None:
                continue
            rest = line[name.end() :].lstrip(_AFTER_NAME)
            if rest[:1] in {":", "："}:
                rest = rest[1:].lstrip("*_ \t")
            elif rest[:1] in {"-", "–", "—"} and rest[1:2] == " ":
                rest = rest[2:]
            elif rest or not start.lstrip().startswith(_DECORATED):
                continue
            yield _Label(str(name.lastgroup), number, rest, bool(_FINAL.search(name[0])))


def _labelled(text: str, *, has_thoughts: bool) -> tuple[str, str] | None:
    """The reasoning and the answer that labels mark; None where it is not certain which of them is the answer."""
    lines = lines_of(text)
    labels = list(_labels(lines))
    is_headed = has_thoughts or any(label.kind == "reasoning" for label in labels)
    answers = [label for label in labels if label.kind == "answer"]
    if not answers and is_headed:
        answers = [label for label in labels if label.kind == "weak"]
    if len(answers) > 1:
        answers = [label for label in answers if label.is_final]
    if len(answers) != 1:
        return _behind_hashes(lines)
    [chosen] = answers
    after = [label.line for label in labels if label.line > chosen.line and label.kind == "reasoning"]
    ends = after[0] if after else len(lines)
    answer = "\n".join([chosen.rest, *lines[chosen.line + 1 : ends]]).strip()
    kept = {label.line: label.rest for label in labels if label.kind == "reasoning"}
    others = (*range(chosen.line), *range(ends, len(lines)))
    is_first = min(kept, default=None)
    told = [kept[at] if at in kept and at in {is_first, ends} else lines[at] for at in others]
    reasoning = "\n".join(told).strip()
    return (reasoning, answer) if answer and (reasoning or has_thoughts) else None


def _behind_hashes(lines: Sequence[str]) -> tuple[str, str] | None:
    """The answer on a last line of its own behind four hashes, where no other line is headed so."""
    said = [line for line in lines if line.strip()]
    if len(said) < 2 or any(line.lstrip().startswith("#") for line in said[:-1]):
        return None
    found = _HASHES.match(said[-1].strip())
    return ("\n".join(said[:-1]), found[1].strip()) if found else None


# An object with the reasoning and the answer as fields.

_REASONING_KEYS = re.compile(rf"{_REASONING_NAMES}|steps|analysis|chain of thought", re.IGNORECASE)
_ANSWER_KEYS = re.compile(rf"{_ANSWER_NAMES}|{_WEAK_NAMES}|final", re.IGNORECASE)
_OPENS_FENCED = re.compile(r"```(?:json)?[ \t]*+\r?\n", re.IGNORECASE)


def object_of(text: str) -> dict[str, Any] | None:
    """The object that the whole text is, by itself or in one fence; None where it is something else."""
    inside = text.strip()
    fenced = _OPENS_FENCED.match(inside)
    body, _, last = inside.rpartition("\n")
    if fenced and last.strip() == "```":
        inside = body[fenced.end() :].strip()
    if not inside.startswith("{"):
        return None
    try:
        value = json.loads(inside)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) else None


def as_written(value: Any) -> str:
    return value.strip() if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def _of_object(text: str) -> Reasoned | None:
    data = object_of(text)
    if data is None:
        return None
    keys = {name: name.replace("_", " ").replace("-", " ").strip() for name in data}
    answers = [name for name, key in keys.items() if _ANSWER_KEYS.fullmatch(key)]
    if len(answers) != 1 or not any(_REASONING_KEYS.fullmatch(key) for key in keys.values()):
        return None
    told: list[str] = []
    for name, value in data.items():
        if name != answers[0]:
            told += [as_written(item) for item in value] if isinstance(value, list) else steps_in(as_written(value))
    return Reasoned(tuple(filter(None, told)), as_written(data[answers[0]]), is_within=True)


# Reasoning, step by step.

_STEP = re.compile(
    r"^[ \t>*_#-]*(?:step\s?\d{1,3}\b|\d{1,3}[.)、．]\s|第[一二三四五六七八九十\d]{1,3}步"
    r"|步骤\s?[一二三四五六七八九十\d]{1,3}"
    r"|(?:thought|action|action input|observation)\s?\d{0,3}\s?[:：])",
    re.IGNORECASE | re.MULTILINE,
)
_EMPTY_LINES = re.compile(r"\n\s*\n")
MOST_STEPS = 100


def steps_in(text: str) -> tuple[str, ...]:
    """The reasoning as its author divided it: by counted steps, by turns, or else by paragraphs; none left out."""
    marks = [found.start() for found in _STEP.finditer(text)]
    if len(marks) > 1:
        places = [0, *marks] if marks[0] else marks
        pieces = [text[begins:ends] for begins, ends in zip(places, [*places[1:], len(text)], strict=True)]
        separator = ""
    else:
        pieces, separator = _EMPTY_LINES.split(text), "\n\n"
    if len(pieces) > MOST_STEPS:
        pieces = [*pieces[: MOST_STEPS - 1], separator.join(pieces[MOST_STEPS - 1 :])]
    return tuple(piece.strip() for piece in pieces if piece.strip())


LONGEST_CONCLUSION = 300
_CONCLUDES = re.compile(
    r"[\W_]*(?:(?:so|therefore|thus|hence)\b,?\s)?(?:the|my)\s(?:final\s|correct\s)?answer\sis\b"
    r"|[\W_]*(?:因此|所以|综上|故)?[，,：:]?\s?(?:最终|正确)?答案[是为]",
    re.IGNORECASE,
)


def reasoned(text: str, *, thoughts: tuple[str, ...]) -> Reasoned | None:
    """The reasoning and the answer in `text`, from which `thoughts` were taken; None where nothing tells them apart."""
    told = tuple(step for thought in thoughts for step in steps_in(thought))
    if (found := _of_object(text)) is not None:
        return Reasoned((*told, *found.reasoning), found.answer, is_within=True)
    blocks = blocks_in(text, is_wanted=ANSWER_TAGS.__contains__)
    if len(blocks) == 1 and blocks[0].inside:
        beside, is_last = _without(text, blocks), not text[blocks[0].ends :].strip()
        if (thoughts or beside) and is_last:
            return Reasoned((*told, *steps_in(beside)), blocks[0].inside)
    if (labelled := _labelled(text, has_thoughts=bool(thoughts))) is not None:
        return Reasoned((*told, *steps_in(labelled[0])), labelled[1])
    before, _, last = text.strip().rpartition("\n")
    if before.strip() and len(last) <= LONGEST_CONCLUSION and _CONCLUDES.match(last):
        return Reasoned((*told, *steps_in(before)), last.strip(), is_within=True)
    return Reasoned(told, text.strip()) if told else None
