"""The table as a whole, and what single rows are for."""

from typing import Any

import pytest

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, ErrorType, FailedCall, FailureSeverity, Remedy
from reflection_app.loops.tool_calls import ToolFailure
from tests.loops.diagnosis.labelled_errors import LABELLED, UNCLAIMED

READER = "mcp__web-reader__webReader"
PAGE = {"url": "https://example.org/a"}


def ruled(error: str, *, tool: str = "call_service", **fields: Any) -> Diagnosis:
    found = diagnose_by_rules(FailedCall.model_validate({"tool": tool, "error": error, **fields}))
    assert found is not None, error
    return found


@pytest.mark.parametrize(
    ("status", "error_type", "remedy"),
    [
        (400, ErrorType.PARAMETER_ERROR, Remedy.FIX_AND_RETRY),
        (401, ErrorType.PERMISSION_DENIED, Remedy.ASK_PERSON),
        (403, ErrorType.PERMISSION_DENIED, Remedy.ASK_PERSON),
        *[(status, ErrorType.PARAMETER_ERROR, Remedy.FIX_AND_RETRY) for status in (404, 406, 409, 410, 411, 412, 413)],
        *[(status, ErrorType.WRONG_TOOL, Remedy.SWITCH_TOOL) for status in (405, 426, 501, 505)],
        (451, ErrorType.PERMISSION_DENIED, Remedy.SKIP),
        *[(status, ErrorType.EXTERNAL_SERVICE_ERROR, Remedy.RETRY_LATER) for status in (408, 423, 425, 429)],
        *[(status, ErrorType.EXTERNAL_SERVICE_ERROR, Remedy.RETRY_LATER) for status in (500, 502, 503, 504, 529, 599)],
    ],
)
@pytest.mark.parametrize("said", ["HTTP {}", "the server answered with status code {}"])
def test_a_status_decides_whether_it_is_known_or_only_told(
    status: int, error_type: ErrorType, remedy: Remedy, said: str
) -> None:
    known = ruled("It did not work.", status=status, failure=ToolFailure.HTTP_STATUS.value)
    told = ruled(said.format(status))
    assert (known.error_type, known.action.remedy) == (told.error_type, told.action.remedy) == (error_type, remedy)


@pytest.mark.parametrize(
    ("failure", "rule"),
    [
        (ToolFailure.UNKNOWN_TOOL, "own-unknown-tool"),
        (ToolFailure.INVALID_ARGUMENTS, "own-invalid-arguments"),
        (ToolFailure.ADDRESS_REFUSED, "own-address-refused"),
        (ToolFailure.UNREACHABLE, "own-unreachable"),
        (ToolFailure.TIMED_OUT, "own-timed-out"),
        (ToolFailure.TOO_LARGE, "own-too-large"),
        (ToolFailure.MISCONFIGURED, "own-misconfigured"),
    ],
)
def test_what_our_own_callers_know_is_enough(failure: ToolFailure, rule: str) -> None:
    assert ruled("?", failure=failure.value).rule == rule


def test_a_page_of_many_is_skipped_and_a_service_is_asked_for() -> None:
    page, service = ruled("403 Forbidden", tool=READER, params=PAGE), ruled("403 Forbidden", tool="list_issues")
    assert (page.error_type, page.action.remedy) == (ErrorType.PERMISSION_DENIED, Remedy.SKIP)
    assert service.action.remedy is Remedy.ASK_PERSON
    posts = ruled("403 Forbidden", tool="http", params={**PAGE, "method": "POST"})
    assert posts.action.remedy is Remedy.ASK_PERSON
    key = ruled("403 Forbidden: your API key is invalid", tool=READER, params=PAGE)
    assert key.action.remedy is Remedy.ASK_PERSON


def test_a_services_wish_to_be_left_alone_is_kept_to() -> None:
    assert ruled("Rate limit", status=429, retry_after_s=17).action.retry_delay_seconds == 17
    assert ruled("Rate limit reached. Please try again in 20s.").action.retry_delay_seconds == 20
    assert ruled("Too many requests, retry after 2 minutes").action.retry_delay_seconds == 120
    assert ruled("Rate limit: try again in 1m30s").action.retry_delay_seconds == 90
    assert ruled("请求过于频繁，请在 45 秒后重试").action.retry_delay_seconds == 45
    assert ruled("Rate limit", status=429, retry_after_s=1e9).action.retry_delay_seconds == 3_600


def test_a_spent_quota_is_not_retried_in_a_minute() -> None:
    found = ruled("Daily quota exceeded. Please retry in 5s.", status=429)
    assert (found.rule, found.action.retry_delay_seconds) == ("quota-spent", 3_600)


def test_a_second_failure_in_a_row_weighs_more_and_is_never_just_repeated() -> None:
    first, again = ruled("connection reset by peer"), ruled("connection reset by peer", is_repeated=True)
    assert (first.severity, again.severity) == (FailureSeverity.MEDIUM, FailureSeverity.HIGH)
    assert (again.action.retry_delay_seconds or 0) > (first.action.retry_delay_seconds or 0)
    page = ruled("Timeout", tool=READER, params=PAGE, is_repeated=True)
    assert page.action.remedy is Remedy.SKIP


def test_who_changes_things_is_told_to_look_before_doing_it_again() -> None:
    assert "carried out" in ruled("Timeout", tool="create_order").action.alternative
    assert "carried out" not in ruled("Timeout", tool="get_order").action.alternative


# How often the table is right about ordinary errors, and that it leaves alone what it cannot know.


def test_nine_of_ten_ordinary_errors_get_the_type_and_a_remedy_that_a_person_gave_them() -> None:
    misses = []
    for error, error_type, remedies in LABELLED:
        found = diagnose_by_rules(FailedCall(tool="call_service", error=error))
        if found is None or found.error_type is not error_type or found.action.remedy not in remedies:
            told = (found.rule, found.error_type.value, found.action.remedy.value) if found else None
            misses.append(f"{error[:90]!r}: {told} instead of {error_type.value}")
    share = 1 - len(misses) / len(LABELLED)
    print(f"{share:.1%} of {len(LABELLED)} right", *misses, sep="\n")
    assert len(LABELLED) >= 60
    assert share >= 0.9, misses


@pytest.mark.parametrize("error", UNCLAIMED)
def test_what_says_too_little_is_left_to_a_model(error: str) -> None:
    assert diagnose_by_rules(FailedCall(tool="call_service", error=error)) is None
