"""Plan and carry out the supplements of a completeness check, with the results so far as context.

Source: `planThenExecuteStream` of the second design seed. If the plan or a supplement fails, earlier results are
unaffected: supplements are recorded as not done, and the answer's prompt names them.

Facts decide which calls a step may make: only tools that the guards left to its supplement, and no call made before.
The wording of a request does not matter, unless the task itself asks for repetition.

If all supplements worked, the check is repeated once; its result, not the tools' results, decides that nothing is
missing. What is still missing goes into the answer's prompt. There is no second round. If a limit rules out the second
check, the tools' results decide.
"""

import re
from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal

from reflection_app.loops.completeness.asking import check_completeness, look_again
from reflection_app.loops.completeness.checks import (
    CheckState,
    Completeness,
    CompletenessSettings,
    Supplement,
    SupplementResult,
    SupplementsRun,
    content_of,
)
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.guards import left_uncovered
from reflection_app.loops.completeness.sampling import CheckArm, When
from reflection_app.loops.diagnosis.fallback_tools import is_reading
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import DrawCheck, RecordSupplements
from reflection_app.loops.plan_steps import StepRun, Work, carry_out, make_plan
from reflection_app.loops.plans import PlanStep
from reflection_app.loops.progress import LimitReached, PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolSpec

PART = "/supplement"
DRAW = "completeness/draw"
LONGEST_ERROR = 2_000
MOST_MISSING = 20
# Errors of steps and results, stored in journals like the errors of tools.
NO_STEP = "The supplementary plan has no step for it."
DONE_ALREADY = "It is done already, and the task does not ask for it to be done again."
UNFIT_TOOL = "The tool {name!r} is not for it."
MONEY_SPENT = "What the check and its supplements may cost was reached before it was begun."
PRICE_UNKNOWN = "What it costs is not known, so the check's limit of money could not be kept."
# Format of step ids that the prompt asks for: s2-save serves the second supplement.
SERVES = re.compile(r"s(\d{1,3})(?!\d)", re.IGNORECASE)
# A suggested tool is stronger evidence of a step's purpose than a shared word.
TOOL_WEIGHT = 3


async def supply_what_is_missing(spec: TaskSpec, run: Progress, work: Work, *, number: int) -> None:
    """Check the whole history, carry out supplements, and add both results to `work`.

    Errors that stop the run are re-raised after the results so far are recorded.
    """
    settings = spec.completeness
    if settings is None or not spec.tools or not await _is_checked(settings, run, work):
        return
    began = (run.cost_usd, run.unpriced_calls)
    found = await check_completeness(
        spec,
        run,
        history=work.history(),
        settings=settings,
        base=f"attempt-{number}",
        attempt=number,
        steps_ok=work.is_complete(),
        carries_out=True,
    )
    work.still_missing = still_missing(found)
    if found.state is not CheckState.INCOMPLETE or not found.supplements or not settings.max_supplements:
        return
    supplying = Supplying(found, settings=settings, run=run, work=work, number=number, tools=spec.tools, began=began)
    error = ""
    work.begin_supplements(supplying.refusal, stops=supplying.stops)
    lines = []
    for place, one in enumerate(found.supplements, start=1):
        why = f" Why: {' '.join(one.reason.split())}" if one.reason else ""
        tools = f" Tools that may do it: {', '.join(one.allowed_tools)}." if one.allowed_tools else ""
        lines.append(f"s{place}: {one.operation}.{why}{tools}")
    objective = prompt("completeness_supplement", supplements="\n".join(lines), objective=spec.objective)
    try:
        allowed = {name for one in found.supplements for name in one.allowed_tools}
        bounded = spec.model_copy(update={"tools": tuple(tool for tool in spec.tools if tool.name in allowed)})
        plan_spec = bounded.model_copy(update={"objective": objective})
        plan = await make_plan(plan_spec, run, work, number=number, part=PART)
        await carry_out(plan, spec=bounded, run=run, work=work, number=number, part=PART)
    except (LimitReached, EffectTimedOut, PriceUnknown) as stop:
        # Work up to this point was paid for, so it is recorded with its cost.
        await supplying.record(error=f"The run was stopped: {str(stop).replace('_', ' ')}")
        raise
    except EffectFailed as failure:
        error = str(failure) or "it failed"
    done = await supplying.record(error=error)
    work.still_missing = still_missing(found, done)
    if done.looks_again:
        second = await look_again(spec, run, history=work.history(), settings=settings, attempt=number)
        work.still_missing = still_missing(second)


async def _is_checked(settings: CompletenessSettings, run: Progress, work: Work) -> bool:
    """Return True if this run is checked. A sample is drawn once; nothing is drawn if all runs are checked."""
    if settings.when is not When.SAMPLED:
        return settings.when is When.ON
    if work.check_arm is None:
        work.check_arm = (await run.perform(DrawCheck(key=DRAW, share=settings.share))).arm
    return work.check_arm is CheckArm.CHECKED


