"""Completeness check: ask a model what the work lacks, and pass its answer through the guards.

A check that failed says nothing about the work. Its state is UNCHECKED with the error, never COMPLETE, and the run
continues.
"""

import json
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal

from reflection_app.loops.answers import ask
from reflection_app.loops.attempt_effects import InspectFiles
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    CompletenessSettings,
    HistoryStep,
    Likeness,
    Supplement,
)
from reflection_app.loops.completeness.dropped import DropCode, Dropped
from reflection_app.loops.completeness.file_checks import FilesChecked, against_files, files_in_frame, required_in_words
from reflection_app.loops.completeness.guards import compared_with, guarded, in_one_line, text_of
from reflection_app.loops.completeness.looking import FILES_TIMEOUT_S, inspect_produced
from reflection_app.loops.completeness.records import SupplementRecord
from reflection_app.loops.completeness.suggesting import ANSWER_SCHEMA, CheckAnswer
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import (
    CompareSupplements,
    EstimateSupplements,
    RecordCompleteness,
    RecordSecondLook,
)
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import describe
from reflection_app.loops.values import Message, system, user

ROLE = "completeness"
LONGEST_OBJECTIVE = 20_000
LONGEST_HISTORY = 40_000
LONGEST_RESULT = 2_000
SHORTEST_RESULT = 80
LONGEST_STEP = 500
LONGEST_ERROR = 2_000
LONGEST_ARGUMENTS = 500
NO_ROOM = "A limit of the run was reached before the check was made."


async def check_completeness(
    spec: TaskSpec,
    run: Progress,
    *,
    history: Sequence[HistoryStep],
    settings: CompletenessSettings,
    base: str,
    attempt: int = 1,
    steps_ok: bool | None = None,
    carries_out: bool = False,
) -> Completeness:
    """Record and return what the work still lacks. `steps_ok` defaults to the history's result.

    Supplements are ordered by the record of their tools. If the run executes them itself (`carries_out`), the cost
    limit must also cover a second check. Raise LimitReached, EffectTimedOut or PriceUnknown like any call.
    """
    check = _Check(spec, run, history, settings=settings, base=base, attempt=attempt, steps_ok=steps_ok)
    found = await check.ask(RecordCompleteness, key=f"{base}/completeness/found")
    if found.supplements:
        records = await run.perform(
            EstimateSupplements(
                key=f"{base}/completeness/estimates",
                operations=tuple(one.operation for one in found.supplements),
                tools=tuple(one.suggested_tools for one in found.supplements),
            )
        )
        looks = 2 if settings.look_again and carries_out else 1
        left_usd = None if settings.max_cost_usd is None else settings.max_cost_usd - found.cost_usd * looks
        found = ordered(found, records.supplements, settings=settings, left_usd=left_usd)
    return await run.perform(RecordCompleteness(key=f"{base}/completeness/found", found=found))


async def look_again(
    spec: TaskSpec, run: Progress, *, history: Sequence[HistoryStep], settings: CompletenessSettings, attempt: int
) -> Completeness:
    """Record and return the result of a second check of the work. It suggests no supplements.

    Raise the same errors as `check_completeness`.
    """
    base = f"attempt-{attempt}/second-look"
    only_looks = settings.model_copy(update={"max_supplements": 0})
    check = _Check(spec, run, history, settings=only_looks, base=base, attempt=attempt)
    found = await check.ask(RecordSecondLook, key=f"{base}/found")
    return await run.perform(RecordSecondLook(key=f"{base}/found", found=found))


@dataclass(frozen=True)
class _Check:
    """A completeness check in progress."""

    spec: TaskSpec
    run: Progress
    history: Sequence[HistoryStep]
    settings: CompletenessSettings
    base: str
    attempt: int
    steps_ok: bool | None = None

    async def ask(self, record: type[RecordCompleteness | RecordSecondLook], *, key: str) -> Completeness:
        """Return what a model finds missing, after the guards.

        The result is recorded here only if a limit ends the run.
        """
        run, settings = self.run, self.settings
        run.check_limits()
        began = (run.tokens, run.cost_usd, run.unpriced_calls)
        files = await self._inspect_files()
        found = Completeness(state=CheckState.UNCHECKED, error=NO_ROOM, steps_ok=all(one.ok for one in self.history))
        if run.exceeded() is not None:
            # File inspection was paid for, so its result is stored although no model can be called anymore.
            await run.perform(record(key=key, found=self._with_costs(against_files(found, files), *began)))
            run.check_limits()
        request = run.model_call(
            key=f"{self.base}/completeness",
            role=ROLE,
            messages=question(self.spec, self.history, settings=settings, files=files),
            temperature=settings.temperature,
            top_p=settings.top_p if settings.top_p < 1 else None,
            json_schema=ANSWER_SCHEMA,
        )
        try:
            answer = await ask(run, request, schema=CheckAnswer, most_reasks=settings.max_retries)
        except (EffectTimedOut, PriceUnknown):
            raise
        except EffectFailed as failure:
            found = found.model_copy(update={"error": str(failure)[:LONGEST_ERROR]})
        else:
            found = await self._guarded(answer)
        return self._with_costs(against_files(found, files), *began)

    async def _inspect_files(self) -> FilesChecked | None:
        """Return the inspection of the produced files, or None if none exist and none are required."""
        spec, run = self.spec, self.run
        required = spec.requirements.files if spec.requirements else ()
        if not required and not run.has_produced_files and not spec.has_history_files:
            return None
        key = f"{self.base}/completeness/files"
        effect = InspectFiles(key=key, requirements=required, timeout_s=FILES_TIMEOUT_S)
        return await inspect_produced(spec, run, effect, base=self.base, all_required=spec.has_history_files)

    async def _guarded(self, answer: CheckAnswer) -> Completeness:
        spec, likeness = self.spec, Likeness()
        if answer.supplements and not answer.is_complete:
            likeness = await self.run.perform(
                CompareSupplements(
                    key=f"{self.base}/completeness/likeness",
                    operations=tuple(in_one_line(one.operation) for one in answer.supplements),
                    quotes=tuple(compared_with(one.quote, spec.objective) for one in answer.supplements),
                    tools=tuple(text_of(tool) for tool in spec.tools),
                )
            )
        return guarded(
            answer,
            objective=spec.objective,
            tools=spec.tools,
            history=self.history,
            settings=self.settings,
            likeness=likeness,
        )

    def _with_costs(self, found: Completeness, tokens: int, cost_usd: Decimal, unpriced: int) -> Completeness:
        run = self.run
        return found.model_copy(
            update={
                "attempt": self.attempt,
                "steps_ok": found.steps_ok if self.steps_ok is None else self.steps_ok,
                "tokens": run.tokens - tokens,
                "cost_usd": run.cost_usd - cost_usd,
                "cost_known": run.unpriced_calls == unpriced,
            }
        )


