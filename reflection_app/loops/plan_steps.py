"""Results and failures of plan steps, over all plans of a run, and their form in prompts."""

import json
from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import partial

from reflection_app.loops.answers import Answer, NoAnswer, NoUsableAnswer, ask, complete_answer
from reflection_app.loops.attempts import task_with_lessons
from reflection_app.loops.completeness.calls_made import CallsMade
from reflection_app.loops.completeness.checks import HistoryStep
from reflection_app.loops.completeness.sampling import CheckArm
from reflection_app.loops.diagnosis.acting import Refused, Skipped, call_with_diagnosis
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import RecordPlan, RecordPlanStep
from reflection_app.loops.framing import framed
from reflection_app.loops.plans import (
    MOST_STEPS,
    PLAN_SCHEMA,
    CheckedPlan,
    Plan,
    PlanStep,
    PlanStepOutcome,
    PlanStepState,
    check_plan,
    in_order,
)
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_calls import ToolCall
from reflection_app.loops.tool_tries import NothingNew, describe, task_of
from reflection_app.loops.values import Message, assistant, system, user
from reflection_app.loops.verdicts import Feedback, Issue, IssueCategory, Judgement, Referee, Severity, Verdict

LONGEST_RESULT = 4_000
LONGEST_RESULTS = 24_000
LONGEST_ERROR = 1_000


@dataclass(frozen=True)
class StepRun:
    """A step that was tried or skipped: its outcome, result and cost."""

    step: PlanStep
    outcome: PlanStepOutcome
    result: str = ""
    call: ToolCall | None = None
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)
    seconds: float = 0.0

    @property
    def is_done(self) -> bool:
        return self.outcome.state is PlanStepState.DONE

    @property
    def was_tried(self) -> bool:
        return self.outcome.state is not PlanStepState.SKIPPED

    @property
    def what_went_wrong(self) -> str:
        """The error of the step, or "" if it is done."""
        if self.is_done:
            return ""
        if self.outcome.waited_for:
            return f"it was skipped, because it needs {', '.join(self.outcome.waited_for)}"
        return self.outcome.error[:LONGEST_ERROR] or "it failed"


@dataclass
class Work:
    """Steps done so far by any plan, and steps of the newest plan that were not done.

    Failed supplements are stored separately, because the plan itself was carried out. `still_missing` is what the last
    completeness check found and nothing completed. `file_faults` are decisive file faults that remain after the newest
    plan. `check_arm` is the result of the sampling draw, if any. `refusal` returns why a step must not make a call,
    `stops` why no further step may start.
    """

    done: dict[str, StepRun] = field(default_factory=dict)
    not_done: dict[str, StepRun] = field(default_factory=dict)
    supplements_not_done: dict[str, StepRun] = field(default_factory=dict)
    ran: list[StepRun] = field(default_factory=list)
    made: CallsMade = field(default_factory=CallsMade)
    refusal: Callable[[PlanStep, ToolCall], str] | None = None
    stops: Callable[[PlanStep], str] | None = None
    still_missing: tuple[str, ...] = ()
    file_faults: tuple[str, ...] = ()
    check_arm: CheckArm | None = None
    done_by_newest: int = 0
    is_planned: bool = False
    is_supplementing: bool = False

    def begin(self) -> None:
        """Start a new plan, which replaces what the last one left undone."""
        self.is_planned, self.not_done, self.done_by_newest = True, {}, 0
        self.is_supplementing, self.supplements_not_done, self.still_missing = False, {}, ()
        self.refusal = self.stops = None
        self.file_faults = ()

    def begin_supplements(
        self, refusal: Callable[[PlanStep, ToolCall], str], *, stops: Callable[[PlanStep], str]
    ) -> None:
        """Count steps added from now on as supplements."""
        self.is_supplementing, self.refusal, self.stops = True, refusal, stops

    def add(self, ran: StepRun) -> None:
        self.ran.append(ran)
        if ran.is_done:
            self.done[ran.step.id] = ran
            self.done_by_newest += 1
        elif self.is_supplementing:
            self.supplements_not_done[ran.step.id] = ran
        else:
            self.not_done[ran.step.id] = ran

    @property
    def left_undone(self) -> list[StepRun]:
        return [*self.not_done.values(), *self.supplements_not_done.values()]

    def history(self) -> tuple[HistoryStep, ...]:
        """Return all steps of all plans in order, as input of a completeness check."""
        return tuple(
            HistoryStep(
                operation=ran.step.description,
                tool=ran.step.tool or "",
                arguments=ran.call.arguments if ran.call else None,
                ok=ran.is_done,
                result=ran.result or ran.what_went_wrong,
            )
            for ran in self.ran
        )

    def is_complete(self) -> bool:
        """Return True if every step of the newest plan is done and no decisive file fault remains."""
        return self.is_planned and not self.not_done and not self.file_faults

    def failures_in_words(self) -> str:
        parts = []
        for ran in self.left_undone:
            why = framed(ran.what_went_wrong, name="failure", most=LONGEST_ERROR)
            parts.append(f"Step {ran.step.id}: {ran.step.description}\n{why}")
        if self.file_faults:
            listed = "\n".join(f"- {fault}" for fault in self.file_faults)
            parts.append(f"Files that have to be there:\n{framed(listed, name='files', most=LONGEST_RESULT)}")
        return "\n\n".join(parts) or "(none)"

    def so_far(self) -> str:
        """Return the results for the next planner, or "" before the first plan."""
        if not self.is_planned:
            return ""
        return prompt("plan_again", done=results_in_words(self.done.values()), failed=self.failures_in_words()) + "\n"

    def as_answer(self) -> str:
        """Return the results themselves, for a run that stopped before its answer was written."""
        parts = ["The run stopped before its answer was written. These steps were done:"]
        parts += [f"**{ran.step.description}**\n\n{ran.result[:LONGEST_RESULT]}" for ran in self.done.values()]
        parts += [f"Not done: {ran.step.description} ({ran.what_went_wrong})" for ran in self.left_undone]
        parts += [f"Still missing: {one}" for one in self.still_missing]
        return "\n\n".join(parts)


