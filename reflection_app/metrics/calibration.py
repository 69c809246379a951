"""How far a critic can be believed: what it said beside what people said of the same work. Pure.

What people say counts as right. All figures are of the critic's verdicts as a whole, not of those that happened to be
reviewed: each pair weighs as many as its chance of being reviewed says.
"""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import product
from typing import NamedTuple
from uuid import UUID

from django.db.models import OuterRef, Q, QuerySet, Subquery

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.verdicts import Referee, Verdict
from reflection_app.metrics.models import CriticJudgement, PersonsJudgement
from reflection_app.metrics.statistics import (
    Case,
    Interval,
    difference,
    kappa_of,
    mean_of,
    share_of,
    weighted_mean,
    worth,
)
from reflection_app.reviews.models import PanelState, Review
from reflection_app.runs.models import Step

# Whether a critic is right as often as its confidence says. Pure.
#
# Sources: A. H. Murphy, R. L. Winkler, "Reliability of Subjective Probability Forecasts of Precipitation and
# Temperature", Applied Statistics 26, 1977 (the curve); M. P. Naeini, G. F. Cooper, M. Hauskrecht, "Obtaining Well
# Calibrated Probabilities Using Bayesian Binning", AAAI 2015 (the calibration error, over bins of equal width).

BINS = 10


class Said(NamedTuple):
    """A confidence, and whether the verdict that it was said of was right: 1 or 0."""

    confidence: float
    right: Case


@dataclass(frozen=True)
class Bin:
    """Verdicts whose confidence is at least `low` and below `high`; the last bin includes 1.

    `confidence` is their mean, `right` the rate at which people agreed, and `share` their part of all verdicts with a
    confidence.
    """

    low: float
    high: float
    seen: int
    share: float
    confidence: float
    right: Interval


@dataclass(frozen=True)
class Reliability:
    """`error` is the expected calibration error Σ_b share_b · |right_b − confidence_b|.

    It is never negative, so chance alone inflates it; it has no interval. `overconfidence` is mean confidence minus
    accuracy: above 0, the critic is right less often than its confidence suggests.
    """

    pairs: int
    bins: tuple[Bin, ...]
    error: float | None
    overconfidence: Interval | None


def reliability_of(said: Sequence[Said]) -> Reliability:
    """The curve and its figures; without bins where the critic gave no confidence."""
    total = sum(one.right.weight for one in said)
    binned: dict[int, list[Said]] = {}
    for one in said:
        binned.setdefault(min(int(one.confidence * BINS), BINS - 1), []).append(one)
    bins = []
    for number, of_bin in sorted(binned.items()):
        right, confidence = share_of([one.right for one in of_bin]), weighted_mean(_confidences(of_bin))
        assert right is not None
        assert confidence is not None
        bins.append(
            Bin(
                low=number / BINS,
                high=(number + 1) / BINS,
                seen=len(of_bin),
                share=sum(one.right.weight for one in of_bin) / total,
                confidence=confidence,
                right=right,
            )
        )
    mean_confidence, right = mean_of(_confidences(said)), share_of([one.right for one in said])
    between = mean_of([Case(one.confidence - one.right.value, one.right.weight, one.right.cluster) for one in said])
    overconfidence = None
    if mean_confidence is not None and right is not None and between is not None:
        # The wider of two intervals at each end. Taking confidence and being right for independent is too narrow where
        # a critic is surer when it is wrong; the normal interval of what lies between them where few were wrong.
        apart = difference(mean_confidence, right)
        overconfidence = Interval(between.estimate, low=min(apart.low, between.low), high=max(apart.high, between.high))
    return Reliability(
        pairs=len(said),
        bins=tuple(bins),
        error=sum(one.share * abs(one.right.estimate - one.confidence) for one in bins) if bins else None,
        overconfidence=overconfidence,
    )


def _confidences(said: Sequence[Said]) -> list[Case]:
    return [Case(one.confidence, one.right.weight, one.right.cluster) for one in said]


type Asked = Callable[["Judged"], bool]

PASS = Verdict.PASS
# From the best to the worst, as matrices are read.
VERDICTS = (PASS, Verdict.REVISE, Verdict.REJECT)


