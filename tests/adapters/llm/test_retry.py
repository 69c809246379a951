from datetime import UTC, datetime

import pytest

from reflection_app.adapters.llm.errors import backoff_s, retry_after_s

NOW = datetime(2026, 5, 1, 12, 0, 0, tzinfo=UTC)


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "7"}, 7.0),
        ({"retry-after": "0.5"}, 0.5),
        ({"Retry-After": "Fri, 01 May 2026 12:00:30 GMT"}, 30.0),
        ({"Retry-After": "Fri, 01 May 2026 12:00:30 -0000"}, 30.0),
        ({"Retry-After": "Fri, 01 May 2026 11:00:00 GMT"}, 0.0),
        ({"Retry-After": "7", "retry-after-ms": "250"}, 0.25),
        ({"Retry-After": "soon"}, None),
        ({"Retry-After": "-3"}, None),
        ({"Retry-After": ""}, None),
        ({}, None),
    ],
)
def test_the_servers_wish_is_read(headers: dict[str, str], seconds: float | None) -> None:
    assert retry_after_s(headers, now=NOW) == seconds


def test_the_wait_doubles_up_to_its_limit() -> None:
    assert [backoff_s(tries, chance=1.0) for tries in range(1, 8)] == [0.5, 1.0, 2.0, 4.0, 8.0, 8.0, 8.0]


def test_chance_takes_away_at_most_half() -> None:
    assert backoff_s(3, chance=0.0) == 1.0
