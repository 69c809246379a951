"""The guards of a completeness check, in code: what a model suggests is carried out only where it passes them all.

A model that says "complete" and suggests supplements all the same contradicts itself. Its word that nothing is missing
stands, as in the second design seed, where supplements are looked at only of what is incomplete: the risk that is
guarded against here is to do too much. The supplements are kept as dropped, so that a person sees the contradiction.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field

from reflection_app.loops.completeness.answers import CheckAnswer, SupplementAnswer
from reflection_app.loops.completeness.checks import (
    LONGEST_OPERATION,
    CheckState,
    Completeness,
    CompletenessSettings,
    Dropped,
    HistoryStep,
    Supplement,
)
from reflection_app.loops.completeness.words import content_of, operation_key
from reflection_app.loops.tool_calls import ToolSpec

MOST_ASPECTS = 20
MOST_DROPPED = 50
MOST_TOOLS = 10
LONGEST_ANALYSIS = 4_000
LONGEST_ASPECT = 500
LONGEST_REASON = 1_000
LONGEST_NAME = 64

NAMES_NOTHING = "It names no operation."
TWICE = "It was suggested twice."
DONE_ALREADY = "It is done already, and no reason says why it must be done again."
UNRELATED = "It has nothing to do with the objective or with what was done, and no tool on the list is for it."
NOT_MISSING = "The check says that nothing is missing."
CHECK_ONLY = "This check only looks: no supplements are carried out."
TOO_MANY = "Only the first {most} are carried out."
UNKNOWN_TOOL = "There is no tool {name!r} on the list."


def guarded(
    answer: CheckAnswer,
    *,
    objective: str,
    tools: Sequence[ToolSpec],
    history: Sequence[HistoryStep],
    settings: CompletenessSettings,
) -> Completeness:
    """What is left of `answer`: at most `max_supplements`, each possible, new and about this work. The rest is told."""
    sieve = _Sieve(
        tools={tool.name.casefold(): tool.name for tool in tools},
        done={operation_key(step.operation) for step in history if step.ok},
        about=_about(answer, objective=objective, history=history),
    )
    aspects = tuple(one.strip()[:LONGEST_ASPECT] for one in answer.missing_aspects if one.strip())
    for suggested in answer.supplements:
        sieve.take(suggested, is_complete=answer.is_complete, most=settings.max_supplements)
    return Completeness(
        state=CheckState.COMPLETE if answer.is_complete else CheckState.INCOMPLETE,
        analysis=answer.analysis.strip()[:LONGEST_ANALYSIS],
        missing_aspects=aspects[:MOST_ASPECTS],
        supplements=tuple(sieve.kept),
        dropped=tuple(sieve.dropped[:MOST_DROPPED]),
        steps_ok=all(step.ok for step in history),
    )


def _about(answer: CheckAnswer, *, objective: str, history: Sequence[HistoryStep]) -> frozenset[str]:
    """All that the work is about."""
    texts = [objective, answer.analysis, *answer.missing_aspects]
    texts += [f"{step.operation} {step.result}" for step in history]
    return frozenset[str]().union(*(content_of(text) for text in texts))


@dataclass
class _Sieve:
    tools: dict[str, str]
    done: set[str]
    about: frozenset[str]
    kept: list[Supplement] = field(default_factory=list)
    dropped: list[Dropped] = field(default_factory=list)
    seen: set[str] = field(default_factory=set)

    def take(self, suggested: SupplementAnswer, *, is_complete: bool, most: int) -> None:
        """Keeps what was suggested, or says why not."""
        operation = " ".join(suggested.operation.split())[:LONGEST_OPERATION]
        reason = suggested.reason.strip()[:LONGEST_REASON]
        key = operation_key(operation)
        if is_complete:
            self._drop(operation, NOT_MISSING)
            return
        known, unknown = self._tools_of(suggested)
        why = self._why_not(operation, key=key, reason=reason, has_tool=bool(known))
        self.seen.add(key)
        if not why and len(self.kept) >= most:
            why = TOO_MANY.format(most=most) if most else CHECK_ONLY
        if why:
            self._drop(operation, why)
            return
        for name in unknown:
            self._drop(operation, UNKNOWN_TOOL.format(name=name))
        self.kept.append(Supplement(operation=operation, reason=reason, suggested_tools=known))

    def _why_not(self, operation: str, *, key: str, reason: str, has_tool: bool) -> str:
        if not key:
            return NAMES_NOTHING
        if key in self.seen:
            return TWICE
        if key in self.done and not says_why(reason, operation=operation):
            return DONE_ALREADY
        if not has_tool and not content_of(operation) & self.about:
            return UNRELATED
        return ""

    def _tools_of(self, suggested: SupplementAnswer) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """The tools that there are, by their own names, and those that there are not."""
        named = list(dict.fromkeys(name.strip() for name in suggested.suggested_tools if name.strip()))[:MOST_TOOLS]
        known = dict.fromkeys(self.tools[name.casefold()] for name in named if name.casefold() in self.tools)
        unknown = tuple(name[:LONGEST_NAME] for name in named if name.casefold() not in self.tools)
        return tuple(known), unknown

    def _drop(self, operation: str, why: str) -> None:
        self.dropped.append(Dropped(operation=operation or "(nothing)", why=why))


def says_why(reason: str, *, operation: str) -> bool:
    """Whether a reason is given that is more than the operation said again."""
    return bool(content_of(reason) - content_of(operation)) and operation_key(reason) != operation_key(operation)