@dataclass(frozen=True, slots=True)
class Judged:
    """What a critic and what people said of one thing. `weight` is 1 by its chance of being reviewed.

    Things of one `cluster`, the attempts of a run, are alike, so that they say less than as many unlike ones.
    """

    critic: str
    people: str
    weight: float = 1.0
    confidence: float | None = None
    cluster: Hashable = None


@dataclass(frozen=True)
class MatrixCell:
    """Number of pairs seen, and the share of all the critic's verdicts that they represent."""

    critic: Verdict
    people: Verdict
    seen: int
    share: float


@dataclass(frozen=True)
class OfVerdict:
    """`precision`: of the attempts with this verdict from the critic, the share with the same one from people.
    `recall`: of the attempts with this verdict from people, the share with the same one from the critic.
    """

    verdict: Verdict
    precision: Interval | None
    recall: Interval | None


@dataclass(frozen=True)
class Calibration:
    """`worth` is how many unweighted independent pairs would say as much.

    `agreed` is P(critic = people) and `kappa` what of it is beyond chance. `false_pass` is P(critic PASS | people not
    PASS), what it lets through of all that people send back; `false_fail` is P(critic not PASS | people PASS).
    """

    pairs: int
    worth: float
    matrix: tuple[MatrixCell, ...]
    agreed: Interval | None
    kappa: Interval | None
    false_pass: Interval | None
    false_fail: Interval | None
    by_verdict: tuple[OfVerdict, ...]
    reliability: Reliability

    @property
    def precision(self) -> Interval | None:
        """Of what the critic passed, the share that people pass."""
        return self.by_verdict[0].precision

    @property
    def recall(self) -> Interval | None:
        """Of what people pass, the share that the critic passed."""
        return self.by_verdict[0].recall


def calibration_of(judged: Sequence[Judged]) -> Calibration:
    """The figures over what was judged by both."""
    cases = [_case(one, 1.0, number) for number, one in enumerate(judged)]
    seen = Counter((one.critic, one.people) for one in judged)
    weights: dict[tuple[str, str], float] = defaultdict(float)
    for one in judged:
        weights[one.critic, one.people] += one.weight
    total = sum(weights.values())
    return Calibration(
        pairs=len(judged),
        worth=worth(cases),
        # All nine cells, the critic's verdicts in rows.
        matrix=tuple(
            MatrixCell(*pair, seen[pair], weights.get(pair, 0.0) / total if total else 0.0)
            for pair in product(VERDICTS, VERDICTS)
        ),
        agreed=_share(judged, of=lambda one: True, that=lambda one: one.critic == one.people),
        kappa=kappa_of([((one.critic, one.people), case) for one, case in zip(judged, cases, strict=True)]),
        false_pass=_share(judged, of=lambda one: one.people != PASS, that=lambda one: one.critic == PASS),
        false_fail=_share(judged, of=lambda one: one.people == PASS, that=lambda one: one.critic != PASS),
        by_verdict=tuple(_of_verdict(judged, verdict) for verdict in VERDICTS),
        reliability=reliability_of(
            [
                Said(one.confidence, _case(one, float(one.critic == one.people), number))
                for number, one in enumerate(judged)
                if one.confidence is not None
            ]
        ),
    )


def _case(one: Judged, value: float, number: int) -> Case:
    return Case(value, one.weight, one.cluster if one.cluster is not None else number)


def _share(judged: Sequence[Judged], *, of: Asked, that: Asked) -> Interval | None:
    return share_of([_case(one, float(that(one)), number) for number, one in enumerate(judged) if of(one)])


def _of_verdict(judged: Sequence[Judged], verdict: Verdict) -> OfVerdict:
    return OfVerdict(
        verdict=verdict,
        precision=_share(judged, of=lambda one: one.critic == verdict, that=lambda one: one.people == verdict),
        recall=_share(judged, of=lambda one: one.people == verdict, that=lambda one: one.critic == verdict),
    )


# What critics said beside what people said, critic by critic. Pure.


class JudgementSource(StrEnum):
    """DESK: runs of this project. IMPORTED: judgments from elsewhere."""

    DESK = "desk"
    IMPORTED = "imported"