def question(
    spec: TaskSpec,
    history: Sequence[HistoryStep],
    *,
    settings: CompletenessSettings,
    files: FilesChecked | None = None,
) -> tuple[Message, ...]:
    """Return the check's messages: objective, steps and tools, each as data in a frame it cannot close.

    Inspected files follow the steps.
    """
    done = history_in_frames(history)
    if files is not None:
        required = "\n".join(f"- {required_in_words(one)}" for one in files.required) or "(none is named by the task)"
        done += "\n\n" + prompt("completeness_files", required=required, files=files_in_frame(files))
    text = prompt(
        "completeness_check",
        objective=framed(spec.objective, name="objective", most=LONGEST_OBJECTIVE),
        history=done,
        tools=describe(spec.tools) or "(none)",
        most=settings.max_supplements,
    )
    return (system(prompt("completeness_system")), user(text))


def history_in_frames(history: Sequence[HistoryStep]) -> str:
    """Return the steps as text. Each result has its own frame, so it cannot claim steps that never ran."""
    if not history:
        return "(nothing was done)"
    most = max(SHORTEST_RESULT, min(LONGEST_RESULT, LONGEST_HISTORY // len(history)))
    steps = []
    for number, step in enumerate(history, start=1):
        operation = " ".join(step.operation.split())[:LONGEST_STEP]
        tool = f" [tool: {' '.join(step.tool.split())[:LONGEST_STEP]}]" if step.tool.strip() else ""
        ended = "worked" if step.ok else "failed"
        told = step.result
        if step.arguments:
            told = f"Called with {json.dumps(step.arguments, ensure_ascii=False)[:LONGEST_ARGUMENTS]}\n{told}"
        result = framed(told, name="result", most=most) if told.strip() else "(no result)"
        steps.append(f"Step {number}: {operation}{tool} — {ended}\n{result}")
    return "\n\n".join(steps)


# Order of a check's supplements, and the limits on their number and cost

MOST_DROPPED = 100
UNKNOWN_SHARE = 0.5


def ordered(
    found: Completeness,
    records: Sequence[SupplementRecord | None],
    *,
    settings: CompletenessSettings,
    left_usd: Decimal | None,
) -> Completeness:
    """Return `found` with at most `max_supplements` supplements, ordered by their record.

    `left_usd` is the remainder of the check's cost limit in USD. All supplements are dropped if it is used up, or if
    the price of the check is unknown under such a limit.
    """
    known = (*records, *(None,) * len(found.supplements))
    best_first = in_order_of_record(
        [one.model_copy(update={"record": record}) for one, record in zip(found.supplements, known, strict=False)]
    )
    most = settings.max_supplements
    parameters: dict[str, str | int | float] = {"most": most}
    code = DropCode.TOO_MANY
    if left_usd is not None and not found.cost_known:
        most, code, parameters = 0, DropCode.PRICE_UNKNOWN, {}
    elif left_usd is not None and left_usd <= 0:
        most, code, parameters = 0, DropCode.MONEY_SPENT, {}
    dropped = [
        Dropped(operation=one.operation, code=code, parameters=parameters, is_open=True) for one in best_first[most:]
    ]
    return found.model_copy(
        update={"supplements": tuple(best_first[:most]), "dropped": (*found.dropped, *dropped)[:MOST_DROPPED]}
    )


def in_order_of_record(supplements: Sequence[Supplement]) -> list[Supplement]:
    """Return the supplements by completed runs per token, best first. Ties keep the model's order.

    A supplement without a record counts as completing half its runs at the cost of the most expensive one.
    """
    dearest = max((one.record.tokens for one in supplements if one.record), default=1.0)

    def rate(one: Supplement) -> float:
        if one.record is None:
            return UNKNOWN_SHARE / max(1.0, dearest)
        return one.record.share / max(1.0, one.record.tokens)

    return sorted(supplements, key=rate, reverse=True)
