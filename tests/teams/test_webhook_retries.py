from datetime import timedelta

import pytest

from reflection_app.teams.webhook_sending import (
    DELAYS_S,
    LONGEST_RETRY_AFTER_S,
    MOST_TRIES,
    Meaning,
    hold_s,
    is_to_pause,
    meaning_of,
    next_delay_s,
)


@pytest.mark.parametrize(
    ("status", "meaning"),
    [
        (200, Meaning.ARRIVED),
        (204, Meaning.ARRIVED),
        (299, Meaning.ARRIVED),
        (301, Meaning.FAILED),
        (400, Meaning.FAILED),
        (404, Meaning.FAILED),
        (410, Meaning.GONE),
        (429, Meaning.FAILED),
        (500, Meaning.FAILED),
        (None, Meaning.FAILED),
    ],
)
def test_only_success_has_arrived_and_only_410_is_gone(status: int | None, meaning: Meaning) -> None:
    assert meaning_of(status) is meaning


def test_it_is_tried_for_a_day_and_then_given_up() -> None:
    delays = [next_delay_s(tries, chance=0.0) for tries in range(1, MOST_TRIES + 1)]
    assert delays[:-1] == list(DELAYS_S)
    assert delays[-1] is None
    assert timedelta(days=1) < timedelta(seconds=sum(DELAYS_S)) < timedelta(days=2)


def test_a_receiver_that_says_when_is_believed_within_bounds() -> None:
    assert next_delay_s(1, chance=0.0, retry_after_s=60.0) == 60.0
    assert next_delay_s(1, chance=0.0, retry_after_s=1.0) == DELAYS_S[0]
    assert next_delay_s(1, chance=0.0, retry_after_s=1e9) == LONGEST_RETRY_AFTER_S


def test_the_longer_it_fails_the_longer_it_is_left_alone() -> None:
    holds = [hold_s(timedelta(seconds=seconds)) for seconds in (0, 10, 600, 3_600, 80_000)]
    assert holds == sorted(holds)
    assert holds[0] == 5.0
    assert holds[2] == 60.0
    assert holds[-1] == 600.0


def test_after_a_day_it_is_paused() -> None:
    assert not is_to_pause(timedelta(hours=23, minutes=59))
    assert is_to_pause(timedelta(days=1))
