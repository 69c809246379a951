"""Calibration against published figures, against what was counted by hand, and against populations that are known."""

from math import sqrt
from random import Random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from reflection_app.metrics.calibration import VERDICTS, Calibration, Judged, calibration_of
from reflection_app.metrics.statistics import (
    Case,
    Interval,
    cohens_kappa,
    kappa_and_variance,
    kappa_of,
    mean_of,
    share_of,
    wilson,
    worth,
)
from tests.metrics.test_agreement import pairs

PASS, REVISE, REJECT = VERDICTS
# J. Cohen, "Weighted Kappa", Psychological Bulletin 70, 1968, the counts of its table 1; and two dermatologists on 88
# patients, the first example of PROC FREQ's AGREE in SAS/STAT's guide. κ and the bounds that SAS prints.
PUBLISHED = [
    ([[88, 10, 2], [14, 40, 6], [18, 10, 12]], 0.492, (0.392, 0.591), 0.0006),
    ([[10, 4, 1, 0], [5, 10, 12, 2], [2, 4, 12, 5], [0, 2, 6, 13]], 0.3449, (0.2030, 0.4868), 0.00006),
]


def judged(table: list[list[int]], *, weight: float = 1.0) -> list[Judged]:
    """Critic in rows, people in columns."""
    return [
        Judged(VERDICTS[row], VERDICTS[column], weight=weight)
        for row, counts in enumerate(table)
        for column, count in enumerate(counts)
        for _ in range(count)
    ]


def cases(table: list[list[int]]) -> list[tuple[tuple[str, str], Case]]:
    return [(pair, Case(1.0, 1.0, number)) for number, pair in enumerate(pairs(table))]


@pytest.mark.parametrize(("table", "kappa", "bounds", "within"), PUBLISHED)
def test_kappa_and_its_standard_error_are_the_published_ones(
    table: list[list[int]], kappa: float, bounds: tuple[float, float], within: float
) -> None:
    given = cases(table)
    found = kappa_and_variance(given)
    assert found is not None
    assert found[0] == pytest.approx(kappa, abs=within)
    # The published variance is that of the population's share of the table, without C/(C − 1).
    error = 1.959964 * sqrt(found[1] * (len(given) - 1) / len(given))
    assert (found[0] - error, found[0] + error) == pytest.approx(bounds, abs=within)
    ours = kappa_of(given)
    assert ours is not None
    assert ours.low == pytest.approx(bounds[0], abs=0.02)
    assert ours.high == pytest.approx(bounds[1], abs=0.02)


def bounds_of(interval: Interval | None) -> tuple[float, float, float]:
    assert interval is not None
    return interval.estimate, interval.low, interval.high


def test_every_figure_is_what_is_counted_by_hand() -> None:
    found = calibration_of(judged([[40, 6, 4], [3, 12, 5], [1, 2, 27]]))
    assert found.pairs == found.worth == 100
    cell = next(cell for cell in found.matrix if (cell.critic, cell.people) == (PASS, REVISE))
    assert (cell.seen, round(cell.share, 6)) == (6, 0.06)
    assert sum(cell.share for cell in found.matrix) == pytest.approx(1)
    for interval, counted in (
        (found.agreed, (79, 100)),
        (found.precision, (40, 50)),
        (found.recall, (40, 44)),
        (found.false_pass, (10, 56)),
        (found.false_fail, (4, 44)),
        (found.by_verdict[1].precision, (12, 20)),
        (found.by_verdict[2].recall, (27, 36)),
    ):
        assert bounds_of(interval) == pytest.approx(bounds_of(wilson(*counted)))


def test_nothing_is_said_of_nothing_and_no_kappa_where_nothing_varies() -> None:
    nothing = calibration_of([])
    assert (nothing.pairs, nothing.worth, nothing.kappa, nothing.agreed, nothing.precision) == (0, 0, None, None, None)
    assert (nothing.reliability.bins, nothing.reliability.error, nothing.reliability.overconfidence) == ((), None, None)
    assert {cell.seen for cell in nothing.matrix} == {0}
    same = calibration_of([Judged(PASS, PASS)] * 5)
    assert same.kappa is None
    assert bounds_of(same.agreed) == pytest.approx(bounds_of(wilson(5, 5)))
    assert same.false_pass is None


@settings(max_examples=40)
@given(st.lists(st.lists(st.integers(0, 9), min_size=3, max_size=3), min_size=3, max_size=3))
def test_kappa_of_equal_weights_is_that_without_weights_and_lies_in_its_interval(table: list[list[int]]) -> None:
    given = judged(table, weight=7.0)
    found = calibration_of(given).kappa
    plain = cohens_kappa([(one.critic, one.people) for one in given])
    assert (found is None) is (plain is None)
    if found is not None:
        assert found.estimate == pytest.approx(plain)
        assert -1 <= found.low <= found.estimate <= found.high <= 1


def test_a_case_stands_for_as_many_as_its_weight_says() -> None:
    audited = [Judged(PASS, PASS, weight=10)] * 9 + [Judged(PASS, REJECT, weight=10)]
    always = [Judged(REJECT, REJECT)] * 30 + [Judged(REJECT, PASS)] * 20
    found = calibration_of(audited + always)
    assert bounds_of(found.agreed)[0] == pytest.approx((90 + 30) / 150)
    assert bounds_of(found.recall)[0] == pytest.approx(90 / 110)
    assert bounds_of(found.false_pass)[0] == pytest.approx(10 / 40)
    # Unweighted, recall would be 9 of 29: the rejects that always wait would hide how much passes.
    assert found.worth == pytest.approx(150**2 / (10 * 100 + 50))


