"""Ratings by the Bradley-Terry model: known data, closed forms, simulations, and what has no rating."""

import random
from itertools import combinations, count
from math import exp, log, sqrt
from time import process_time

import pytest

from reflection_app.comparisons.rating import (
    AVERAGE,
    POINTS,
    Group,
    Said,
    Winner,
    rate,
)

# Of the seven teams of the American League's east in 1987, how often each beat each (A. Agresti, "Categorical Data
# Analysis", 2nd ed. 2002, table 10.10).
TEAMS = ("Milwaukee", "Detroit", "Toronto", "New York", "Boston", "Cleveland", "Baltimore")
WINS = (
    (0, 7, 9, 7, 7, 9, 11),
    (6, 0, 7, 5, 11, 9, 9),
    (4, 6, 0, 7, 7, 8, 12),
    (6, 8, 6, 0, 6, 7, 10),
    (6, 2, 6, 7, 0, 7, 12),
    (4, 4, 5, 6, 6, 0, 6),
    (2, 4, 1, 3, 1, 7, 0),
)
# The fit of the same data by R's BradleyTerry2, against Baltimore (H. Turner, D. Firth, "Bradley-Terry Models in R: The
# BradleyTerry2 Package", Journal of Statistical Software 48, 2012, section 2): estimates and standard errors.
FITTED = {
    "Boston": (1.1077, 0.3339),
    "Cleveland": (0.6839, 0.3319),
    "Detroit": (1.4364, 0.3396),
    "Milwaukee": (1.5814, 0.3433),
    "New York": (1.2476, 0.3359),
    "Toronto": (1.2945, 0.3367),
}
_clusters = count()


def beat(better: str, worse: str, times: int = 1) -> list[Said]:
    return [Said(better, worse, Winner.FIRST, next(_clusters)) for _ in range(times)]


def tied(first: str, second: str, times: int = 1) -> list[Said]:
    return [Said(first, second, Winner.NEITHER, next(_clusters)) for _ in range(times)]


def strengths_of(group: Group) -> dict[str, float]:
    assert group.is_rated
    return {one.name: ((one.rating or 0) - AVERAGE) / POINTS for one in group.contestants}


def only_group(said: list[Said]) -> Group:
    (group,) = rate(said)
    return group


def test_the_teams_of_1987_are_rated_as_in_the_literature() -> None:
    said = [one for row, better in enumerate(TEAMS) for column, worse in enumerate(TEAMS)
            for one in beat(better, worse, WINS[row][column])]  # fmt: skip
    group = only_group(said)
    found = strengths_of(group)
    for team, (estimate, _error) in FITTED.items():
        assert found[team] - found["Baltimore"] == pytest.approx(estimate, abs=5e-5)
    assert [one.name for one in group.contestants] == [
        *sorted(FITTED, key=lambda team: -FITTED[team][0]),
        "Baltimore",
    ]
    assert sum(found.values()) == pytest.approx(0)
    # Each team's record.
    milwaukee = next(one for one in group.contestants if one.name == "Milwaukee")
    assert (milwaukee.wins, milwaukee.losses, milwaukee.ties) == (50, 28, 0)


def test_two_contestants_have_the_rating_of_the_closed_form() -> None:
    # A tie is half a win for each: 40 of 60, whose logit is log(40/20).
    said = beat("x", "y", 30) + beat("y", "x", 10) + tied("x", "y", 20)
    group = only_group(said)
    found = strengths_of(group)
    assert found["x"] - found["y"] == pytest.approx(log(40 / 20))
    # Of ln(a/b) the variance is 1/a + 1/b, by the delta method; half the difference is what each is off the average.
    best = group.contestants[0]
    assert best.low is not None
    assert best.rating is not None
    deviation = (best.rating - best.low) / POINTS / 1.959964
    assert deviation == pytest.approx(sqrt(1 / 40 + 1 / 20) / 2, rel=1e-4)


def chance(difference: float) -> float:
    """How likely the one is preferred that is so much stronger."""
    return 1 / (1 + exp(-difference))


def test_the_order_of_the_two_and_of_what_was_said_changes_nothing() -> None:
    said = beat("x", "y", 5) + beat("y", "x", 2) + tied("y", "x", 3)
    turned = [
        Said(one.second, one.first, Winner.NEITHER if one.winner is Winner.NEITHER else Winner.SECOND, one.cluster)
        for one in reversed(said)
    ]
    assert strengths_of(only_group(said)) == pytest.approx(strengths_of(only_group(turned)))


# What has no rating is told without numbers.


