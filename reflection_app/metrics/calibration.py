"""How far a critic can be believed: what it said beside what people said of the same work. Pure.

What people say counts as right. All figures are of the critic's verdicts as a whole, not of those that happened to be
reviewed: each pair weighs as many as its chance of being reviewed says.
"""

from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass

from reflection_app.loops.verdicts import Verdict
from reflection_app.metrics.intervals import Interval
from reflection_app.metrics.reliability import Reliability, Said, reliability_of
from reflection_app.metrics.weighted_kappa import kappa_of
from reflection_app.metrics.weighted_samples import Case, share_of, worth

type Asked = Callable[["Judged"], bool]

PASS = Verdict.PASS.value
# From the best to the worst, as matrices are read.
VERDICTS = (PASS, Verdict.REVISE.value, Verdict.REJECT.value)


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
    """How many pairs were seen, and which share of all the critic's verdicts they stand for."""

    critic: str
    people: str
    seen: int
    share: float


@dataclass(frozen=True)
class OfVerdict:
    """`precision`: of what the critic gave this verdict, the share to which people gave it, too. `recall`: of what
    people gave it, the share to which the critic did."""

    verdict: str
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
    return Calibration(
        pairs=len(judged),
        worth=worth(cases),
        matrix=_matrix(judged),
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


def _of_verdict(judged: Sequence[Judged], verdict: str) -> OfVerdict:
    return OfVerdict(
        verdict=verdict,
        precision=_share(judged, of=lambda one: one.critic == verdict, that=lambda one: one.people == verdict),
        recall=_share(judged, of=lambda one: one.people == verdict, that=lambda one: one.critic == verdict),
    )


def _matrix(judged: Sequence[Judged]) -> tuple[MatrixCell, ...]:
    """All nine cells, the critic's verdicts in rows."""
    seen: dict[tuple[str, str], int] = {}
    weights: dict[tuple[str, str], float] = {}
    for one in judged:
        pair = one.critic, one.people
        seen[pair] = seen.get(pair, 0) + 1
        weights[pair] = weights.get(pair, 0.0) + one.weight
    total = sum(weights.values())
    return tuple(
        MatrixCell(critic, people, seen.get((critic, people), 0), _part(weights, (critic, people), total))
        for critic in VERDICTS
        for people in VERDICTS
    )


def _part(weights: Mapping[tuple[str, str], float], pair: tuple[str, str], total: float) -> float:
    return weights.get(pair, 0.0) / total if total else 0.0
