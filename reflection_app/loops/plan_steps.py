"""What the steps of a plan came to, over all plans of a run: results, failures, and what a prompt is told of them."""

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
    """A step that was tried or skipped, how it ended, its result, and what it cost."""

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
        """Empty where nothing did."""
        if self.is_done:
            return ""
        if self.outcome.waited_for:
            return f"it was skipped, because it needs {', '.join(self.outcome.waited_for)}"
        return self.outcome.error[:LONGEST_ERROR] or "it failed"


@dataclass
class Work:
    """Steps done so far, by any plan, and those of the newest plan that were not.

    Supplements that were not done are kept apart: the plan was carried out all the same. `still_missing` is what the
    last completeness check found and nobody did. `file_faults` are those of the files that the newest plan has left,
    and decide. `check_arm` is the result of the draw, where there was one. `refusal` says why a step must not
    make a call, where it must not, and `stops` why no further one is begun.
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
        """A new plan replaces what the last one left undone."""
        self.is_planned, self.not_done, self.done_by_newest = True, {}, 0
        self.is_supplementing, self.supplements_not_done, self.still_missing = False, {}, ()
        self.refusal = self.stops = None
        self.file_faults = ()

    def begin_supplements(
        self, refusal: Callable[[PlanStep, ToolCall], str], *, stops: Callable[[PlanStep], str]
    ) -> None:
        """Steps that are added from now on are those of a supplementary plan."""
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
        """All steps of all plans in their order, as a completeness check is told of them."""
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
        """Whether every step of the newest plan was done, and no file that decides is missing or faulty."""
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
        """What the next planner is told; nothing before the first plan."""
        if not self.is_planned:
            return ""
        return prompt("plan_again", done=results_in_words(self.done.values()), failed=self.failures_in_words()) + "\n"

    def as_answer(self) -> str:
        """The results themselves, for a run that was stopped before an answer was written from them."""
        parts = ["The run stopped before its answer was written. These steps were done:"]
        parts += [f"**{ran.step.description}**\n\n{ran.result[:LONGEST_RESULT]}" for ran in self.done.values()]
        parts += [f"Not done: {ran.step.description} ({ran.what_went_wrong})" for ran in self.left_undone]
        parts += [f"Still missing: {one}" for one in self.still_missing]
        return "\n\n".join(parts)


def results_in_words(runs: Iterable[StepRun]) -> str:
    """Results as a prompt shows them, each in a frame of its own and all of them bounded together."""
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
    """The tools' word on an attempt: the share of steps that were done, and PASS where that is all of them.

    With a judgement of the `answer`, it is no better than that one. What was `stopped` before the end is not passed.
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


# Making a plan: asked for, checked by code, and put right with what was wrong with it in view.

MOST_REVISIONS = 2
TEMPERATURE = 0.3
# Lessons are told where the first plan is made and where its answer is written.
PROMPTS_TOLD = 2
MOST_ISSUES_SHOWN = 20


async def make_plan(spec: TaskSpec, run: Progress, work: Work, *, number: int, part: str = "") -> Plan:
    """A plan that can be carried out; every version is recorded with its issues, under `part` of the attempt's keys.

    Raises EffectFailed where it still cannot after `MOST_REVISIONS` revisions.
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
        # Checked again, because a person may have edited the recorded plan in a fork.
        checked = _checked((await run.perform(record)).plan, spec, work)
        if not checked.issues:
            return checked.plan
        # Only the newest plan is shown again: an earlier one has nothing to teach that its successor has not.
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
    """What the planner is asked: the goal, the tools and, after a plan that was not all done, what came of it."""
    asked = prompt("plan_make", goal=goal, tools=describe(spec.tools), so_far=work.so_far(), most=MOST_STEPS)
    return (system(prompt("plan_system")), user(asked))


# Carrying out a plan: each step after those that it requires, by its tool or by the model.

LONGEST_KEPT_ERROR = 2_000


async def carry_out(plan: Plan, *, spec: TaskSpec, run: Progress, work: Work, number: int, part: str = "") -> None:
    """Adds to `work` how each step of `plan` ended. A step that needs one which was not done is skipped.

    Steps are named in the journal by their place in the plan: ids are a model's words.
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
    """How the step ended, its result, and the call of a tool that brought it."""
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
