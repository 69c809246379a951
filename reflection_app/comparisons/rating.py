"""Ratings of those whose answers were compared, by the Bradley-Terry model. A tie is half a win for each. Pure.

With strengths θ, i is preferred to j with the chance 1/(1 + e^(θ_j − θ_i)). The log-likelihood is concave, so Newton's
method finds its one maximum, where there is one: where each contestant is reached from each by wins and ties (Ford
1957). Judgements of one pair are not independent: the variance is that of the pairs' sums (the sandwich), and never
less than what the model alone says.

Sources: R. A. Bradley, M. E. Terry, "Rank Analysis of Incomplete Block Designs", Biometrika 39, 1952; L. R. Ford,
"Solution of a Ranking Problem from Binary Comparisons", American Mathematical Monthly 64, 1957; H. White,
Econometrica 50, 1982.
"""

from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from math import log
from typing import Any, NamedTuple

import numpy as np

from reflection_app.metrics.statistics import Z_95

type Vector = np.ndarray[Any, np.dtype[np.float64]]
type Places = np.ndarray[Any, np.dtype[np.int64]]
type Edges = Mapping[str, set[str]]

# Ratings are told on the scale of chess: 400 points are odds of ten to one, and all together have 1,000 on average.
POINTS = 400 / log(10)
AVERAGE = 1_000.0
MOST_STEPS = 100
CLOSE_ENOUGH = 1e-14


class Winner(StrEnum):
    FIRST = "first"
    SECOND = "second"
    NEITHER = "neither"


# How much of a win each outcome is for the first.
SHARE = {Winner.FIRST: 1.0, Winner.SECOND: 0.0, Winner.NEITHER: 0.5}


class Said(NamedTuple):
    """One judgement of two contestants. What was said of the same pair has the same `cluster`, first and second."""

    first: str
    second: str
    winner: Winner
    cluster: Hashable


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


@dataclass(frozen=True)
class Group:
    """Contestants that were compared with each other, directly or through others, best first.

    Ratings of two groups cannot be compared. Where some are `ahead`, who never lost to, nor drew with, anybody else of
    the group, no finite ratings fit and there are none.
    """

    contestants: tuple[Rated, ...]
    ahead: tuple[str, ...] = ()

    @property
    def is_rated(self) -> bool:
        return not self.ahead


def rate(said: Sequence[Said]) -> list[Group]:
    """The groups of contestants with their ratings, the largest group first."""
    beyond = _edges(ends for one in said for ends in ((one.first, one.second), (one.second, one.first)))
    group_of: dict[str, int] = {}
    members: list[set[str]] = []
    for name in sorted(beyond):
        if name not in group_of:
            members.append(_walked(name, beyond))
            group_of |= dict.fromkeys(members[-1], len(members) - 1)
    own: list[list[Said]] = [[] for _ in members]
    for one in said:
        own[group_of[one.first]].append(one)
    groups = [_rate_group(sorted(names), of_group) for names, of_group in zip(members, own, strict=True)]
    return sorted(groups, key=lambda group: (-len(group.contestants), group.contestants[0].name))


def _rate_group(names: Sequence[str], said: Sequence[Said]) -> Group:
    wins, ties, losses = Counter[str](), Counter[str](), Counter[str]()
    # Each leads to the other where it is a win or a tie.
    leads: list[tuple[str, str]] = []
    for one in said:
        if one.winner is Winner.NEITHER:
            ties.update((one.first, one.second))
            leads += [(one.first, one.second), (one.second, one.first)]
        else:
            ends = (one.first, one.second) if one.winner is Winner.FIRST else (one.second, one.first)
            wins[ends[0]] += 1
            losses[ends[1]] += 1
            leads.append(ends)
    ahead = _ahead(names, leads)
    if ahead:
        by_share = sorted(names, key=lambda name: (losses[name] - wins[name], name))
        return Group(tuple(Rated(name, wins[name], ties[name], losses[name]) for name in by_share), ahead)
    rated = [
        Rated(
            name,
            wins[name],
            ties[name],
            losses[name],
            rating=AVERAGE + POINTS * strength,
            low=AVERAGE + POINTS * (strength - Z_95 * deviation),
            high=AVERAGE + POINTS * (strength + Z_95 * deviation),
        )
        for name, strength, deviation in zip(names, *_fit(names, said), strict=True)
    ]
    return Group(tuple(sorted(rated, key=lambda one: (-(one.rating or 0), one.name))))


