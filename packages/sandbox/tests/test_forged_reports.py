"""A report is written by the candidate's process: whatever it says, it is judged soon, without an exception."""

import json
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from sandbox_runs import cpu_within, run_call

from desk_sandbox.code_tests import CallCase, FailureReason, StdinCase, TestResult
from desk_sandbox.judge import Judge
from desk_sandbox.process import Record
from desk_sandbox.scripts.planning import Item

MEBIBYTE = 1024 * 1024
SECRET = "never-told-8213"
WORDS = ["kind", "error", "value", "status", "ok", "actual", "expected", "exception", "l", "t", "s", "d", "x"]
scalars = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5) | st.sampled_from(WORDS)
names = st.sampled_from(WORDS) | st.text(max_size=3)
json_values = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(names, inner, max_size=4), max_leaves=20
)


def judge_report(report: bytes, *, expected: Any = SECRET) -> list[TestResult]:
    """What each form of tests makes of this report."""
    judge = Judge(wall_s=1.0, entry_point="f")
    record = Record(0, "ended", 0, 1.0, report, b"", b"")
    return [
        judge.judge_case(CallCase(expected=expected), record, name="case"),
        judge.judge_program(StdinCase(expected_stdout=SECRET), record, name="program"),
        judge.judge_item(Item("statement", "assert f()"), record),
    ]


def check_failed(result: TestResult) -> None:
    assert not result.passed
    assert result.reason is not None
    json.dumps(result.model_dump(mode="json")).encode("ascii")


@settings(deadline=None)
@given(json_values)
def test_any_json_value_as_report_is_a_failed_test_and_no_exception(report: Any) -> None:
    for number, result in enumerate(judge_report(json.dumps(report).encode())):
        if not (number == 2 and report == {"ok": True}):  # the one word by which a test of a script says that it passed
            check_failed(result)


@pytest.mark.parametrize("kind", [[], {}, ["exception"], 1, True])
def test_a_kind_that_is_no_text_is_forged(kind: Any) -> None:
    for result in judge_report(json.dumps({"kind": kind, "error": "x"}).encode()):
        assert result.reason is FailureReason.FORGED


@pytest.mark.parametrize("status", ["0", 0.0, False, None, [], {"a": [1]}])
def test_a_status_that_is_no_whole_number_is_forged(status: Any) -> None:
    assert judge_report(json.dumps({"status": status}).encode())[1].reason is FailureReason.FORGED


@pytest.mark.parametrize("ok", [1, 1.0, "true", [True]])
def test_nothing_but_true_is_true(ok: Any) -> None:
    assert judge_report(json.dumps({"ok": ok}).encode())[2].reason is FailureReason.FORGED


def nested(inner: str, tag: str, depth: int) -> str:
    return f'{{"{tag}":[' * depth + inner + "]}" * depth


WIDE = MEBIBYTE // 2 - 2_000
LARGE = {
    "a list": ",".join("1" * WIDE).join(('{"l":[', "]}")),
    "a set": ",".join("1" * WIDE).join(('{"s":[', "]}")),
    "lists in a set": nested(",".join("1" * WIDE), "t", 110).join(('{"s":[', "]}")),
    "a set a hundred deep": nested(",".join("1" * WIDE), "s", 110),
    "sets beside sets": nested(",".join(['{"s":[]}'] * (WIDE // 5)), "s", 110),
    "pairs": ",".join(['["",1]'] * (WIDE // 4)).join(('{"d":[', "]}")),
    "quotes a hundred deep": nested('"' + "a'\\\"" * (WIDE // 2) + '"', "t", 110).join(('{"s":[', "]}")),
    "lists that are no values": "[" * 2 + "[]," * (WIDE // 2) + "[]" + "]" * 2,
    "digits": ",".join(["9" * 4_300] * 240).join(('{"s":[', "]}")),
    "too many digits": "9" * MEBIBYTE,
    "brackets": "[" * MEBIBYTE,
    "a long text": '"' + "\\u0000" * (MEBIBYTE // 6) + '"',
}


@pytest.mark.exhaustive("the largest of everything, for the bounds")
@pytest.mark.parametrize("what", LARGE)
def test_a_mebibyte_of_anything_is_judged_soon(what: str) -> None:
    with cpu_within(60):
        for expected in ([1], [[1]], SECRET):
            for result in judge_report(f'{{"value":{LARGE[what]}}}'.encode(), expected=expected):
                check_failed(result)


def test_a_returned_set_of_nested_tuples_is_judged_as_soon_as_any_other() -> None:
    result = run_call('def f():\n t = "a\'\\""\n for _ in range(90): t = (t,)\n return {t}', expected=[1])
    assert result.reason is FailureReason.WRONG_ANSWER
