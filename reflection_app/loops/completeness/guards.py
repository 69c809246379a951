"""Guards of a completeness check: code that accepts or drops each supplement a model suggests.

A model that says "complete" and still suggests supplements contradicts itself. The work then counts as complete, as in
the second design seed, which reads supplements of incomplete work only. The guards exist to prevent doing too much.
Such supplements are stored as dropped, so that reviewers see the contradiction.

A supplement's relation to the task is judged by the words it quotes from the task. With an embedding model, similarity
of meaning counts too. Tools that change something must meet stricter thresholds than tools that read.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass, field

from judgement.same_operation import says_just_the_same
from reflection_app.loops.completeness.calls_made import CallsMade
from reflection_app.loops.completeness.checks import (
    LONGEST_OPERATION,
    CheckState,
    Completeness,
    CompletenessSettings,
    HistoryStep,
    Likeness,
    Supplement,
    content_of,
    operation_key,
    stands_in,
)
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.suggesting import CheckAnswer, SupplementAnswer
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.tool_calls import ToolCall, ToolSpec

MOST_ASPECTS = 20
MOST_DROPPED = 50
MOST_TOOLS = 10
LONGEST_ANALYSIS = 4_000
LONGEST_ASPECT = 500
LONGEST_REASON = 1_000
LONGEST_NAME = 64
LONGEST_TOOL_TEXT = 600

# Reasons after which the supplement no longer counts as missing.
SETTLED = frozenset({DropCode.NAMES_NOTHING, DropCode.TWICE, DropCode.DONE_ALREADY})

# In deviations from the similarity of any two work texts. Measured on the function-calling requests of BFCL v4. Of the
# correct tools for a request, 99 % reach the first and 98 % the second threshold. Of tools for other subjects, 51 % and
# 63 % do not. A supplement must also be similar to its quote, and both values must reach the sum.
LEAST_LIKE = 0.0
LEAST_LIKE_TO_CHANGE = 0.5
LEAST_LIKE_QUOTE = 0.5
LEAST_LIKE_QUOTE_TO_CHANGE = 1.0
LEAST_SUM_TO_CHANGE = 2.5
# Maximum distance of a changing tool to the tool most similar to the operation.
FARTHEST_BEHIND = 1.0

# The built-in interpreter serves any computation, and changes nothing outside of its sandbox.
INTERPRETER = "python"

# Phrases that ask for repetition. In a task the user wrote them; in an operation the model did, so they are ignored.
_AGAIN = re.compile(
    r"\b(?:again|anew|once more|one more time|repeat(?:ed|edly)?|re-?(?:run|send|do|check|try|read)|twice|thrice|daily|"
    r"hourly|weekly|every (?:day|hour|week|month|minute)|(?:two|three|four|five|\d+) times)\b|"
    r"再次|再一次|重新|重复|再[做发试读查跑写]|多次|每[天周月]|每小时|(?<![两二三四五六七八九十\d])[两二三四五六七八九十\d]++[次遍]",
    re.IGNORECASE,
)


def guarded(
    answer: CheckAnswer,
    *,
    objective: str,
    tools: Sequence[ToolSpec],
    history: Sequence[HistoryStep],
    settings: CompletenessSettings,
    likeness: Likeness | None = None,
) -> Completeness:
    """Return the result of `answer` with the supplements that are possible, new and about this work.

    The others are listed as dropped. `ordered` decides later how many are carried out.
    """
    aspects = tuple(one.strip()[:LONGEST_ASPECT] for one in answer.missing_aspects if one.strip())[:MOST_ASPECTS]
    made = [ToolCall(tool=one.tool, arguments=one.arguments) for one in history if one.ok and one.arguments is not None]
    sieve = _Sieve(
        objective=objective,
        tools=tuple(tools),
        aspects={operation_key(one): one for one in aspects},
        done=[step.operation for step in history if step.ok],
        made=CallsMade(made),
        only_looks=settings.max_supplements == 0,
    )
    likeness = likeness or Likeness()
    for place, suggested in enumerate(answer.supplements):
        if answer.is_complete:
            sieve.drop(suggested.operation, DropCode.NOT_MISSING)
            continue
        to_quote = likeness.to_quote[place] if place < len(likeness.to_quote) else None
        to_tools = likeness.to_tools[place] if place < len(likeness.to_tools) else ()
        by_name = {tool.name: like for tool, like in zip(tools, to_tools, strict=False)}
        sieve.take(suggested, to_quote=to_quote, to_tools=by_name)
    return Completeness(
        state=CheckState.COMPLETE if answer.is_complete else CheckState.INCOMPLETE,
        analysis=answer.analysis.strip()[:LONGEST_ANALYSIS],
        missing_aspects=aspects,
        supplements=tuple(sieve.kept),
        dropped=tuple(sieve.dropped[:MOST_DROPPED]),
        steps_ok=all(step.ok for step in history),
    )


@dataclass
class _Sieve:
    objective: str
    tools: tuple[ToolSpec, ...]
    aspects: dict[str, str]
    done: list[str]
    made: CallsMade
    only_looks: bool
    kept: list[Supplement] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def take(self, suggested: SupplementAnswer, *, to_quote: float | None, to_tools: dict[str, float]) -> None:
        """Keep the suggested supplement, or drop it with a reason.

        `to_quote` is None and `to_tools` empty if similarities are unknown.
        """
        operation = in_one_line(suggested.operation)
        key = operation_key(operation)
        quote = suggested.quote if stands_in(suggested.quote, self.objective) else ""
        may_repeat = asks_again(suggested.repeat_quote, self.objective)
        named = list(dict.fromkeys(name.strip() for name in suggested.suggested_tools if name.strip()))[:MOST_TOOLS]
        # Use the tools' own names, regardless of the case that the model wrote.
        listed = {tool.name.casefold(): tool for tool in self.tools}
        known = list({tool.name: tool for name in named if (tool := listed.get(name.casefold()))}.values())
        fit = [
            tool
            for tool in (known if named else self.tools)
            if is_for(tool, operation, quote=quote, to_quote=to_quote, to_tools=to_tools)
        ]
        code: DropCode | None = None
        if not key:
            code = DropCode.NAMES_NOTHING
        elif key in self.seen:
            code = DropCode.TWICE
        elif not may_repeat and (self._is_said_to_be_done(operation) or self._is_made(suggested, known)):
            code = DropCode.DONE_ALREADY
        elif not is_about(operation, quote=quote, objective=self.objective, to_quote=to_quote):
            code = DropCode.UNRELATED
        elif known and not fit:
            code = DropCode.NO_TOOL
        elif self.only_looks:
            code = DropCode.CHECK_ONLY
        self.seen.add(key)
        if code:
            self.drop(operation, code, is_open=code not in SETTLED)
            return
        for name in named:
            tool = listed.get(name.casefold())
            if tool not in fit:
                self.drop(operation, DropCode.UNFIT_TOOL if tool else DropCode.UNKNOWN_TOOL, name=name[:LONGEST_NAME])
        names = tuple(tool.name for tool in fit[:MOST_TOOLS])
        self.kept.append(
            Supplement(
                operation=operation,
                reason=suggested.reason.strip()[:LONGEST_REASON],
                missing=self.aspects.get(operation_key(suggested.missing[:LONGEST_ASPECT]), ""),
                quote=quote[:LONGEST_ASPECT],
                suggested_tools=names if named else (),
                fitting_tools=() if named else names,
                may_repeat=may_repeat,
            )
        )

    def drop(self, operation: str, code: DropCode, *, is_open: bool = False, **parameters: str) -> None:
        operation = in_one_line(operation) or "(nothing)"
        self.dropped.append(Dropped(operation=operation, code=code, parameters=dict(parameters), is_open=is_open))

    def _is_said_to_be_done(self, operation: str) -> bool:
        """Return True if `operation` repeats a successful step, ignoring words such as "again"."""
        if any(says_just_the_same(operation, done) for done in self.done):
            return True
        words = _AGAIN.sub(" ", operation)
        key, content = operation_key(words), content_of(words)
        return any(
            operation_key(done) == key or (content and words != operation and content <= content_of(done))
            for done in self.done
        )

    def _is_made(self, suggested: SupplementAnswer, known: Sequence[ToolSpec]) -> bool:
        calls = [ToolCall(tool=tool.name, arguments=suggested.arguments) for tool in known if suggested.arguments]
        return bool(calls) and all(self.made.holds(call, tools=self.tools) for call in calls)


def in_one_line(operation: str) -> str:
    return " ".join(operation.split())[:LONGEST_OPERATION]


def asks_again(repeat_quote: str, objective: str) -> bool:
    """Return True if the task contains `repeat_quote` and it asks for repetition."""
    return bool(_AGAIN.search(repeat_quote)) and stands_in(repeat_quote, objective)


def compared_with(quote: str, objective: str) -> str:
    """Return the text to compare an operation with: its quote, or the task without a valid quote."""
    return (quote if stands_in(quote, objective) else objective)[:LONGEST_ASPECT]


def is_about(operation: str, *, quote: str, objective: str, to_quote: float | None) -> bool:
    """Return True if the operation relates to the task.

    `to_quote` is its similarity to the quote, or to the task if there is no quote.
    """
    if (quote and to_quote is None) or (to_quote is not None and to_quote >= LEAST_LIKE_QUOTE):
        return True
    # The words that an operation needs may occur elsewhere in the task than in its quote.
    return bool(content_of(operation) & content_of(objective))


def is_for(tool: ToolSpec, operation: str, *, quote: str, to_quote: float | None, to_tools: dict[str, float]) -> bool:
    """Return True if the tool serves the operation. Its permission is checked when it is called."""
    if tool.name == INTERPRETER:
        return True
    reads = is_reading(tool.name)
    if not (quote or reads) and to_quote is None:
        return False
    like = to_tools.get(tool.name)
    if like is None or to_quote is None:
        # Compare the operation alone: a quote that fits the tool but not the operation would add misleading words.
        return bool(content_of(operation) & content_of(text_of(tool, with_parameters=True))) or (reads and bool(quote))
    if reads:
        return like >= LEAST_LIKE
    return (
        like >= max(LEAST_LIKE_TO_CHANGE, max(to_tools.values()) - FARTHEST_BEHIND)
        and to_quote >= LEAST_LIKE_QUOTE_TO_CHANGE
        and like + to_quote >= LEAST_SUM_TO_CHANGE
    )


def text_of(tool: ToolSpec, *, with_parameters: bool = False) -> str:
    """Return the tool's name as words and its description, plus parameters if there is no description."""
    said = f"{re.sub(r'[_\W]+', ' ', tool.name.rsplit('__', 1)[-1])}: {tool.description.strip()}"
    known = tool.parameters.get("properties")
    if isinstance(known, dict) and (with_parameters or not tool.description.strip()):
        said += " " + ", ".join(name.replace("_", " ") for name in known)
    return said[:LONGEST_TOOL_TEXT]


def left_uncovered(found: Completeness, *, served: Sequence[Supplement]) -> tuple[str, ...]:
    """Return the missing aspects that no supplement in `served` addresses.

    If no supplement names an aspect, all count as covered. They do not if another suggestion was left open, or if there
    are more aspects than supplements.
    """
    named = {operation_key(one.missing) for one in found.supplements if one.missing}
    if named:
        covered = {operation_key(one.missing) for one in served}
        return tuple(one for one in found.missing_aspects if operation_key(one) not in covered)
    is_whole = len(found.missing_aspects) <= len(found.supplements) and not any(one.is_open for one in found.dropped)
    return () if is_whole else found.missing_aspects