def test_attempts_of_one_run_say_less_than_as_many_runs() -> None:
    apart = [Judged(PASS, PASS if number % 4 else REJECT, cluster=number) for number in range(80)]
    of_20_runs = [Judged(PASS, PASS if (number // 4) % 4 else REJECT, cluster=number // 4) for number in range(80)]
    alone, alike = calibration_of(apart).precision, calibration_of(of_20_runs).precision
    assert alone is not None
    assert alike is not None
    assert alone.estimate == alike.estimate == 0.75
    assert alike.high - alike.low == pytest.approx(2 * (alone.high - alone.low), rel=0.1)
    assert calibration_of(of_20_runs).worth == pytest.approx(20)


def test_reliability_is_binned_by_confidence_and_weighted() -> None:
    said = [Judged(PASS, PASS, confidence=0.95)] * 6 + [Judged(PASS, REJECT, confidence=0.95)] * 4
    said += [Judged(PASS, PASS, confidence=0.5, weight=10)] * 2 + [Judged(PASS, PASS)] * 5
    found = calibration_of(
        [*said, Judged(PASS, PASS, confidence=1.0), Judged(REJECT, PASS, confidence=0.0)]
    ).reliability
    assert found.pairs == 14
    assert [(one.low, one.high, one.seen) for one in found.bins] == [(0.0, 0.1, 1), (0.5, 0.6, 2), (0.9, 1.0, 11)]
    assert [one.share for one in found.bins] == pytest.approx([1 / 32, 20 / 32, 11 / 32])
    assert [one.right.estimate for one in found.bins] == pytest.approx([0, 1, 7 / 11])
    wrong_by = 0 + 20 / 32 * 0.5 + 11 / 32 * ((9.5 + 1) / 11 - 7 / 11)
    assert found.error == pytest.approx(wrong_by)
    over = found.overconfidence
    assert over is not None
    assert over.estimate == pytest.approx((9.5 + 1 + 10) / 32 - 27 / 32)
    assert over.low < over.estimate < over.high


def reviewed(rng: Random, *, verdicts: int) -> list[Judged]:
    """What people said of a critic that is right 85 times in 100, and 60 where it is unsure, by the usual policy."""
    found = []
    for _ in range(verdicts):
        critic = rng.choices(VERDICTS, [6, 3, 1])[0]
        unsure = rng.random() < 0.1
        people = critic
        if rng.random() >= (0.6 if unsure else 0.85):
            people = rng.choice([verdict for verdict in VERDICTS if verdict != critic])
        chance = 1.0 if unsure or critic == REJECT else 0.1
        if rng.random() < chance:
            found.append(Judged(critic, people, weight=1 / chance, confidence=0.5 if unsure else 0.9))
    return found


def test_the_intervals_hold_the_truth_about_as_often_as_they_say() -> None:
    right = 0.9 * 0.85 + 0.1 * 0.6
    wrong = (1 - right) / 2
    people = {PASS: 0.6 * right + 0.4 * wrong, REVISE: 0.3 * right + 0.7 * wrong, REJECT: 0.1 * right + 0.9 * wrong}
    by_chance = 0.6 * people[PASS] + 0.3 * people[REVISE] + 0.1 * people[REJECT]
    truth = {
        "agreed": right,
        "kappa": (right - by_chance) / (1 - by_chance),
        "precision": right,
        "recall": 0.6 * right / people[PASS],
        "false_pass": 0.6 * 2 * wrong / (1 - people[PASS]),
        "overconfidence": 0.86 - right,
    }
    rng, rounds = Random(20), 100
    held = dict.fromkeys(truth, 0)
    for _ in range(rounds):
        found = calibration_of(reviewed(rng, verdicts=600))
        for name, true in truth.items():
            interval = _named(found, name)
            assert interval is not None
            held[name] += interval.low <= true <= interval.high
    # 100 rounds of an interval that holds 95 % of the time give 0.89 or less once in a hundred.
    assert all(many / rounds > 0.89 for many in held.values()), held
    # Without weights the unsure and the rejected, which always wait, are taken for the whole.
    unweighted = [Judged(one.critic, one.people) for one in reviewed(Random(3), verdicts=20_000)]
    agreed = calibration_of(unweighted).agreed
    assert agreed is not None
    assert agreed.high < right


def _named(found: Calibration, name: str) -> Interval | None:
    if name == "overconfidence":
        return found.reliability.overconfidence
    interval: Interval | None = getattr(found, name)
    return interval


def test_few_heavy_cases_that_agree_by_chance_are_not_taken_for_many() -> None:
    given = [Case(1.0, 10.0, number) for number in range(5)] + [Case(0.0, 1.0, 10 + number) for number in range(5)]
    found = share_of(given)
    assert found is not None
    assert worth(given) == pytest.approx(55**2 / 505)
    assert found.high - found.low > 0.4
    assert share_of([]) is None
    assert mean_of([]) is None
