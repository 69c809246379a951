"""The figures of lift against published ones, and against lessons whose effect is known."""

from random import Random

import pytest

from notebook_app.lift import (
    LEAST_DIFFERENCE,
    LEVEL,
    Arm,
    Verdict,
    discoveries,
    fisher,
    judged,
    level_of,
    looks_at,
    needed,
    power_at,
    rounded,
    runs_needed,
    size_of,
)
from notebook_app.recall import Use, by_use, lift_of, use_rank


def outcomes(chance: Random, *, runs: int, share: float, without: float, with_it: float) -> str:
    """`runs` outcomes as looks.py writes them; each run is withheld from with probability `share`."""
    made = []
    for _ in range(runs):
        is_withheld = chance.random() < share
        succeeded = chance.random() < (without if is_withheld else with_it)
        letter = "w" if is_withheld else "g"
        made.append(letter.upper() if succeeded else letter)
    return "".join(made)


def test_an_empty_arm_has_no_rate_and_no_interval() -> None:
    assert Arm().rate is None
    assert Arm().interval is None


def test_fishers_test_is_the_published_one() -> None:
    # Fisher's own lady who tastes tea: three of four cups right has one tail of 17/70.
    assert fisher(Arm(4, 3), Arm(4, 1)) == pytest.approx(2 * 17 / 70)
    assert fisher(Arm(4, 4), Arm(4, 0)) == pytest.approx(2 / 70)
    assert fisher(Arm(90, 45), Arm(10, 5)) == 1.0


def test_looks_are_where_they_were_set_and_spend_5_percent_in_all() -> None:
    assert [size_of(number) for number in range(1, 6)] == [10, 20, 40, 80, 160]
    assert sum(level_of(number) for number in range(1, 200)) == pytest.approx(LEVEL)


def test_a_look_sees_what_stood_there_when_the_smaller_arm_was_full() -> None:
    told = "Gg" * 15 + "W" * 6 + "w" * 4 + "G" * 7 + "W" * 9
    (only,) = looks_at(told)
    assert only == (Arm(30, 15), Arm(10, 6))
    # One outcome more, and the second look has passed; what comes later does not change it.
    both = looks_at(told + "w")
    assert both == [only, (Arm(37, 22), Arm(20, 15))]
    assert looks_at(told + "w" + "G" * 500) == both
    assert looks_at("") == []


def test_looks_that_jump_are_those_of_counting_one_by_one() -> None:
    chance = Random(3)
    for share in (0.1, 0.5, 0.8):
        told = outcomes(chance, runs=700, share=share, without=0.4, with_it=0.5)
        counts, expected, size = dict.fromkeys("GgWw", 0), [], 10
        for letter in told:
            counts[letter] += 1
            given, withheld = counts["G"] + counts["g"], counts["W"] + counts["w"]
            if min(given, withheld) == size:
                expected.append((Arm(given, counts["G"]), Arm(withheld, counts["W"])))
                size *= 2
        assert looks_at(told) == expected


@pytest.mark.exhaustive("against another computation, over many drawn cases")
@pytest.mark.parametrize(("share", "rate"), [(0.1, 0.5), (0.1, 0.9), (0.5, 0.3)])
def test_of_lessons_that_do_nothing_at_most_one_in_20_is_ever_accused_or_praised(share: float, rate: float) -> None:
    """Nothing is told between looks, so whoever watches every outcome of 1,000 sees what the looks say and no more."""
    chance, lessons = Random(5), 2_000
    false = 0
    for _ in range(lessons):
        told = outcomes(chance, runs=1_000, share=share, without=rate, with_it=rate)
        found = judged(looks_at(told))
        false += any(look.says is not Verdict.OPEN for look in found.looks)
    assert false / lessons <= LEVEL


