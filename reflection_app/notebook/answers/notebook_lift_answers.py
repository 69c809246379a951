"""Lessons' lift and draws as REST tells them."""

from collections.abc import Collection
from datetime import datetime
from uuid import UUID

from pydantic import Field

from notebook_app.public import Arm, Claim, EntryKind, EntryState, Interval, KeptExposure, LessonLift, Look, level_of
from reflection_app.api.answer import Answer
from reflection_app.core.ids import id_from


class IntervalAnswer(Answer):
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


class ArmAnswer(Answer):
    """Runs that were given the lesson, or from which it was withheld."""

    outcomes: int
    successes: int = Field(description="first attempts that succeeded")
    rate: IntervalAnswer | None = Field(description="with Wilson's interval; null without outcomes")


class LookAnswer(Answer):
    """What stood there at one of the looks, which were set before: nothing is claimed between them."""

    number: int
    size: int = Field(description="outcomes of the smaller arm")
    level: float = Field(description="how likely this look may be wrong; all looks together: 5 %")
    p_value: float = Field(description="Fisher's exact test, two-sided")
    says: str = Field(description="helps, harms or open")


class LiftAnswer(Answer):
    """One lesson. `claim` follows from the looks and from how many lessons are looked at; the intervals describe."""

    entry_id: UUID
    name: str
    kind: EntryKind
    state: EntryState
    recalled: int = Field(description="how often it was given to somebody at work")
    given: ArmAnswer
    withheld: ArmAnswer
    difference: IntervalAnswer | None = Field(description="given minus withheld, with Newcombe's interval")
    claim: Claim
    looks: list[LookAnswer]
    next_look_at: int = Field(description="outcomes of the smaller arm at the next look")
    needs_runs: int | None = Field(description="about how many more runs, for a power of 80 %; null: out of reach")
    needs_runs_for_difference: float
    mixed_shares: bool = Field(description="whether the share that is withheld was changed meanwhile")


class LiftPageAnswer(Answer):
    holdout_share: float = Field(description="from what share of the runs each lesson is withheld from now on")
    results: list[LiftAnswer]
    next: str | None = Field(description="the address of the next page")


class ExposureAnswer(Answer):
    """One draw: it is withheld where `draw` is below `share`."""

    id: UUID
    subject: str
    run_id: UUID | None = Field(description="where the subject is a run of this project")
    entry_version: int
    rank: int
    score: float
    share: float
    draw: float
    withheld: bool
    counted: bool
    succeeded: bool | None = Field(description="how the first attempt went; null while nothing tells")
    settled_at: datetime | None
    created_at: datetime


class ExposurePageAnswer(Answer):
    results: list[ExposureAnswer]
    next: str | None = Field(description="the address of the next page")


def lift_answer(lesson: LessonLift) -> LiftAnswer:
    measured = lesson.measured
    return LiftAnswer(
        entry_id=lesson.entry_id,
        name=lesson.name,
        kind=lesson.kind,
        state=lesson.state,
        recalled=lesson.recalled,
        given=_arm(measured.given, measured.given_rate),
        withheld=_arm(measured.withheld, measured.withheld_rate),
        difference=_interval(measured.difference),
        claim=lesson.claim,
        looks=[_look(look) for look in measured.judged.looks],
        next_look_at=measured.judged.next_size,
        needs_runs=measured.needed.more_runs,
        needs_runs_for_difference=measured.needed.difference,
        mixed_shares=measured.has_mixed_shares,
    )


def exposure_answer(one: KeptExposure, *, runs: Collection[UUID]) -> ExposureAnswer:
    run_id = id_from(one.subject)
    return ExposureAnswer(
        id=one.id,
        subject=one.subject,
        run_id=run_id if run_id in runs else None,
        entry_version=one.entry_version,
        rank=one.rank,
        score=one.score,
        share=one.share,
        draw=one.draw,
        withheld=one.is_withheld,
        counted=one.is_counted,
        succeeded=one.succeeded,
        settled_at=one.settled_at,
        created_at=one.created_at,
    )


def _arm(arm: Arm, rate: Interval | None) -> ArmAnswer:
    return ArmAnswer(outcomes=arm.outcomes, successes=arm.successes, rate=_interval(rate))


def _interval(found: Interval | None) -> IntervalAnswer | None:
    return IntervalAnswer(estimate=found.estimate, low=found.low, high=found.high) if found else None


def _look(look: Look) -> LookAnswer:
    return LookAnswer(
        number=look.number,
        size=look.size,
        level=level_of(look.number),
        p_value=look.p_value,
        says=look.says.value,
    )
