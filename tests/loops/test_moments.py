from datetime import UTC, datetime

import pytest
from pydantic import TypeAdapter, ValidationError

from reflection_app.loops.storable import Moment

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