def test_ties_alone_are_even() -> None:
    found = strengths_of(only_group(tied("x", "y", 12) + tied("y", "z", 4)))
    assert list(found.values()) == pytest.approx([0, 0, 0])


def test_who_never_lost_has_no_rating() -> None:
    group = only_group(beat("x", "y", 9) + beat("y", "z") + beat("z", "y"))
    assert group.ahead == ("x",)
    assert all(one.rating is one.low is one.high is None for one in group.contestants)
    # One tie is enough.
    assert only_group(beat("x", "y", 9) + tied("x", "y")).is_rated


def test_who_were_never_compared_are_groups_of_their_own() -> None:
    said = beat("x", "y", 3) + beat("y", "x", 2) + beat("v", "w", 4) + beat("w", "v", 3) + tied("p", "q")
    groups = rate(said)
    assert [{one.name for one in group.contestants} for group in groups] == [{"p", "q"}, {"v", "w"}, {"x", "y"}]
    assert [group.is_rated for group in groups] == [True, True, True]


def test_what_is_rated_is_just_what_has_a_maximum() -> None:
    """Where the check says that there is a maximum the fit is finite and flat there; small sets of all kinds."""
    chance = random.Random(20)
    rated = 0
    for _ in range(300):
        names = "wxyz"[: chance.randint(2, 4)]
        said = []
        for _judgement in range(chance.randint(1, 14)):
            first, second = chance.sample(names, 2)
            said.append(Said(first, second, chance.choice(tuple(Winner)), next(_clusters)))
        for group in rate(said):
            if group.is_rated:
                rated += 1
                assert all(one.rating is not None and abs(one.rating - AVERAGE) < 5_000 for one in group.contestants)
            else:
                assert all(one.rating is None for one in group.contestants)
    assert rated > 50


# Simulations: 95 % intervals hold what is true as often as they say.


def simulated(truth: dict[str, float], *, pairs: int, each: int, random: random.Random) -> list[Said]:
    """Judgements drawn from the model, each pair judged by `each` people, who agree beyond the model half the time."""
    said = []
    for first, second in combinations(truth, 2):
        for _ in range(pairs):
            cluster, before = next(_clusters), None
            for _person in range(each):
                is_first = random.random() < chance(truth[first] - truth[second])
                winner = Winner.FIRST if is_first else Winner.SECOND
                winner = before if before and random.random() < 0.5 else winner
                before = before or winner
                said.append(Said(first, second, winner, cluster))
    return said


@pytest.mark.parametrize(("pairs", "each"), [(40, 1), (30, 3)])
def test_intervals_hold_the_truth_as_often_as_they_say(pairs: int, each: int) -> None:
    drawn, truth = random.Random(1987), {"a": 0.6, "b": 0.1, "c": -0.2, "d": -0.5}
    held = total = 0
    for _ in range(60):
        for group in rate(simulated(truth, pairs=pairs, each=each, random=drawn)):
            for one in group.contestants:
                assert one.low is not None
                assert one.high is not None
                total += 1
                held += one.low <= AVERAGE + POINTS * truth[one.name] <= one.high
    # Of 240 at 95 % fewer than 213 come about once in a hundred thousand times.
    assert held / total > 0.89


def test_more_people_on_the_same_pairs_tell_less_than_as_many_on_others() -> None:
    alone = beat("x", "y", 30) + beat("y", "x", 15)
    together = [one._replace(cluster=number // 3) for number, one in enumerate(alone)]

    def width(said: list[Said]) -> float:
        best = only_group(said).contestants[0]
        assert best.high is not None
        assert best.low is not None
        return best.high - best.low

    assert width(together) > 1.5 * width(alone)


def test_many_judgements_of_many_makers_are_rated_soon() -> None:
    chance = random.Random(7)
    names = [f"m-{number}" for number in range(100)]
    both = [chance.sample(names, 2) for _ in range(40_000)]
    said = [Said(one, other, chance.choice(list(Winner)), number) for number, (one, other) in enumerate(both)]
    begun = process_time()
    assert only_group(said).is_rated
    assert process_time() - begun < 5


def test_many_makers_of_whom_each_was_compared_once_are_soon_known_as_groups() -> None:
    said = [Said(f"a-{number}", f"b-{number}", Winner.FIRST, number) for number in range(10_000)]
    said += [Said(f"c-{number}", f"c-{number + 1}", Winner.FIRST, -number) for number in range(10_000)]
    begun = process_time()
    groups = rate(said)
    assert (len(groups), groups[0].ahead) == (10_001, ("c-0",))
    assert process_time() - begun < 5
