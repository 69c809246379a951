"""The completeness check itself: a model is asked what the work still lacks, and its answer goes through the guards.

A check that failed says nothing about the work: it is unchecked with the error, never complete, and the run goes on.
"""

from collections.abc import Sequence

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.completeness.answers import ANSWER_SCHEMA, CheckAnswer
from reflection_app.loops.completeness.checks import CheckState, Completeness, CompletenessSettings, HistoryStep
from reflection_app.loops.completeness.guards import guarded
from reflection_app.loops.completeness_effects import RecordCompleteness
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.structured_answers import ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_frames import framed
from reflection_app.loops.tool_tries import describe

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
    found = await _ask(spec, run, history=history, settings=settings, key=f"{base}/completeness")
    found = found.model_copy(
        update={
            "attempt": attempt,
            "steps_ok": found.steps_ok if steps_ok is None else steps_ok,
            "tokens": run.tokens - tokens,
            "cost_usd": run.cost_usd - cost_usd,
        }
    )
    return await run.perform(RecordCompleteness(key=f"{base}/completeness/found", found=found))


async def _ask(
    spec: TaskSpec, run: Progress, *, history: Sequence[HistoryStep], settings: CompletenessSettings, key: str
) -> Completeness:
    request = Generate(
        key=key,
        role=ROLE,
        messages=question(spec, history, settings=settings),
        temperature=settings.temperature,
        top_p=settings.top_p if settings.top_p < 1 else None,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=ANSWER_SCHEMA,
    )
    try:
        answer = await ask(run, request, schema=CheckAnswer, most_reasks=settings.max_retries)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        return Completeness(
            state=CheckState.UNCHECKED,
            steps_ok=all(step.ok for step in history),
            error=str(failure)[:LONGEST_ERROR],
        )
    return guarded(answer, objective=spec.objective, tools=spec.tools, history=history, settings=settings)


def question(spec: TaskSpec, history: Sequence[HistoryStep], *, settings: CompletenessSettings) -> tuple[Message, ...]:
    """What is asked: the objective, all that was done, and the tools, each as data in a frame that it cannot close."""
    asked = prompt(
        "completeness_check",
        objective=framed(spec.objective, name="objective", most=LONGEST_OBJECTIVE),
        history=told_history(history),
        tools=describe(spec.tools) or "(none)",
        most=settings.max_supplements,
    )
    return (system(prompt("completeness_system")), user(asked))


def told_history(history: Sequence[HistoryStep]) -> str:
    """The steps one by one; a result stands in a frame of its own, so that it cannot tell of steps that never were."""
    if not history:
        return "(nothing was done)"
    most = max(SHORTEST_RESULT, min(LONGEST_RESULT, LONGEST_HISTORY // len(history)))
    return "\n\n".join(_told(number, step, most=most) for number, step in enumerate(history, start=1))


def _told(number: int, step: HistoryStep, *, most: int) -> str:
    operation = " ".join(step.operation.split())[:LONGEST_STEP]
    tool = f" [tool: {' '.join(step.tool.split())[:LONGEST_STEP]}]" if step.tool.strip() else ""
    ended = "worked" if step.ok else "failed"
    said = framed(step.result, name="result", most=most) if step.result.strip() else "(no result)"
    return f"Step {number}: {operation}{tool} — {ended}\n{said}"