def results_in_words(runs: Iterable[StepRun]) -> str:
    """Return the results for a prompt, each in its own frame, with a limit on their total length."""
    listed = list(runs)
    most = min(LONGEST_RESULT, LONGEST_RESULTS // max(1, len(listed)))
    return (
        "\n\n".join(
            f"Step {ran.step.id}: {ran.step.description}\n{framed(ran.result, name='result', most=most)}"
            for ran in listed
        )
        or "(none)"
    )


def judge_steps(work: Work, *, attempt: int, stopped: str = "", answer: Judgement | None = None) -> Judgement:
    """Return the tools' judgement of an attempt: the share of steps done, and PASS if all are.

    With a judgement of the `answer`, it is no better than that one. With `stopped`, the reason why the run stopped
    early, it does not pass.
    """
    total = len(work.done) + len(work.not_done)
    share = 100 * len(work.done) / total if total else 0.0
    sent_back = answer is not None and not answer.passed
    is_whole = work.is_complete() and not stopped and not sent_back
    issues = [
        Issue(
            category=IssueCategory.COMPLETENESS,
            severity=Severity.HIGH,
            description=f"Step {ran.step.id} ({ran.step.description}): {ran.what_went_wrong}.",
        )
        for ran in work.not_done.values()
    ]
    issues += [
        Issue(category=IssueCategory.COMPLETENESS, description=f"A check found that this is missing: {one}")
        for one in work.still_missing
    ]
    if stopped:
        issues.append(Issue(category=IssueCategory.COMPLETENESS, severity=Severity.HIGH, description=stopped))
    if sent_back:
        sent_back_why = "All steps were done, but the answer made from them was sent back."
        issues.append(Issue(category=IssueCategory.QUALITY, description=sent_back_why))
    return Judgement(
        attempt=attempt,
        referee=Referee.TOOL,
        verdict=Verdict.PASS if is_whole else Verdict.REVISE,
        score=share if answer is None else min(share, answer.score),
        confidence=1.0,
        issues=tuple(issues),
        feedback=Feedback(strengths=(f"{len(work.done)} of {total} steps were done.",)),
    )


# Plan creation: request a plan, check it by code, and have it revised with its issues shown

MOST_REVISIONS = 2
TEMPERATURE = 0.3
# The prompts of the first plan and of its answer contain the lessons.
PROMPTS_TOLD = 2
MOST_ISSUES_SHOWN = 20


async def make_plan(spec: TaskSpec, run: Progress, work: Work, *, number: int, part: str = "") -> Plan:
    """Return a plan that can be carried out. Each version is recorded with its issues.

    `part` is a suffix of the attempt's key for these effects. Raise EffectFailed if the plan still has issues after
    MOST_REVISIONS revisions.
    """
    is_first = number == 1 and not part
    goal = task_of(spec)
    if is_first:
        goal = await task_with_lessons(spec, run, task=goal, prompts=PROMPTS_TOLD)
    first = first_messages(spec, work, goal=goal)
    base = f"attempt-{number}{part}/plan"
    messages, key = first, f"{base}/make"
    for revision in range(MOST_REVISIONS + 1):
        run.check_limits()
        request = run.model_call(
            key=key, role="planner", messages=messages, temperature=TEMPERATURE, json_schema=PLAN_SCHEMA
        )
        plan = await ask(run, request, schema=Plan, judges=False)
        record = RecordPlan(key=f"{base}/checked-{revision + 1}", plan=_checked(plan, spec, work))
        # Check again, because a fork may have edited the recorded plan.
        checked = _checked((await run.perform(record)).plan, spec, work)
        if not checked.issues:
            return checked.plan
        # Show only the newest plan: earlier ones add nothing.
        shown = json.dumps(checked.plan.model_dump(mode="json"), ensure_ascii=False)
        issues = [f"- {issue.description}" for issue in checked.issues[:MOST_ISSUES_SHOWN]]
        if len(checked.issues) > MOST_ISSUES_SHOWN:
            issues.append(f"- … and {len(checked.issues) - MOST_ISSUES_SHOWN} more.")
        messages = (*first, assistant(shown), user(prompt("plan_revise", issues="\n".join(issues))))
        key = f"{base}/revise-{revision + 1}"
    faults = " ".join(issue.description for issue in checked.issues[:MOST_ISSUES_SHOWN])
    raise EffectFailed(f"The plan still could not be carried out after {MOST_REVISIONS} revisions. {faults}")


def _checked(plan: Plan, spec: TaskSpec, work: Work) -> CheckedPlan:
    return check_plan(plan, tools=[tool.name for tool in spec.tools], done=work.done.keys())


def first_messages(spec: TaskSpec, work: Work, *, goal: str) -> tuple[Message, ...]:
    """Return the planner's messages: the goal, the tools and, after an incomplete plan, its results."""
    asked = prompt("plan_make", goal=goal, tools=describe(spec.tools), so_far=work.so_far(), most=MOST_STEPS)
    return (system(prompt("plan_system")), user(asked))


# Plan execution: each step after those it requires, by its tool or by the model

LONGEST_KEPT_ERROR = 2_000


async def carry_out(plan: Plan, *, spec: TaskSpec, run: Progress, work: Work, number: int, part: str = "") -> None:
    """Add the result of each step of `plan` to `work`. A step with an undone requirement is skipped.

    Effect keys use a step's position in the plan, because ids are written by a model.
    """
    places = {step.id: place for place, step in enumerate(plan.steps, start=1)}
    for step in in_order(plan):
        base = f"attempt-{number}{part}/step-{places[step.id]}"
        tokens, cost_usd, active_s = run.tokens, run.cost_usd, run.active_s
        missing = tuple(required for required in dict.fromkeys(step.requires or ()) if required not in work.done)
        if why := work.stops(step) if work.stops else "":
            outcome = PlanStepOutcome(step=step.id, state=PlanStepState.SKIPPED, error=why)
            result, call = "", None
        elif missing:
            outcome = PlanStepOutcome(step=step.id, state=PlanStepState.SKIPPED, waited_for=missing)
            result, call = "", None
        else:
            outcome, result, call = await _do(step, spec=spec, run=run, work=work, base=base, number=number)
        outcome = await run.perform(RecordPlanStep(key=f"{base}/outcome", outcome=outcome))
        work.add(
            StepRun(
                step=step,
                outcome=outcome,
                result=result,
                call=call,
                tokens=run.tokens - tokens,
                cost_usd=run.cost_usd - cost_usd,
                seconds=run.active_s - active_s,
            )
        )


async def _do(
    step: PlanStep, *, spec: TaskSpec, run: Progress, work: Work, base: str, number: int
) -> tuple[PlanStepOutcome, str, ToolCall | None]:
    """Return the step's outcome, its result, and the tool call that produced it."""
    required = [work.done[name] for name in dict.fromkeys(step.requires or ())]
    task = prompt("plan_step", goal=task_of(spec), step=step.description, results=results_in_words(required))
    if step.tool is None:
        run.check_limits()
        messages = (system(prompt("write_system")), user(task))
        answer = Answer()
        try:
            await complete_answer(run, run.model_call(key=f"{base}/answer", role="actor", messages=messages), answer)
        except NoAnswer as none:
            return _failed(step, str(none)), "", None
        if not answer.is_whole or not answer.text.strip():
            why = "the answer was cut off" if answer.text.strip() else "the model said nothing"
            return _failed(step, why), "", None
        run.note_result(answer.text)
        return PlanStepOutcome(step=step.id, state=PlanStepState.DONE), answer.text, None
    tools = tuple(tool for tool in spec.tools if tool.name == step.tool)
    try:
        tries = await call_with_diagnosis(
            run,
            task=task,
            tools=tools,
            base=base,
            attempt=number,
            fallbacks=spec.tools,
            made=work.made,
            refusal=partial(work.refusal, step) if work.refusal else None,
            purpose=step.description,
        )
    except Refused as why:
        return PlanStepOutcome(step=step.id, state=PlanStepState.SKIPPED, error=str(why)), "", None
    except (NothingNew, NoUsableAnswer, Skipped) as error:
        return _failed(step, str(error)), "", None
    tried = tries[-1]
    if tried.result.ok:
        return PlanStepOutcome(step=step.id, state=PlanStepState.DONE), tried.result.content, tried.call
    return _failed(step, tried.issues[0].description), "", None


def _failed(step: PlanStep, error: str) -> PlanStepOutcome:
    return PlanStepOutcome(step=step.id, state=PlanStepState.FAILED, error=error[:LONGEST_KEPT_ERROR])
