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
from functools import cache
from math import exp, log
from typing import Any, NamedTuple

import numpy as np

from reflection_app.metrics.statistics import Z_95

type Vector = np.ndarray[Any, np.dtype[np.float64]]

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
    for members in _components(names, ((one.first, one.second) for one in said)):
        own = [one for one in said if one.first in members]
        groups.append(_rate_group(sorted(members), own))
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
    edges |= {(second, first) for first, second in edges}
    left, found = set(names), []
    while left:
        members = _reached(min(left), edges)
        found.append(members)
        left -= members
    return found


def _reached(start: str, edges: Iterable[tuple[str, str]]) -> set[str]:
    """Who can be come to from `start`, itself among them."""
    beyond = defaultdict[str, set[str]](set)
    for tail, head in edges:
        beyond[tail].add(head)
    seen, waiting = {start}, [start]
    while waiting:
        fresh = beyond[waiting.pop()] - seen
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
    closed = min((_reached(name, edges) for name in names), key=lambda found: (len(found), sorted(found)))
    return tuple(sorted(closed)) if len(closed) < len(names) else ()


# The maximum and the information there.


def _fit(names: Sequence[str], said: Sequence[Said]) -> tuple[list[float], list[float]]:
    """θ of each contestant, 0 on average, and the standard deviation of each."""
    size = len(names)
    place = {name: number for number, name in enumerate(names)}
    has_ties = any(one.winner is Winner.NEITHER for one in said)
    cells = Counter((place[one.first], place[one.second], one.winner) for one in said)
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


def _derivatives(
    at: Vector, cells: Mapping[tuple[int, int, Winner], int], *, size: int, has_ties: bool
) -> tuple[float, Vector, Vector]:
    """The log-likelihood there, its slope, and the information, which is the negative of its curvature."""
    likelihood = 0.0
    slope, information = np.zeros(len(at)), np.zeros((len(at), len(at)))
    for (first, second, winner), count in cells.items():
        shares = chances(at[first], at[second], ties=at[size] if has_ties else None)
        places, vectors = _vectors(first, second, size=size, has_ties=has_ties)
        observed = (Winner.FIRST, Winner.SECOND, Winner.NEITHER).index(winner)
        likelihood += count * log(max(shares[observed], 1e-300))
        mean = sum(share * vector for share, vector in zip(shares, vectors, strict=True))
        slope[places] += count * (vectors[observed] - mean)
        spread = sum(share * np.outer(vector, vector) for share, vector in zip(shares, vectors, strict=True))
        information[np.ix_(places, places)] += count * (spread - np.outer(mean, mean))
    return likelihood, slope, information


def _vectors(first: int, second: int, *, size: int, has_ties: bool) -> tuple[list[int], list[Vector]]:
    """Which parameters a judgement tells of, and how the logarithm of each outcome's weight depends on them."""
    places = [first, second, size] if has_ties else [first, second]
    rows = [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.5, 0.5, 1.0]]
    return places, [np.array(row[: len(places)]) for row in rows]


def _spread(at: Vector, said: Sequence[Said], place: Mapping[str, int], *, has_ties: bool) -> Vector:
    """The products of the slopes of each cluster, summed, and corrected for their being few."""
    size = len(place)
    number = {cluster: row for row, cluster in enumerate(dict.fromkeys(one.cluster for one in said))}
    slopes = np.zeros((len(number), len(at)))

    @cache
    def slope_of(first: int, second: int, winner: Winner) -> tuple[list[int], Vector]:
        shares = chances(at[first], at[second], ties=at[size] if has_ties else None)
        places, vectors = _vectors(first, second, size=size, has_ties=has_ties)
        mean = sum(share * vector for share, vector in zip(shares, vectors, strict=True))
        return places, vectors[tuple(Winner).index(winner)] - mean

    for one in said:
        places, slope = slope_of(place[one.first], place[one.second], one.winner)
        slopes[number[one.cluster], places] += slope
    total: Vector = slopes.T @ slopes
    return total * len(slopes) / (len(slopes) - 1) if len(slopes) > 1 else total


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