@dataclass
class Supplying:
    """Supplements in progress: which calls their steps may make, their cost limit, and their results.

    `began` is the run's cost in USD and number of unpriced calls when the check began.
    """

    found: Completeness
    settings: CompletenessSettings
    run: Progress
    work: Work
    number: int
    tools: Sequence[ToolSpec]
    began: tuple[Decimal, int]
    done_already: set[str] = field(default_factory=set)
    not_begun: dict[str, DropCode] = field(default_factory=dict)

    def __post_init__(self) -> None:
        run = self.run
        self.before = len(self.work.ran)
        self.spent = (run.tokens, run.cost_usd, run.active_s, run.unpriced_calls)

    def money_spent(self) -> DropCode | None:
        """Return why no further step may start, or None. A call without a price counts as unlimited."""
        most, (cost_usd, unpriced) = self.settings.max_cost_usd, self.began
        if most is None:
            return None
        if self.run.unpriced_calls > unpriced:
            return DropCode.PRICE_UNKNOWN
        return DropCode.MONEY_SPENT if self.run.cost_usd - cost_usd >= most else None

    def stops(self, step: PlanStep) -> str:
        """Return why the step must not start, or ""."""
        code = self.money_spent()
        if code is None:
            return ""
        self.not_begun[step.id] = code
        return PRICE_UNKNOWN if code is DropCode.PRICE_UNKNOWN else MONEY_SPENT

    def refusal(self, step: PlanStep, call: ToolCall) -> str:
        """Return why the step must not make this call, or ""."""
        supplements = self.found.supplements
        served = supplements[served_by(step, supplements, place=len(supplements))]
        if call.tool not in served.allowed_tools:
            return UNFIT_TOOL.format(name=call.tool)
        if not served.may_repeat and self.work.made.holds(call, tools=self.tools):
            # The record proves what was changed. An earlier read may concern something other than what is missing.
            if not is_reading(call.tool):
                self.done_already.add(step.id)
            return DONE_ALREADY
        return ""

    async def record(self, *, error: str) -> SupplementsRun:
        """Record and return the results of the supplements."""
        run, work, found = self.run, self.work, self.found
        tokens, cost_usd, active_s, unpriced = self.spent
        results = results_of(
            found.supplements,
            work.ran[self.before :],
            tokens=run.tokens - tokens,
            cost_usd=run.cost_usd - cost_usd,
            seconds=run.active_s - active_s,
            cost_known=run.unpriced_calls == unpriced,
            error=error[:LONGEST_ERROR],
            done_already=self.done_already,
            not_begun=self.not_begun,
        )
        used = any(result.attempted for result in results)
        worked = not error and not _failed(results) and not left_uncovered(found, served=found.supplements)
        has_room = run.exceeded() is None and self.money_spent() is None
        looks_again = self.settings.look_again and worked and used and has_room
        # Only inspecting the files again, as a second check does, can show that their faults are repaired.
        of_files = bool(found.faulty_files or (found.looked and found.looked.not_shown))
        done = SupplementsRun(
            attempt=self.number,
            results=results,
            used=used,
            attempted=sum(ran.was_tried for ran in work.ran),
            succeeded=sum(ran.is_done for ran in work.ran),
            completes=worked and (looks_again or not of_files),
            looks_again=looks_again,
        )
        return await run.perform(RecordSupplements(key=f"attempt-{self.number}{PART}/done", done=done))


def still_missing(found: Completeness, done: SupplementsRun | None = None) -> tuple[str, ...]:
    """Return what the answer must not claim as done: what failed, and what no supplement covered."""
    if found.state is not CheckState.INCOMPLETE:
        return ()
    of_files = tuple(f"{one.file}: {one.fault.in_words}" for one in found.faulty_files)
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
    seconds: float = 0.0,
    cost_known: bool = True,
    error: str = "",
    done_already: Collection[str] = (),
    not_begun: Mapping[str, DropCode] | None = None,
) -> tuple[SupplementResult, ...]:
    """Return the result of each supplement. Planning costs beyond the steps are split evenly.

    `done_already` holds ids of steps whose call was made before, `not_begun` of steps stopped by the cost limit. If any
    call had no price, no supplement's cost is known, because all share the plan.
    """
    not_begun = not_begun or {}
    steps: dict[int, list[StepRun]] = defaultdict(list)
    for place, one in enumerate(ran):
        steps[served_by(one.step, supplements, place=place)].append(one)
    shared_tokens = tokens - sum(one.tokens for one in ran)
    shared_usd = (cost_usd - sum((one.cost_usd for one in ran), Decimal(0))) / len(supplements)
    shared_s = (seconds - sum(one.seconds for one in ran)) / len(supplements)
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
                cost_known=cost_known,
                seconds=round(max(0.0, sum(one.seconds for one in own) + shared_s), 3),
                left_out=next((not_begun[one.step.id] for one in own if one.step.id in not_begun), None),
            )
        )
    return tuple(results)


def served_by(step: PlanStep, supplements: Sequence[Supplement], *, place: int) -> int:
    """Return the index of the supplement that a step serves.

    The step's id decides, else tool and shared words, else its position in the plan.
    """
    match = SERVES.match(step.id)
    if match and 1 <= int(match[1]) <= len(supplements):
        return int(match[1]) - 1
    words = content_of(step.description)
    alike = [
        len(words & content_of(one.operation)) + TOOL_WEIGHT * (step.tool in one.allowed_tools) for one in supplements
    ]
    best = max(alike)
    return alike.index(best) if best else min(place, len(supplements) - 1)