@pytest.mark.parametrize(
    ("without", "with_it", "share", "verdict"),
    [
        (0.4, 0.6, 0.1, Verdict.HELPS),
        (0.6, 0.45, 0.3, Verdict.HARMS),
    ],
)
def test_an_effect_is_found_as_often_as_was_said(
    without: float, with_it: float, share: float, verdict: Verdict
) -> None:
    difference, rate = with_it - without, without * share + with_it * (1 - share)
    runs = runs_needed(difference, rate=rate, smaller_part=share)
    assert runs is not None
    last = max(number for number in range(1, 12) if size_of(number) <= runs * share)
    promised = power_at(last, difference, rate=rate, smaller_part=share)
    # Some more runs, as the smaller arm is filled by chance: the promise is about the look itself.
    chance, lessons = Random(17), 400
    found, wrong = 0, 0
    for _ in range(lessons):
        told = outcomes(chance, runs=int(runs * 1.25), share=share, without=without, with_it=with_it)
        says = [look.says for look in judged(looks_at(told)).looks[:last]]
        found += verdict in says
        wrong += any(one not in {verdict, Verdict.OPEN} for one in says)
    # Earlier looks find some as well, which the promise leaves out.
    assert promised >= 0.8
    assert promised - 0.06 <= found / lessons <= promised + 0.12
    assert wrong / lessons <= 0.01


def test_what_it_takes_is_told_for_a_difference_that_is_worth_knowing() -> None:
    early = needed(Arm(3, 3), Arm(1, 0), share=0.1, looks_passed=0)
    assert early.is_observed
    assert early.difference == 1.0
    small = needed(Arm(90, 45), Arm(10, 5), share=0.1, looks_passed=1)
    assert not small.is_observed
    assert small.difference == LEAST_DIFFERENCE
    large = needed(Arm(90, 72), Arm(10, 4), share=0.1, looks_passed=1)
    assert large.more_runs is not None
    assert small.more_runs is not None
    assert large.more_runs < small.more_runs
    assert needed(Arm(), Arm(), share=0.001, looks_passed=0).more_runs is None
    assert [rounded(runs) for runs in (7, 41, 136, 1_501, 28_001)] == [7, 41, 140, 1_600, 29_000]


def test_claims_about_many_lessons_are_made_together() -> None:
    # Benjamini and Hochberg 1995, section 4: of 15 p-values the first four are rejected at 5 %.
    published = [0.0001, 0.0004, 0.0019, 0.0095, 0.0201, 0.0278, 0.0298, 0.0344, 0.0459, 0.3240]
    published += [0.4262, 0.5719, 0.6528, 0.7590, 1.0000]
    assert discoveries(published) == [True] * 4 + [False] * 11
    assert discoveries([]) == []
    assert discoveries([1.0, 0.04]) == [False, False]


def test_among_many_lessons_that_do_nothing_the_list_claims_next_to_nothing() -> None:
    chance = Random(23)
    found = [
        judged(looks_at(outcomes(chance, runs=500, share=0.1, without=0.5, with_it=0.5))).p_value for _ in range(500)
    ]
    assert sum(discoveries(found)) == 0
    assert sum(p <= LEVEL for p in found) / len(found) <= LEVEL


def test_use_tells_neighbours_apart_and_does_not_lift_what_does_not_fit() -> None:
    assert Use(occurrences=50, lift=0.2).score(0.49) > Use().score(0.5)
    assert Use(lift=-0.2).score(0.5) < Use().score(0.49)
    assert Use(occurrences=10_000, recalled=10_000, lift=1.0).score(0.3) < Use(lift=-1.0).score(0.4)
    assert Use(occurrences=10_000, lift=1.0).score(1.0) <= 1


def test_a_mistake_seen_fifty_times_stands_above_ten_newer_ones_seen_once() -> None:
    often = ("often", use_rank(Use(occurrences=50), age_days=200))
    once = [(f"once {number}", use_rank(Use(), age_days=number / 10)) for number in range(10)]
    assert by_use([*once, often])[0] == "often"
    assert by_use([*once, often])[1:] == [f"once {number}" for number in range(10)]


def test_what_harms_falls_and_what_was_used_rises() -> None:
    usual = use_rank(Use(occurrences=5), age_days=10)
    assert use_rank(Use(occurrences=5, lift=-0.3), age_days=10) < usual
    assert use_rank(Use(occurrences=5, recalled=100), age_days=10) > usual


def test_little_known_of_a_lift_is_little_lift() -> None:
    assert lift_of(given=0, helped=0, withheld=9, succeeded_without=1) == 0
    few = lift_of(given=2, helped=2, withheld=2, succeeded_without=0)
    many = lift_of(given=200, helped=200, withheld=200, succeeded_without=0)
    assert 0 < few < 0.2
    assert 0.9 < many < 1
