"""Ratings of those whose answers were compared: Bradley and Terry's model with ties, as Davidson has them. Pure.

Of contestants i and j with strengths e^θ, i is preferred with p ∝ e^θ_i, j with p ∝ e^θ_j, and neither with
p ∝ ν·e^((θ_i + θ_j)/2). In θ and δ = ln ν that is a multinomial logit, so its log-likelihood is concave: Newton's
method finds the one maximum, where there is one (`why_unrated` says where there is none), and the information there
gives the intervals. Judgements of the same pair are no independent ones: the variance is that of the pairs' sums (the
sandwich), and never less than what the model alone says.

Sources: R. A. Bradley, M. E. Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; R. R. Davidson,
"On Extending the Bradley-Terry Model to Accommodate Ties", JASA 65, 1970; L. R. Ford, "Solution of a Ranking Problem
from Binary Comparisons", American Mathematical Monthly 64, 1957; A. Albert, J. A. Anderson, "On the Existence of
Maximum Likelihood Estimates in Logistic Regression Models", Biometrika 71, 1984; H. White, Econometrica 50, 1982.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import exp, log
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np

from reflection_app.metrics.statistics import Z_95

type Vector = np.ndarray[Any, np.dtype[np.float64]]
type Places = np.ndarray[Any, np.dtype[np.int64]]

# Ratings are told on the scale of chess: 400 points are odds of ten to one, and all together have 1,000 on average.
POINTS = 400 / log(10)
AVERAGE = 1_000.0
MOST_STEPS = 100
CLOSE_ENOUGH = 1e-10


class Winner(StrEnum):
    FIRST = "first"
    SECOND = "second"
    NEITHER = "neither"


class Said(NamedTuple):
    """One judgement of two contestants. What was said of the same pair has the same `cluster`."""

    first: str
    second: str
    winner: Winner
    cluster: Hashable


class WhyUnrated(StrEnum):
    """Why no finite ratings fit what was said of a group."""

    ALONE = "alone"
    ONLY_TIES = "only_ties"
    SEPARATED = "separated"


@dataclass(frozen=True)
class Rated:
    """A contestant with what was said of its answers, and its rating with a 95 % interval, where there is one."""

    name: str
    wins: int
    ties: int
    losses: int
    rating: float | None = None
    low: float | None = None
    high: float | None = None

    @property
    def judgements(self) -> int:
        return self.wins + self.ties + self.losses


@dataclass(frozen=True)
class Group:
    """Contestants that were compared with each other, directly or through others, best first.

    Ratings of two groups cannot be compared. Without ratings, `why_unrated` says why.
    """

    contestants: tuple[Rated, ...]
    why_unrated: WhyUnrated | None = None
    # Of those that are separated: who never lost to, nor drew with, anybody else of the group.
    ahead: tuple[str, ...] = ()

    @property
    def is_rated(self) -> bool:
        return self.why_unrated is None


def rate(said: Sequence[Said]) -> list[Group]:
    """The groups of contestants with their ratings, the largest group first."""
    names = {name for one in said for name in (one.first, one.second)}
    groups = []
    components = _components(names, ((one.first, one.second) for one in said))
    group_of = {name: number for number, members in enumerate(components) for name in members}
    own: list[list[Said]] = [[] for _ in components]
    for one in said:
        own[group_of[one.first]].append(one)
    for members, of_group in zip(components, own, strict=True):
        groups.append(_rate_group(sorted(members), of_group))
    return sorted(groups, key=lambda group: (-len(group.contestants), group.contestants[0].name))


def _rate_group(names: Sequence[str], said: Sequence[Said]) -> Group:
    wins, ties, losses = Counter[str](), Counter[str](), Counter[str]()
    for one in said:
        if one.winner is Winner.NEITHER:
            ties.update((one.first, one.second))
        else:
            better, worse = _in_order(one)
            wins[better] += 1
            losses[worse] += 1

    def told(name: str, **figures: float) -> Rated:
        return Rated(name, wins[name], ties[name], losses[name], **figures)

    why = why_unrated(names, said)
    if why is not None:
        by_share = sorted(names, key=lambda name: (losses[name] - wins[name], name))
        ahead = _ahead(names, said) if why is WhyUnrated.SEPARATED else ()
        return Group(tuple(told(name) for name in by_share), why, ahead)
    strengths, deviations = _fit(names, said)
    rated = [
        told(
            name,
            rating=AVERAGE + POINTS * strength,
            low=AVERAGE + POINTS * (strength - Z_95 * deviation),
            high=AVERAGE + POINTS * (strength + Z_95 * deviation),
        )
        for name, strength, deviation in zip(names, strengths, deviations, strict=True)
    ]
    return Group(tuple(sorted(rated, key=lambda one: (-(one.rating or 0), one.name))))


def _in_order(one: Said) -> tuple[str, str]:
    """The better and the worse of a judgement that is no tie."""
    return (one.first, one.second) if one.winner is Winner.FIRST else (one.second, one.first)


# Where there is a maximum: nowhere else is a number told.


def why_unrated(names: Sequence[str], said: Sequence[Said]) -> WhyUnrated | None:
    """Why the likelihood of what was said of a group has no one finite maximum; None where it has.

    It has none where moving the parameters on along some direction never makes anything that was said less likely
    (Albert & Anderson 1984). With δ at rest, such a direction orders the contestants so that nobody ever lost to, or
    drew with, one below: there is none where each is reached from each by wins and ties (Ford 1957). With δ growing by
    ½ it wants u_i − u_j ≥ 1 of every win of i over j, and |u_i − u_j| ≤ 1 of every tie: there is none where these
    differences contradict each other, which is a cycle of negative length. Without ties, δ is left out.
    """
    if len(names) < 2:
        return WhyUnrated.ALONE
    decided = {_in_order(one) for one in said if one.winner is not Winner.NEITHER}
    tied = {(one.first, one.second) for one in said if one.winner is Winner.NEITHER}
    if not decided:
        return WhyUnrated.ONLY_TIES
    both_ways = tied | {(second, first) for first, second in tied}
    if len(_reached(names[0], decided | both_ways)) < len(names):
        return WhyUnrated.SEPARATED
    if len(_reached(names[0], {(worse, better) for better, worse in decided} | both_ways)) < len(names):
        return WhyUnrated.SEPARATED
    if tied and not _contradict(names, decided=decided, both_ways=both_ways):
        return WhyUnrated.SEPARATED
    return None


def _components(names: Iterable[str], compared: Iterable[tuple[str, str]]) -> list[set[str]]:
    """Who was compared with whom, directly or through others."""
    edges = set(compared)
    beyond = _beyond(edges | {(second, first) for first, second in edges})
    known, found = set[str](), []
    for name in sorted(names):
        if name not in known:
            found.append(_walked(name, beyond))
            known |= found[-1]
    return found


def _reached(start: str, edges: Iterable[tuple[str, str]]) -> set[str]:
    """Who can be come to from `start`, itself among them."""
    return _walked(start, _beyond(edges))


def _beyond(edges: Iterable[tuple[str, str]]) -> Mapping[str, set[str]]:
    beyond = defaultdict[str, set[str]](set)
    for tail, head in edges:
        beyond[tail].add(head)
    return beyond


def _walked(start: str, beyond: Mapping[str, set[str]]) -> set[str]:
    seen, waiting = {start}, [start]
    while waiting:
        fresh = beyond.get(waiting.pop(), set()) - seen
        seen |= fresh
        waiting += fresh
    return seen


def _contradict(names: Sequence[str], *, decided: set[tuple[str, str]], both_ways: set[tuple[str, str]]) -> bool:
    """Whether no u has u_i − u_j ≥ 1 for every win of i over j and |u_i − u_j| ≤ 1 for every tie (Bellman & Ford)."""
    bounds = [(better, worse, -1) for better, worse in decided] + [(first, second, 1) for first, second in both_ways]
    highest = dict.fromkeys(names, 0)
    for _round in names:
        changed = False
        for tail, head, length in bounds:
            if highest[tail] + length < highest[head]:
                highest[head] = highest[tail] + length
                changed = True
                # No way that goes through each of them once is as long.
                if highest[head] <= -len(names):
                    return True
        if not changed:
            return False
    return True


def _ahead(names: Sequence[str], said: Sequence[Said]) -> tuple[str, ...]:
    """Those on top of the order that what was said amounts to: nobody else ever beat them or drew with them.

    Empty where that is everybody, since the ties alone hold them together.
    """
    up = {tuple(reversed(_in_order(one))) for one in said if one.winner is not Winner.NEITHER}
    tied = {(one.first, one.second) for one in said if one.winner is Winner.NEITHER}
    edges = {(tail, head) for tail, head in up} | tied | {(second, first) for first, second in tied}
    beyond = _beyond(edges)
    closed = min((_walked(name, beyond) for name in names), key=lambda found: (len(found), sorted(found)))
    return tuple(sorted(closed)) if len(closed) < len(names) else ()


# The maximum and the information there.


def _fit(names: Sequence[str], said: Sequence[Said]) -> tuple[list[float], list[float]]:
    """θ of each contestant, 0 on average, and the standard deviation of each."""
    size = len(names)
    place = {name: number for number, name in enumerate(names)}
    has_ties = any(one.winner is Winner.NEITHER for one in said)
    counted = Counter((place[one.first], place[one.second], OUTCOMES[one.winner]) for one in said)
    cells = Cells(*np.array([(*cell, count) for cell, count in counted.items()]).T)
    at = np.zeros(size + has_ties)
    likelihood, slope, information = _derivatives(at, cells, size=size, has_ties=has_ties)
    for _step in range(MOST_STEPS):
        # All θ moved by the same amount change nothing: the pseudo-inverse leaves their mean where it is.
        step = np.linalg.pinv(information, hermitian=True) @ slope
        if float(slope @ step) < CLOSE_ENOUGH:
            break
        while True:
            there = _derivatives(at + step, cells, size=size, has_ties=has_ties)
            if there[0] >= likelihood or float(np.abs(step).max()) < CLOSE_ENOUGH:
                break
            step = step / 2
        at = at + step
        likelihood, slope, information = there
    inverse = np.linalg.pinv(information, hermitian=True)
    sandwich = inverse @ _spread(at, said, place, has_ties=has_ties) @ inverse
    variances = np.maximum(np.diag(inverse), np.diag(sandwich))[:size]
    strengths = at[:size] - at[:size].mean()
    return strengths.tolist(), np.sqrt(np.maximum(variances, 0.0)).tolist()


def chances(first: float, second: float, *, ties: float | None = None) -> tuple[float, float, float]:
    """How likely either is preferred, and neither, by θ of both and by δ; None where nothing is ever tied."""
    tie = (first + second) / 2 + ties if ties is not None else None
    highest = max(first, second) if tie is None else max(first, second, tie)
    weights = [exp(first - highest), exp(second - highest), exp(tie - highest) if tie is not None else 0.0]
    total = sum(weights)
    return weights[0] / total, weights[1] / total, weights[2] / total


# In which order chances are told.
OUTCOMES = {Winner.FIRST: 0, Winner.SECOND: 1, Winner.NEITHER: 2}
# Rows of clusters that are multiplied at once: all together they would take a gigabyte.
ROWS_AT_ONCE = 2_000


class Cells(NamedTuple):
    """Judgements in columns: the places of both contestants, which outcome it was, and how often."""

    first: Places
    second: Places
    outcome: Places
    times: Places


def _derivatives(at: Vector, cells: Cells, *, size: int, has_ties: bool) -> tuple[float, Vector, Vector]:
    """The log-likelihood there, its slope, and the information, which is the negative of its curvature."""
    shares = _all_chances(at, cells, size=size, has_ties=has_ties)
    observed = shares[cells.outcome, np.arange(len(cells.times))]
    likelihood = float(cells.times @ np.log(np.maximum(observed, 1e-300)))
    slope, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
    columns = _columns(cells, size=size, has_ties=has_ties)
    means = [vectors.T @ shares for vectors in OF_OUTCOMES.T[: len(columns)]]
    for row, (place, mean) in enumerate(zip(columns, means, strict=True)):
        np.add.at(slope, place, cells.times * (OF_OUTCOMES[cells.outcome, row] - mean))
        for column, (other, other_mean) in enumerate(zip(columns, means, strict=True)):
            spread = (OF_OUTCOMES[:, row] * OF_OUTCOMES[:, column]) @ shares
            np.add.at(information, (place, other), cells.times * (spread - mean * other_mean))
    return likelihood, slope, information


# How the logarithm of each outcome's weight depends on θ of the first, θ of the second and δ.
OF_OUTCOMES = np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1.0]])


def _columns(cells: Cells, *, size: int, has_ties: bool) -> list[Places]:
    """Which parameters each of the judgements tells of."""
    columns = [cells.first, cells.second]
    return [*columns, np.full(len(cells.first), size)] if has_ties else columns


def _all_chances(at: Vector, cells: Cells, *, size: int, has_ties: bool) -> Vector:
    """`chances` of all cells, one row for each outcome."""
    first, second = at[cells.first], at[cells.second]
    tie = (first + second) / 2 + at[size] if has_ties else np.full(len(first), -np.inf)
    logs = np.array([first, second, tie])
    weights = np.exp(logs - logs.max(axis=0))
    shares: Vector = weights / weights.sum(axis=0)
    return shares


def _spread(at: Vector, said: Sequence[Said], place: Mapping[str, int], *, has_ties: bool) -> Vector:
    """The products of the slopes of each cluster, summed, and corrected for their being few."""
    size = len(place)
    number = {cluster: row for row, cluster in enumerate(dict.fromkeys(one.cluster for one in said))}
    rows = [(place[one.first], place[one.second], OUTCOMES[one.winner], number[one.cluster]) for one in said]
    first, second, outcome, cluster = np.array(sorted(rows, key=itemgetter(3))).T
    cells = Cells(first, second, outcome, np.ones(len(rows), dtype=np.int64))
    shares = _all_chances(at, cells, size=size, has_ties=has_ties)
    columns = _columns(cells, size=size, has_ties=has_ties)
    total = np.zeros((len(at), len(at)))
    for begin in range(0, len(number), ROWS_AT_ONCE):
        some = slice(*np.searchsorted(cluster, [begin, begin + ROWS_AT_ONCE]))
        slopes = np.zeros((min(ROWS_AT_ONCE, len(number) - begin), len(at)))
        for row, column in enumerate(columns):
            slope = OF_OUTCOMES[outcome[some], row] - OF_OUTCOMES[:, row] @ shares[:, some]
            np.add.at(slopes, (cluster[some] - begin, column[some]), slope)
        total += slopes.T @ slopes
    return total * len(number) / (len(number) - 1) if len(number) > 1 else total


# Which two to compare next.


def likely_strengths(said: Sequence[Said]) -> dict[str, float]:
    """θ of each contestant for deciding what to ask next, of any data at all: never told as a rating.

    As if each two that were compared had drawn once more, so that nobody is infinitely better; ties count as half a win
    for both (Zermelo's iteration: D. R. Hunter, "MM Algorithms for Generalized Bradley-Terry Models", 2004).
    """
    won = defaultdict[str, float](float)
    met = defaultdict[tuple[str, str], float](float)
    for one in said:
        first, second = sorted((one.first, one.second))
        met[first, second] += 1
        if one.winner is Winner.NEITHER:
            won[one.first] += 0.5
            won[one.second] += 0.5
        else:
            won[_in_order(one)[0]] += 1
    for first, second in met:
        met[first, second] += 1
        won[first] += 0.5
        won[second] += 0.5
    weights = dict.fromkeys(won, 1.0)
    if not weights:
        return {}
    for _step in range(MOST_STEPS):
        shares = defaultdict[str, float](float)
        for (first, second), count in met.items():
            share = count / (weights[first] + weights[second])
            shares[first] += share
            shares[second] += share
        weights = {name: won[name] / shares[name] for name in weights}
        middle = exp(sum(log(weight) for weight in weights.values()) / len(weights))
        weights = {name: weight / middle for name, weight in weights.items()}
    return {name: log(weight) for name, weight in weights.items()}


def worth_asking(
    strengths: Mapping[str, float], judged: Mapping[frozenset[str], int], first: str, second: str
) -> float:
    """How much one more judgement of the two tells: p(1 − p)/(n + 1), p that the first is preferred, n asked so far.

    The closer the two and the less was said of them, the more. Whom nothing is known of is as strong as the average.
    """
    share, other, _tie = chances(strengths.get(first, 0.0), strengths.get(second, 0.0))
    return share * other / (judged.get(frozenset((first, second)), 0) + 1)
