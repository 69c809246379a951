"""The real errors of recorded sessions, diagnosed by rules alone, against what a person says of each.

`docs/design/tool-diagnosis.md` shows the same table.
"""

import json
from collections import Counter
from typing import Any

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, ErrorType, FailedCall, Remedy, Source
from reflection_app.loops.tool_failures import is_tool_failure
from tests.sessions.recorded import recorded_sessions

PARAMETER = ErrorType.PARAMETER_ERROR

# By hand, from the conversations: how often it is said, its type, and the rule that should tell it.
EXPECTED: dict[str, tuple[int, ErrorType, str]] = {
    "Error: flight HAT030 not available on date 2024-05-13": (13, PARAMETER, "not-to-be-had"),
    "Error: flight HAT223 not available on date 2024-05-14": (1, PARAMETER, "not-to-be-had"),
    "Error: gift card balance is not enough": (5, PARAMETER, "money-short"),
    "Error: not enough balance in payment method gift_card_5094406": (1, PARAMETER, "money-short"),
    "Error: payment amount does not add up, total price is 305, but paid 255": (4, PARAMETER, "sums-differ"),
    "Error: not enough seats on flight HAT139": (1, PARAMETER, "not-to-be-had"),
    "Error: not enough seats on flight HAT229": (2, PARAMETER, "not-to-be-had"),
    "Error: payment method not found": (2, PARAMETER, "not-there"),
    "Error: payment method certificate_7504069 not found": (2, PARAMETER, "not-there"),
    "Error: payment method certificate_4856383 not found": (1, PARAMETER, "not-there"),
    "Error: certificate cannot be used to update reservation": (2, PARAMETER, "not-for-this"),
}


def failures() -> list[tuple[FailedCall, Diagnosis | None]]:
    """Every failed call of the recorded sessions with its diagnosis."""
    return [
        (failed, diagnose_by_rules(failed))
        for session in recorded_sessions(1_000)
        for failed in failed_calls(session["messages"])
    ]


def failed_calls(messages: list[dict[str, Any]]) -> list[FailedCall]:
    calls: dict[str, dict[str, Any]] = {}
    found, last = [], None
    for message in messages:
        calls |= {call["id"]: call["function"] for call in message.get("tool_calls") or []}
        if message["role"] != "tool":
            continue
        made = calls[message["tool_call_id"]]
        call = (made["name"], json.loads(made["arguments"]))
        if is_tool_failure(message):
            found.append(FailedCall(tool=call[0], params=call[1], error=message["content"], is_repeated=call == last))
            last = call
        else:
            last = None
    return found


def test_every_recorded_error_is_diagnosed_by_rules_alone_as_a_person_would() -> None:
    told = failures()
    counted = Counter(failed.error for failed, _ in told)
    for error, number in counted.most_common():
        found = next(found for failed, found in told if failed.error == error)
        assert found is not None, error
        print(f"{number:3} {error} → {found.error_type.value} ({found.rule}) → {found.action.action}")
    assert counted == {error: number for error, (number, _, _) in EXPECTED.items()}
    assert sum(counted.values()) == 34
    for failed, found in told:
        _, error_type, rule = EXPECTED[failed.error]
        assert found is not None
        assert (found.source, found.error_type, found.rule) == (Source.RULE, error_type, rule), failed.error


def test_none_of_them_is_repeated_without_a_change() -> None:
    for failed, found in failures():
        assert found is not None
        assert found.action.remedy is Remedy.FIX_AND_RETRY
        assert found.action.modified_params is None, "whose money and which flight is no matter for code"
        if failed.is_repeated:
            assert "twice in a row" in found.action.action
