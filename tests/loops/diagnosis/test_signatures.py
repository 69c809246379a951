import pytest

from reflection_app.loops.diagnosis.diagnose import LONGEST_SIGNATURE, NOTHING_SAID, signature_of, symptoms_of
from reflection_app.loops.diagnosis.error_texts import headline
from tests.pace import within


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Timeout after 30s", "timeout after 5 seconds"),
        ("flight HAT030 not available on date 2024-05-13", "Error: flight HAT223 not available on date 2024-05-14"),
        ("cannot open /home/ann/x.csv", "cannot open /tmp/other/y.csv"),
        ("mail to ann@example.org bounced", "mail to bob@example.com bounced"),
        ("at 2026-02-21T10:45:00Z it broke", "at 2025-01-01 00:00:00 it broke"),
        ("row 6f1c1b1e-3a58-4c6c-9c44-0d7d6d3a1a11 is gone", "row 00000000-0000-0000-0000-000000000000 is gone"),
        ("syntax error on line 3, column 7", "Syntax error on  line 44,\ncolumn 1"),
        (
            '{"error": {"message": "User 5 not found", "code": "nf"}}',
            '{"error":{"code":"nf","message":"User 6 not found"}}',
        ),
        (
            "Traceback (most recent call last):\n  File \"a.py\", line 3, in f\n    g()\nKeyError: 'a'",
            'Traceback (most recent call last):\n  File "b/c.py", line 99, in h\n    x = y["q"]\nKeyError: "q"',
        ),
        ("错误：请求超时，30秒无响应", "错误: 请求超时,5 秒无响应"),
    ],
)
def test_alike_errors_have_one_signature(one: str, other: str) -> None:
    assert signature_of(one) == signature_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("HTTP 404", "HTTP 500"),
        ("SQLSTATE 23505", "SQLSTATE 23503"),
        ("not enough seats on flight HAT139", "flight HAT139 not available"),
        ("请求超时", "权限不足"),
        ("KeyError: 'a'", "ValueError: 'a'"),
        ('{"error": "no such order"}', '{"error": "no such user"}'),
    ],
)
def test_errors_that_differ_have_different_ones(one: str, other: str) -> None:
    assert signature_of(one) != signature_of(other)


def test_the_tools_own_name_says_nothing() -> None:
    assert signature_of("search_a failed to start", tool="search_a") == signature_of(
        "other_b failed to start", tool="other_b"
    )


def test_nothing_has_a_signature_too() -> None:
    assert signature_of("") == signature_of(" \n") == NOTHING_SAID


def test_symptoms_are_the_clauses_of_the_error_without_its_values() -> None:
    assert symptoms_of("Timeout after 30s，无响应") == ("timeout after <duration>", "无响应")
    assert symptoms_of("HTTP 429: Too Many Requests") == ("http 429", "too many requests")
    assert symptoms_of("the moon is full") == ("the moon is full",)
    assert symptoms_of("...") == (NOTHING_SAID,)


@pytest.mark.parametrize(
    "unit",
    [
        "{",
        '"',
        "a",
        "<",
        "1.",
        " ",
        "status code",
        "\x00",
        "\ud800",
    ],
)
def test_a_long_text_of_anything_is_read_at_once(unit: str) -> None:
    error = unit * (200_000 // len(unit)) + "</script>"
    with within(paces=100):
        assert len(signature_of(error)) <= LONGEST_SIGNATURE
        assert symptoms_of(error)


# The one line of an error that a list shows.


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
