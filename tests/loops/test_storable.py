"""Texts as PostgreSQL can keep them."""

from collections.abc import Callable
from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from notebook_app.kinds import storable as storable_in_notebook
from reflection_app.loops.storable import Moment, storable, storable_value


@pytest.mark.parametrize("make", [storable, storable_in_notebook])
def test_both_halves_of_a_character_are_joined_before_lone_ones_are_replaced(make: Callable[[str], str]) -> None:
    assert make("a \ud83d\ude00 b \ud83d c \ude00 \0") == "a \U0001f600 b \ufffd c \ufffd \ufffd"
    assert make("\ud83d\ud83d\ude00\ude00") == "\ufffd\U0001f600\ufffd"


def test_so_they_are_inside_of_a_value() -> None:
    assert storable_value({"\ud83d\ude00": ["\ud83d\ude00", 1]}) == {"\U0001f600": ["\U0001f600", 1]}


MOMENT = TypeAdapter(Moment)


def test_a_moment_is_kept_in_utc_whatever_its_zone() -> None:
    read = MOMENT.validate_python("2026-01-31T23:30:00-19:30")
    assert read == datetime(2026, 2, 1, 19, 0, tzinfo=UTC)
    assert read.utcoffset() == UTC.utcoffset(None)


@pytest.mark.parametrize("text", ["0001-01-01T00:00:00+12:00", "9999-12-31T23:59:59-12:00"])
def test_what_no_calendar_has_is_refused(text: str) -> None:
    with pytest.raises(ValidationError, match="of the calendar"):
        MOMENT.validate_python(text)


def test_a_time_without_a_zone_is_refused() -> None:
    with pytest.raises(ValidationError):
        MOMENT.validate_python("2026-01-31T23:30:00")