@dataclass(frozen=True, slots=True)
class Critic:
    """A model with a version of its prompt. What came from elsewhere is never put together with the desk's own."""

    source: JudgementSource
    model: str
    version: str


@dataclass(frozen=True, slots=True)
class Compared:
    """`behind` is the review of the desk, or the imported item."""

    critic: Critic
    judged: Judged
    behind: UUID


@dataclass(frozen=True)
class CriticCalibration:
    critic: Critic
    calibration: Calibration


def majority(verdicts: Iterable[str]) -> str | None:
    """The verdict that more than half of the people gave; None where there is no such one."""
    said = Counter(verdicts)
    if not said:
        return None
    verdict, times = said.most_common(1)[0]
    return verdict if 2 * times > said.total() else None


def by_critic(rows: Sequence[Compared]) -> tuple[CriticCalibration, ...]:
    """Each critic with its figures, those of which most is known first."""
    found: dict[Critic, list[Judged]] = {}
    for row in rows:
        found.setdefault(row.critic, []).append(row.judged)
    in_order = sorted(found.items(), key=lambda item: (-len(item[1]), item[0].source, item[0].model, item[0].version))
    return tuple(CriticCalibration(critic, calibration_of(judged)) for critic, judged in in_order)


# Judgements from elsewhere: what each critic said of an item beside what most people said of it.

MOST_COMPARED = 20_000


@dataclass(frozen=True)
class Undecided:
    """Items that a critic judged and that are in no figure: people were split, or nobody said anything."""

    split: int
    unjudged: int


def compared_items(project_id: UUID) -> tuple[list[Compared], Undecided]:
    """The newest judgements of critics on items where people have a majority, and how many items have none.

    All weigh the same: nothing is known of how they were chosen. What several critics say of one item are figures of
    their own, so that no item counts twice in any.
    """
    said: dict[UUID, list[str]] = defaultdict(list)
    people = PersonsJudgement.objects.filter(item__project=project_id)
    for item_id, verdict in people.values_list("item", "verdict").iterator():
        said[item_id].append(verdict)
    agreed = {item_id: majority(verdicts) for item_id, verdicts in said.items()}
    found: list[Compared] = []
    left_out: set[UUID] = set()
    columns = ("item", "model", "prompt_version", "verdict", "confidence")
    newest = CriticJudgement.objects.filter(item__project=project_id).order_by("-created_at", "-id")
    for item_id, model, version, verdict, confidence in newest.values_list(*columns)[:MOST_COMPARED]:
        right = agreed.get(item_id)
        if right is None:
            left_out.add(item_id)
        else:
            critic = Critic(JudgementSource.IMPORTED, model=model, version=version)
            found.append(Compared(critic, Judged(verdict, right, confidence=confidence), behind=item_id))
    split = sum(item_id in agreed for item_id in left_out)
    return found, Undecided(split=split, unjudged=len(left_out) - split)


# Which of people's decisions were about a critic's own verdict, and whose.

# Who says it in the name of which referee.
ROLES = {Referee.CRITIC: "critic", Referee.SELF: "self"}


def decided_about_critics(decided: QuerySet[Review]) -> QuerySet[Review]:
    """Of the decided reviews one for each verdict that a model gave, with the model's name as `critic`.

    Left out are copies in forks, what a person edited, runs that do again what was judged before, and panels whose
    dispute nobody has settled. Of several people who agree, one stands for all.
    """
    settled = Q(panel__isnull=True) | Q(panel__state=PanelState.SETTLED)
    said = decided.filter(
        settled,
        run__parent__isnull=True,
        decided_verdict__isnull=False,
        verdict__referee__in=[referee.value for referee in ROLES],
        verdict__step__is_inherited=False,
        verdict__step__edited_by_label="",
    )
    once = said.order_by("verdict_id", "-decided_at", "-id").distinct("verdict_id").values("pk")
    asked = Step.objects.filter(
        run=OuterRef("run"), role__in=ROLES.values(), kind=Generate.kind, seq__lt=OuterRef("verdict__step__seq")
    )
    return Review.objects.filter(pk__in=once).annotate(critic=Subquery(asked.order_by("-seq").values("model")[:1]))
