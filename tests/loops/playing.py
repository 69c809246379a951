"""Driving a loop by hand: each effect is answered by the test, and everything asked for is kept."""

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from functools import partial
from typing import Any

from desk_sandbox.code_tests import CallCase, CodeTests, FailureReason, TestReport, TestResult
from reflection_app.loops.after.findings import SessionRead
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    Decision,
    Draw,
    Drawn,
    Generate,
    Generation,
    KeepAttempt,
    RequestAudit,
    ReviewDecision,
    RunTests,
    Wait,
)
from reflection_app.loops.catalogue import run_loop
from reflection_app.loops.completeness.checks import Likeness
from reflection_app.loops.completeness.records import Records
from reflection_app.loops.completeness.sampling import CheckLots
from reflection_app.loops.diagnosis.diagnoses import FixRecall
from reflection_app.loops.effect import EffectFailed, Performed, Spent
from reflection_app.loops.effects import (
    AnyEffect,
    CompareSupplements,
    DrawCheck,
    EstimateSupplements,
    FindSimilarIssues,
    IssueTicket,
    ReadSession,
    RecallFix,
    RecordReport,
)
from reflection_app.loops.lessons import Lessons, RecallLessons
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import KeptReport
from reflection_app.loops.task_spec import Limits, Mode, ReviewPolicy, TaskSpec
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.verdicts import Ended, Verdict

TESTS = CodeTests(entry_point="f", cases=(CallCase(args=(1,), expected=2), CallCase(args=(2,), expected=3)))
NOON = datetime(2026, 1, 1, 12, tzinfo=UTC)
NO_AUDIT = ReviewPolicy(audit_share=0)

Answer = Callable[[AnyEffect], Any]


@dataclass
class Played:
    ended: Ended
    effects: list[AnyEffect] = field(default_factory=list)

    @property
    def keys(self) -> list[str]:
        return [effect.key for effect in self.effects]

    def of[Kind](self, kind: type[Kind]) -> list[Kind]:
        """The effects of one kind, in the order of the run."""
        return [effect for effect in self.effects if isinstance(effect, kind)]


def play(spec: TaskSpec, answer: Answer) -> Played:
    """The loop's end when `answer` performs its effects; a returned exception is raised inside of the loop."""
    loop = run_loop(spec)
    effects: list[AnyEffect] = []
    resume: Callable[[], Any] = partial(loop.send, None)
    while True:
        try:
            effect = resume()
        except StopIteration as stop:
            return Played(ended=stop.value, effects=effects)
        effects.append(effect)
        result = answer(effect)
        if isinstance(result, EffectFailed):
            resume = partial(loop.throw, result)
        else:
            resume = partial(loop.send, result if isinstance(result, Performed) else Performed(value=result))


def code_spec(**limits: Any) -> TaskSpec:
    return TaskSpec(objective="add one", mode=Mode.EXTERNAL_LOOP, tests=TESTS, limits=Limits(**limits))


def text_spec(*, policy: ReviewPolicy = NO_AUDIT, **limits: Any) -> TaskSpec:
    return TaskSpec(objective="write a haiku", mode=Mode.ACTOR_CRITIC, limits=Limits(**limits), review_policy=policy)


def said(text: str, *, tokens: int = 10, cost_usd: str = "0", duration_s: float = 0.1) -> Performed[Generation]:
    spent = Spent(
        prompt_tokens=tokens // 2,
        completion_tokens=tokens - tokens // 2,
        cost_usd=Decimal(cost_usd),
        duration_s=duration_s,
    )
    return Performed(value=Generation(text=text, model="m"), spent=spent)


def decided(verdict: Verdict, *, score: float = 60, reason: str = "Name the season.", **more: Any) -> ReviewDecision:
    """A reviewer's own verdict."""
    return ReviewDecision(
        decision=Decision.OVERRULE, verdict=verdict, score=score, reason=reason, reviewer="ann", **more
    )


def report(*passed: bool) -> TestReport:
    return TestReport(
        results=tuple(
            TestResult(name=f"t{number}", passed=ok, reason=None if ok else FailureReason.WRONG_ANSWER, actual="7")
            for number, ok in enumerate(passed)
        )
    )


def sequence(answers: list[Any]) -> Answer:
    """Answers in turn for everything that asks the outside; draws never hit, records are kept."""
    waiting = iter(answers)

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, Generate | RunTests | AskReviewer):
            return next(waiting)
        return noted(effect)

    return answer


def noted(effect: AnyEffect) -> Any:
    """The result of an effect that asks nothing of the outside, as the runner gives it.

    Draws never hit, and the desk's memory is empty.
    """
    if isinstance(effect, Draw):
        return Drawn(value=0.999, share=effect.share)
    if isinstance(effect, DrawCheck):
        return CheckLots(share=effect.share, sampled_by=0.0)
    if isinstance(effect, RequestAudit | KeepAttempt | Wait):
        return None
    if isinstance(effect, ReadSession):
        return SessionRead(objective="do it", conversation="[1] user: do it")
    if (remembered := _remembered(effect)) is not None:
        return remembered
    [recorded] = [getattr(effect, name) for name in type(effect).model_fields if name != "key"]
    return recorded


def _remembered(effect: AnyEffect) -> Any:
    """What the desk's memory or its clock gives, None for other effects."""
    if isinstance(effect, FindSimilarIssues):
        return SimilarIssues()
    if isinstance(effect, RecallFix):
        return FixRecall()
    if isinstance(effect, RecallLessons):
        return Lessons()
    if isinstance(effect, CompareSupplements):
        return Likeness()
    if isinstance(effect, EstimateSupplements):
        return Records()
    if isinstance(effect, IssueTicket):
        return Ticket(ticket_id=f"rewind_20260101_120000_{effect.draft.attempt}", timestamp=NOON, **dict(effect.draft))
    if isinstance(effect, RecordReport):
        name = effect.report.reflection_id or f"ref_20260101_120000_{effect.report.attempt}"
        return KeptReport(reflection_id=name, timestamp=NOON)
    return None