# Where there is a maximum: nowhere else is a number told.


def _ahead(names: Sequence[str], leads: Sequence[tuple[str, str]]) -> tuple[str, ...]:
    """Those whom nobody else of the group ever beat or drew with; empty where each is reached from each."""
    down, up = _edges(leads), _edges((worse, better) for better, worse in leads)
    # Who is found last as the start of a walk is reached from none but those whom it reaches.
    seen, top = set[str](), names[0]
    for name in names:
        if name not in seen:
            seen |= _walked(name, down, known=seen)
            top = name
    found = _walked(top, up)
    return tuple(sorted(found)) if len(found) < len(names) else ()


def _edges(ends: Iterable[tuple[str, str]]) -> Edges:
    beyond = defaultdict[str, set[str]](set)
    for tail, head in ends:
        beyond[tail].add(head)
    return beyond


def _walked(start: str, beyond: Edges, *, known: Iterable[str] = ()) -> set[str]:
    """Who can be come to from `start`, itself among them, without a way through those who are `known`."""
    seen, waiting, passed = {start}, [start], known if isinstance(known, set) else set(known)
    while waiting:
        fresh = beyond.get(waiting.pop(), set()) - seen - passed
        seen |= fresh
        waiting += fresh
    return seen


# The maximum and the information there.


def _fit(names: Sequence[str], said: Sequence[Said]) -> tuple[list[float], list[float]]:
    """θ of each contestant, 0 on average, and the standard deviation of each."""
    size = len(names)
    place = {name: number for number, name in enumerate(names)}
    first = np.array([place[one.first] for one in said])
    second = np.array([place[one.second] for one in said])
    share = np.array([SHARE[one.winner] for one in said])
    at = np.zeros(size)
    for _step in range(MOST_STEPS):
        expected = 1 / (1 + np.exp(at[second] - at[first]))
        residual = share - expected
        slope = np.bincount(first, residual, size) - np.bincount(second, residual, size)
        # All θ moved by the same amount change nothing. Held in place, their mean makes the information invertible.
        information = _spread(first, second, expected * (1 - expected), size)
        inverse = np.linalg.inv(information + 1 / size) - 1 / size
        step = inverse @ slope
        if float(slope @ step) < CLOSE_ENOUGH:
            break
        # Far from the maximum a whole step could go beyond it for ever.
        at = at + step / max(1.0, float(np.abs(step).max()))
    number = {cluster: row for row, cluster in enumerate(dict.fromkeys(one.cluster for one in said))}
    of_said = np.array([number[one.cluster] for one in said])
    sums, (_each, at_first) = np.bincount(of_said, residual), np.unique(of_said, return_index=True)
    few = len(number) / (len(number) - 1) if len(number) > 1 else 1.0
    sandwich = inverse @ _spread(first[at_first], second[at_first], sums**2 * few, size) @ inverse
    variances = np.maximum(np.diag(inverse), np.diag(sandwich))
    return (at - at.mean()).tolist(), np.sqrt(np.maximum(variances, 0.0)).tolist()


def _spread(first: Places, second: Places, weights: Vector, size: int) -> Vector:
    """The sum of the weighted products of the slopes of comparisons, each of which is +1 and −1 at its two places."""
    total = np.zeros((size, size))
    for one, other, sign in ((first, first, 1), (second, second, 1), (first, second, -1), (second, first, -1)):
        np.add.at(total, (one, other), sign * weights)
    return total
