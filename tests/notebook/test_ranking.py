"""The order of what is recalled, and of what is told without a question."""

from notebook_app.recall import Use, by_use, lift_of, use_rank


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
