"""The forms of answers about calibration."""

from datetime import date

from pydantic import Field

from reflection_app.api.answer import Answer
from reflection_app.loops.verdicts import Verdict
from reflection_app.metrics.calibration import Calibration
from reflection_app.metrics.calibration_figures import CalibrationFigures
from reflection_app.metrics.compared import CriticCalibration, JudgementSource
from reflection_app.metrics.critic_rows import Judging
from reflection_app.metrics.intervals import Interval
from reflection_app.metrics.reliability import Bin


class RangeAnswer(Answer):
    """A figure with its 95 % interval."""

    estimate: float
    low: float
    high: float


class MatrixCellAnswer(Answer):
    critic: Verdict
    people: Verdict
    seen: int = Field(description="how many were compared")
    share: float = Field(description="which share of all the critic's verdicts they stand for")


class VerdictFiguresAnswer(Answer):
    verdict: Verdict
    precision: RangeAnswer | None
    recall: RangeAnswer | None


class BinAnswer(Answer):
    low: float = Field(description="the least confidence of the bin")
    high: float = Field(description="where the next one begins")
    seen: int
    share: float
    confidence: float = Field(description="the mean confidence")
    right: RangeAnswer = Field(description="how often people agreed")


class ReliabilityAnswer(Answer):
    """Over the verdicts with which the critic gave a confidence."""

    pairs: int
    error: float | None = Field(description="expected calibration error, over 10 bins of equal width")
    overconfidence: RangeAnswer | None = Field(description="mean confidence minus how often it was right")
    bins: list[BinAnswer]


class CriticAnswer(Answer):
    source: JudgementSource = Field(description="the desk's own reviews, or judgements that were imported")
    model: str
    prompt_version: str
    pairs: int = Field(description="how many verdicts were compared")
    worth: float = Field(description="how many that were drawn evenly and independently would say as much")
    agreed: RangeAnswer | None
    kappa: RangeAnswer | None = Field(description="Cohen's κ; null where both always said one and the same")
    precision: RangeAnswer | None = Field(description="of what the critic passed, what people pass")
    recall: RangeAnswer | None = Field(description="of what people pass, what the critic passed")
    false_pass: RangeAnswer | None = Field(description="of what people send back, what the critic passed")
    false_fail: RangeAnswer | None = Field(description="of what people pass, what the critic sent back")
    matrix: list[MatrixCellAnswer]
    by_verdict: list[VerdictFiguresAnswer]
    reliability: ReliabilityAnswer


class CalibrationAnswer(Answer):
    """Critics in the order of how much is known of them."""

    since: date
    until: date
    critics: list[CriticAnswer]
    waiting: int = Field(description="verdicts of the period that were put before people and are not decided")
    withdrawn: int = Field(description="those of which the run ended first")
    by_keys: int = Field(description="verdicts that keys alone decided about, which no person judged; in no figure")
    split_items: int = Field(description="imported items on which people have no majority; they are in no figure")
    unjudged_items: int = Field(description="imported items that no person has judged")


def calibration_answer(found: CalibrationFigures, judging: Judging) -> CalibrationAnswer:
    return CalibrationAnswer(
        since=judging.since,
        until=judging.until,
        critics=[_critic(one) for one in found.critics],
        waiting=found.drawn.waiting,
        withdrawn=found.drawn.withdrawn,
        by_keys=found.drawn.by_keys,
        split_items=found.undecided.split,
        unjudged_items=found.undecided.unjudged,
    )


def _critic(one: CriticCalibration) -> CriticAnswer:
    figures = one.calibration
    shares = ("agreed", "kappa", "precision", "recall", "false_pass", "false_fail")
    return CriticAnswer(
        source=one.critic.source,
        model=one.critic.model,
        prompt_version=one.critic.version,
        pairs=figures.pairs,
        worth=figures.worth,
        **{name: _interval(getattr(figures, name)) for name in shares},
        matrix=[
            MatrixCellAnswer(critic=Verdict(cell.critic), people=Verdict(cell.people), seen=cell.seen, share=cell.share)
            for cell in figures.matrix
        ],
        by_verdict=[
            VerdictFiguresAnswer(
                verdict=Verdict(of.verdict), precision=_interval(of.precision), recall=_interval(of.recall)
            )
            for of in figures.by_verdict
        ],
        reliability=_reliability(figures),
    )


def _reliability(figures: Calibration) -> ReliabilityAnswer:
    found = figures.reliability
    return ReliabilityAnswer(
        pairs=found.pairs,
        error=found.error,
        overconfidence=_interval(found.overconfidence),
        bins=[_bin(one) for one in found.bins],
    )


def _bin(one: Bin) -> BinAnswer:
    right = RangeAnswer(estimate=one.right.estimate, low=one.right.low, high=one.right.high)
    return BinAnswer(low=one.low, high=one.high, seen=one.seen, share=one.share, confidence=one.confidence, right=right)


def _interval(interval: Interval | None) -> RangeAnswer | None:
    if interval is None:
        return None
    return RangeAnswer(estimate=interval.estimate, low=interval.low, high=interval.high)
