"""What the steps of a plan came to, over all plans of a run: results, failures, and what a prompt is told of them."""

from collections.abc import Iterable
from dataclasses import dataclass, field
from decimal import Decimal

from reflection_app.loops.completeness.checks import HistoryStep
from reflection_app.loops.plans import PlanStep, PlanStepOutcome, PlanStepState
from reflection_app.loops.prompts import prompt
from reflection_app.loops.tool_frames import framed
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
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)

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
        if self.outcome.state is PlanStepState.SKIPPED:
            return f"it was skipped, because it needs {', '.join(self.outcome.waited_for)}"
        return self.outcome.error[:LONGEST_ERROR] or "it failed"


@dataclass
class Work:
    """Steps done so far, by any plan, and those of the newest plan that were not.

    Supplements that were not done are kept apart: the plan was carried out all the same. `still_missing` is what the
    last completeness check found and nobody did.
    """

    done: dict[str, StepRun] = field(default_factory=dict)
    not_done: dict[str, StepRun] = field(default_factory=dict)
    supplements_not_done: dict[str, StepRun] = field(default_factory=dict)
    ran: list[StepRun] = field(default_factory=list)
    still_missing: tuple[str, ...] = ()
    done_by_newest: int = 0
    is_planned: bool = False
    is_supplementing: bool = False

    def begin(self) -> None:
        """A new plan replaces what the last one left undone."""
        self.is_planned, self.not_done, self.done_by_newest = True, {}, 0
        self.is_supplementing, self.supplements_not_done, self.still_missing = False, {}, ()

    def begin_supplements(self) -> None:
        """Steps that are added from now on are those of a supplementary plan."""
        self.is_supplementing = True

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
                ok=ran.is_done,
                result=ran.result or ran.what_went_wrong,
            )
            for ran in self.ran
        )

    def is_complete(self) -> bool:
        """Whether every step of the newest plan was done."""
        return self.is_planned and not self.not_done

    def told_done(self) -> str:
        return told(self.done.values())

    def told_failed(self) -> str:
        return "\n\n".join(_told_failure(ran) for ran in self.left_undone) or "(none)"

    def so_far(self) -> str:
        """What the next planner is told; nothing before the first plan."""
        return prompt("plan_again", done=self.told_done(), failed=self.told_failed()) + "\n" if self.is_planned else ""

    def as_answer(self) -> str:
        """The results themselves, for a run that was stopped before an answer was written from them."""
        parts = ["The run stopped before its answer was written. These steps were done:"]
        parts += [f"**{ran.step.description}**\n\n{ran.result[:LONGEST_RESULT]}" for ran in self.done.values()]
        parts += [f"Not done: {ran.step.description} ({ran.what_went_wrong})" for ran in self.left_undone]
        parts += [f"Still missing: {one}" for one in self.still_missing]
        return "\n\n".join(parts)


def told(runs: Iterable[StepRun]) -> str:
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


def _told_failure(ran: StepRun) -> str:
    why = framed(ran.what_went_wrong, name="failure", most=LONGEST_ERROR)
    return f"Step {ran.step.id}: {ran.step.description}\n{why}"


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
        told_back = "All steps were done, but the answer made from them was sent back."
        issues.append(Issue(category=IssueCategory.QUALITY, description=told_back))
    return Judgement(
        attempt=attempt,
        referee=Referee.TOOL,
        verdict=Verdict.PASS if is_whole else Verdict.REVISE,
        score=share if answer is None else min(share, answer.score),
        confidence=1.0,
        issues=tuple(issues),
        feedback=Feedback(strengths=(f"{len(work.done)} of {total} steps were done.",)),
    )
