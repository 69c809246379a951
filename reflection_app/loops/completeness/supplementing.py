"""What a completeness check finds missing is planned and carried out, with the results so far as the context.

After `planThenExecuteStream` of the second design seed. A supplementary plan that cannot be made, and a supplement that
fails, cost nothing of what was done before: they are recorded as not done, and the answer is told so.

What a step may call is told by facts: the tools that the guards left to its supplement, and no call that was made
before, whatever the words that ask for it, unless the task itself asks for it again.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from reflection_app.loops.completeness.asking import check_completeness
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    Supplement,
    SupplementResult,
    SupplementsRun,
    content_of,
)
from reflection_app.loops.completeness.file_checks import fault_in_words
from reflection_app.loops.completeness.guards import DONE_ALREADY, UNFIT_TOOL, left_uncovered
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import RecordSupplements
from reflection_app.loops.plan_steps import StepRun, Work, carry_out, make_plan
from reflection_app.loops.plans import PlanStep
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolSpec

PART = "/supplement"
LONGEST_ERROR = 2_000
MOST_MISSING = 20
NO_STEP = "The supplementary plan has no step for it."
# Step ids as the prompt asks for them: s2-save serves the second supplement.
SERVES = re.compile(r"s(\d{1,3})(?!\d)", re.IGNORECASE)
# A tool that was suggested says more about what a step is for than a word in common does.
TOOL_WEIGHT = 3


async def supply_what_is_missing(spec: TaskSpec, run: Progress, work: Work, *, number: int) -> None:
    """Checks the whole history; supplements are carried out and added to `work`, and so is what is missing then."""
    settings = spec.completeness
    if settings is None or not spec.tools:
        return
    base = f"attempt-{number}"
    found = await check_completeness(
        spec, run, history=work.history(), settings=settings, base=base, attempt=number, steps_ok=work.is_complete()
    )
    work.still_missing = still_missing(found)
    if found.state is CheckState.INCOMPLETE and found.supplements and settings.max_supplements:
        before, spent, error = len(work.ran), (run.tokens, run.cost_usd), ""
        limits = Bounds(found.supplements, work=work, tools=spec.tools)
        work.begin_supplements(limits.refusal)
        lines = []
        for place, one in enumerate(found.supplements, start=1):
            why = f" Why: {' '.join(one.reason.split())}" if one.reason else ""
            tools = f" Tools that may do it: {', '.join(one.suggested_tools)}." if one.suggested_tools else ""
            lines.append(f"s{place}: {one.operation}.{why}{tools}")
        objective = prompt("completeness_supplement", supplements="\n".join(lines), objective=spec.objective)
        try:
            allowed = {name for one in found.supplements for name in one.suggested_tools}
            bounded = spec.model_copy(update={"tools": tuple(tool for tool in spec.tools if tool.name in allowed)})
            plan_spec = bounded.model_copy(update={"objective": objective})
            plan = await make_plan(plan_spec, run, work, number=number, part=PART)
            await carry_out(plan, spec=bounded, run=run, work=work, number=number, part=PART)
        except (LimitReached, EffectTimedOut, PriceUnknown) as stop:
            # What was tried until here was paid for, and counts with what it cost.
            why = f"The run was stopped: {str(stop).replace('_', ' ')}"
            await _record(found, limits, run=run, work=work, number=number, before=before, spent=spent, error=why)
            raise
        except EffectFailed as failure:
            error = str(failure) or "it failed"
        done = await _record(found, limits, run=run, work=work, number=number, before=before, spent=spent, error=error)
        work.still_missing = still_missing(found, done)


@dataclass
class Bounds:
    """What the steps of a supplementary plan may call, and which of them asked for what was done already."""

    supplements: Sequence[Supplement]
    work: Work
    tools: Sequence[ToolSpec]
    done_already: set[str] = field(default_factory=set)

    def refusal(self, step: PlanStep, call: ToolCall) -> str:
        """Why the step must not make this call; empty where it may."""
        served = self.supplements[served_by(step, self.supplements, place=len(self.supplements))]
        if call.tool not in served.suggested_tools:
            return UNFIT_TOOL.format(name=call.tool)
        if not served.may_repeat and self.work.made.holds(call, tools=self.tools):
            # What was changed stands in the record. What was read before may be another thing than what is missing.
            if not is_reading(call.tool):
                self.done_already.add(step.id)
            return DONE_ALREADY
        return ""


async def _record(
    found: Completeness,
    limits: Bounds,
    *,
    run: Progress,
    work: Work,
    number: int,
    before: int,
    spent: tuple[int, Decimal],
    error: str,
) -> SupplementsRun:
    """How the supplements went, recorded: the steps from `before` on, and what was spent since `spent`."""
    tokens, cost_usd = spent
    results = results_of(
        found.supplements,
        work.ran[before:],
        tokens=run.tokens - tokens,
        cost_usd=run.cost_usd - cost_usd,
        error=error[:LONGEST_ERROR],
        done_already=limits.done_already,
    )
    done = SupplementsRun(
        attempt=number,
        results=results,
        used=any(result.attempted for result in results),
        attempted=sum(ran.was_tried for ran in work.ran),
        succeeded=sum(ran.is_done for ran in work.ran),
        # What the files lack is looked at anew, and nobody's word says that it was mended.
        completes=not error
        and not _failed(results)
        and not found.faulty_files
        and not (found.looked and found.looked.not_shown)
        and not left_uncovered(found, served=found.supplements),
    )
    return await run.perform(RecordSupplements(key=f"attempt-{number}{PART}/done", done=done))


def still_missing(found: Completeness, done: SupplementsRun | None = None) -> tuple[str, ...]:
    """What the answer must not pretend to: what was not carried out, or not at all planned for."""
    if found.state is not CheckState.INCOMPLETE:
        return ()
    of_files = tuple(f"{one.file}: {fault_in_words(one.fault)}" for one in found.faulty_files)
    if done is None:
        named = found.missing_aspects or ((found.analysis,) if found.analysis and not of_files else ())
        return (*of_files, *named)[:MOST_MISSING]
    uncovered = left_uncovered(found, served=found.supplements) if any(one.missing for one in found.supplements) else ()
    return (*_failed(done.results), *uncovered)[:MOST_MISSING]


def _failed(results: Sequence[SupplementResult]) -> list[str]:
    return [one.operation for one in results if not one.succeeded and not one.done_already]


def results_of(
    supplements: Sequence[Supplement],
    ran: Sequence[StepRun],
    *,
    tokens: int,
    cost_usd: Decimal,
    error: str = "",
    done_already: Collection[str] = (),
) -> tuple[SupplementResult, ...]:
    """How each supplement went. What was spent beyond the steps, on the plan, is shared out evenly.

    `done_already` are the steps whose call was made before.
    """
    steps: dict[int, list[StepRun]] = defaultdict(list)
    for place, one in enumerate(ran):
        steps[served_by(one.step, supplements, place=place)].append(one)
    shared_tokens = tokens - sum(one.tokens for one in ran)
    shared_usd = (cost_usd - sum((one.cost_usd for one in ran), Decimal(0))) / len(supplements)
    per_one, over = divmod(shared_tokens, len(supplements))
    results = []
    for place, supplement in enumerate(supplements):
        own = steps[place]
        failed = next((one.what_went_wrong for one in own if not one.is_done), "")
        usd = sum((one.cost_usd for one in own), Decimal(0)) + shared_usd
        results.append(
            SupplementResult(
                operation=supplement.operation,
                tools=tuple(dict.fromkeys(one.step.tool for one in own if one.step.tool)),
                attempted=any(one.was_tried for one in own),
                succeeded=bool(own) and not error and all(one.is_done for one in own),
                done_already=any(one.step.id in done_already for one in own)
                and all(one.is_done or one.step.id in done_already for one in own),
                error=failed or error or ("" if own else NO_STEP),
                tokens=sum(one.tokens for one in own) + per_one + (place < over),
                cost_usd=usd.quantize(Decimal("1e-8")),
            )
        )
    return tuple(results)


def served_by(step: PlanStep, supplements: Sequence[Supplement], *, place: int) -> int:
    """Which supplement a step is for: as its id says, else by tool and words, else by its place in the plan."""
    match = SERVES.match(step.id)
    if match and 1 <= int(match[1]) <= len(supplements):
        return int(match[1]) - 1
    words = content_of(step.description)
    alike = [
        len(words & content_of(one.operation)) + TOOL_WEIGHT * (step.tool in one.suggested_tools) for one in supplements
    ]
    best = max(alike)
    return alike.index(best) if best else min(place, len(supplements) - 1)
