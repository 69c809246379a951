"""The one line of an error that a list shows."""

import pytest

from reflection_app.loops.diagnosis.error_texts import headline

SANDBOX = "line 2, in <module>: for month in rows.items():\nAttributeError: 'list' object has no attribute 'items'\n"
CHAINED = "KeyError: 'a'\n\nDuring handling of the above exception\n\nrequests.exceptions.ConnectTimeout: too slow\n"


@pytest.mark.parametrize(
    ("error", "shown"),
    [
        (SANDBOX, "AttributeError: 'list' object has no attribute 'items'"),
        (CHAINED, "requests.exceptions.ConnectTimeout: too slow"),
        ("\n  503 Service Unavailable  \nRetry later", "503 Service Unavailable"),
        ("连接超时\n第二行", "连接超时"),
        (" \n ", ""),
    ],
)
def test_the_line_that_says_most_is_shown(error: str, shown: str) -> None:
    assert headline(error) == shown
