"""The completeness check itself: a model is asked what the work still lacks, and its answer goes through the guards.

A check that failed says nothing about the work: it is unchecked with the error, never complete, and the run goes on.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Annotated, Any, Self

from pydantic import BeforeValidator, StrictBool, model_validator

from reflection_app.loops.answer_reading import Lenient, Said, Texts
from reflection_app.loops.answer_schemas import TEXT, YES_OR_NO, open_object, texts
from reflection_app.loops.answers import ask
from reflection_app.loops.completeness.checks import (
    LONGEST_OPERATION,
    CheckState,
    Completeness,
    CompletenessSettings,
    Dropped,
    HistoryStep,
    Supplement,
    content_of,
    operation_key,
)
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.tool_tries import describe
from reflection_app.loops.values import Message, system, user

# The answer of a completeness check as a model gives it, read strictly where "complete" could be invented.

MOST_LISTED = 50
ALL_PARTS = {"is_complete", "analysis", "missing_aspects", "supplements"}


def _supplements(value: Any) -> Any:
    """A lone supplement is a list of one, a lone text is its operation; null is none."""
    if value is None:
        return []
    listed = value[:MOST_LISTED] if isinstance(value, list) else [value]
    return [{"operation": one} if isinstance(one, str) else one for one in listed]


class SupplementAnswer(Lenient):
    operation: Said
    reason: Said = ""
    suggested_tools: Texts = ()


class CheckAnswer(Lenient):
    """What a model says of a history. "Complete" counts only in an answer that is whole and says why.

    An answer that was cut off in the middle reads as complete otherwise: what was missing stood in its lost end.
    """

    is_complete: StrictBool
    analysis: Said = ""
    missing_aspects: Texts = ()
    supplements: Annotated[tuple[SupplementAnswer, ...], BeforeValidator(_supplements)] = ()

    @model_validator(mode="after")
    def check_that_complete_is_said_in_full(self) -> Self:
        if not self.is_complete:
            return self
        left_out = ALL_PARTS - self.model_fields_set
        if left_out:
            raise ValueError(f"says complete, but leaves out {', '.join(sorted(left_out))}")
        if not self.analysis.strip():
            raise ValueError("says complete, but its analysis does not say why")
        return self


ANSWER_SCHEMA = open_object(
    is_complete=YES_OR_NO,
    analysis=TEXT,
    missing_aspects=texts(),
    supplements={"type": "array", "items": open_object(operation=TEXT, reason=TEXT, suggested_tools=texts())},
)


# The guards of a completeness check, in code: what a model suggests is carried out only where it passes them all.
#
# A model that says "complete" and suggests supplements all the same contradicts itself. Its word that nothing is
# missing stands, as in the second design seed, where supplements are looked at only of what is incomplete: the risk
# that is guarded against here is to do too much. The supplements are kept as dropped, so that a person sees the
# contradiction.

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
    about = [objective, answer.analysis, *answer.missing_aspects]
    about += [f"{step.operation} {step.result}" for step in history]
    sieve = _Sieve(
        tools={tool.name.casefold(): tool.name for tool in tools},
        done={operation_key(step.operation) for step in history if step.ok},
        about=frozenset[str]().union(*(content_of(text) for text in about)),
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
        named = list(dict.fromkeys(name.strip() for name in suggested.suggested_tools if name.strip()))[:MOST_TOOLS]
        # By their own names, whatever the case in which the model wrote them.
        known = tuple(dict.fromkeys(self.tools[name.casefold()] for name in named if name.casefold() in self.tools))
        why = ""
        if not key:
            why = NAMES_NOTHING
        elif key in self.seen:
            why = TWICE
        elif key in self.done and not says_why(reason, operation=operation):
            why = DONE_ALREADY
        elif not known and not content_of(operation) & self.about:
            why = UNRELATED
        elif len(self.kept) >= most:
            why = TOO_MANY.format(most=most) if most else CHECK_ONLY
        self.seen.add(key)
        if why:
            self._drop(operation, why)
            return
        for name in named:
            if name.casefold() not in self.tools:
                self._drop(operation, UNKNOWN_TOOL.format(name=name[:LONGEST_NAME]))
        self.kept.append(Supplement(operation=operation, reason=reason, suggested_tools=known))

    def _drop(self, operation: str, why: str) -> None:
        self.dropped.append(Dropped(operation=operation or "(nothing)", why=why))


def says_why(reason: str, *, operation: str) -> bool:
    """Whether a reason is given that is more than the operation said again."""
    return bool(content_of(reason) - content_of(operation)) and operation_key(reason) != operation_key(operation)


ROLE = "completeness"
LONGEST_OBJECTIVE = 20_000
LONGEST_HISTORY = 40_000
LONGEST_RESULT = 2_000
SHORTEST_RESULT = 80
LONGEST_STEP = 500
LONGEST_ERROR = 2_000


async def check_completeness(
    spec: TaskSpec,
    run: Progress,
    *,
    history: Sequence[HistoryStep],
    settings: CompletenessSettings,
    base: str,
    attempt: int = 1,
    steps_ok: bool | None = None,
) -> Completeness:
    """What the work still lacks, recorded. `steps_ok` is told from the history unless it is given.

    Raises LimitReached, EffectTimedOut or PriceUnknown as any call does.
    """
    run.check_limits()
    tokens, cost_usd = run.tokens, run.cost_usd
    request = run.model_call(
        key=f"{base}/completeness",
        role=ROLE,
        messages=question(spec, history, settings=settings),
        temperature=settings.temperature,
        top_p=settings.top_p if settings.top_p < 1 else None,
        json_schema=ANSWER_SCHEMA,
    )
    try:
        answer = await ask(run, request, schema=CheckAnswer, most_reasks=settings.max_retries)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        found = Completeness(
            state=CheckState.UNCHECKED,
            steps_ok=all(step.ok for step in history),
            error=str(failure)[:LONGEST_ERROR],
        )
    else:
        found = guarded(answer, objective=spec.objective, tools=spec.tools, history=history, settings=settings)
    found = found.model_copy(
        update={
            "attempt": attempt,
            "steps_ok": found.steps_ok if steps_ok is None else steps_ok,
            "tokens": run.tokens - tokens,
            "cost_usd": run.cost_usd - cost_usd,
        }
    )
    return await run.perform(RecordCompleteness(key=f"{base}/completeness/found", found=found))


def question(spec: TaskSpec, history: Sequence[HistoryStep], *, settings: CompletenessSettings) -> tuple[Message, ...]:
    """What is asked: the objective, all that was done, and the tools, each as data in a frame that it cannot close."""
    text = prompt(
        "completeness_check",
        objective=framed(spec.objective, name="objective", most=LONGEST_OBJECTIVE),
        history=history_in_frames(history),
        tools=describe(spec.tools) or "(none)",
        most=settings.max_supplements,
    )
    return (system(prompt("completeness_system")), user(text))


def history_in_frames(history: Sequence[HistoryStep]) -> str:
    """The steps one by one; a result stands in a frame of its own, so that it cannot tell of steps that never were."""
    if not history:
        return "(nothing was done)"
    most = max(SHORTEST_RESULT, min(LONGEST_RESULT, LONGEST_HISTORY // len(history)))
    steps = []
    for number, step in enumerate(history, start=1):
        operation = " ".join(step.operation.split())[:LONGEST_STEP]
        tool = f" [tool: {' '.join(step.tool.split())[:LONGEST_STEP]}]" if step.tool.strip() else ""
        ended = "worked" if step.ok else "failed"
        result = framed(step.result, name="result", most=most) if step.result.strip() else "(no result)"
        steps.append(f"Step {number}: {operation}{tool} — {ended}\n{result}")
    return "\n\n".join(steps)
