"""A test that is broken says nothing of the work: a person decides, and nothing more is paid for."""

from typing import Any

import pytest

from desk_sandbox.code_tests import CodeTests, FailureReason, TestReport, TestResult
from reflection_app.loops.attempt_effects import AskReviewer, Generate, ReviewReason, RunTests
from reflection_app.loops.attempts import first_attempt_succeeded
from reflection_app.loops.task_spec import Mode, ReviewPolicy, TaskSpec
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from tests.loops.playing import decided, play, said, sequence

SPEC = TaskSpec(objective="Write add(a, b).", mode=Mode.EXTERNAL_LOOP, tests=CodeTests(script="assert add(1, 2) == 3"))
CODE = "def add(a, b): return a + b"


def results(*reasons: FailureReason | None) -> TestReport:
    return TestReport(
        results=tuple(
            TestResult(name=f"t{number}", passed=reason is None, reason=reason, error="why" if reason else "")
            for number, reason in enumerate(reasons)
        )
    )


BROKEN, WRONG = FailureReason.BROKEN_TEST, FailureReason.WRONG_ANSWER


@pytest.mark.parametrize("reasons", [(BROKEN,), (BROKEN, BROKEN), (None, BROKEN)])
@pytest.mark.parametrize(
    ("verdict", "outcome"), [(Verdict.PASS, Outcome.SUCCEEDED), (Verdict.REJECT, Outcome.REJECTED)]
)
def test_a_person_decides_and_no_further_attempt_is_made(reasons: Any, verdict: Verdict, outcome: Outcome) -> None:
    played = play(SPEC, sequence([said(CODE), results(*reasons), decided(verdict)]))
    [review] = played.of(AskReviewer)
    assert played.ended.outcome is outcome
    assert played.ended.best_attempt == 1
    assert played.keys == ["attempt-1/answer", "attempt-1/tests", "attempt-1/verdict", "attempt-1/review"]
    assert review.reason is ReviewReason.BROKEN_TESTS
    assert f"of {len(reasons)} tests fail by themselves" in review.why[0]
    assert review.judgement.confidence == 0


def test_what_all_rests_on_broken_tests_is_no_verdict() -> None:
    played = play(SPEC, sequence([said(CODE), results(BROKEN), decided(Verdict.PASS)]))
    judgement = played.of(AskReviewer)[0].judgement
    assert judgement.is_void
    assert first_attempt_succeeded([judgement], outcome=Outcome.UNVERIFIED, kept=1, made=1) is None


def test_a_person_who_sends_it_back_gets_another_attempt_and_is_asked_again() -> None:
    answers = [said(CODE), results(BROKEN), decided(Verdict.REVISE, reason="Add them."), said(CODE), results(BROKEN)]
    played = play(SPEC, sequence([*answers, decided(Verdict.PASS)]))
    second = played.of(Generate)[1]
    assert "Add them." in second.messages[-1].content
    assert (played.ended.outcome, len(played.of(AskReviewer))) == (Outcome.SUCCEEDED, 2)


def test_tests_that_count_decide_where_they_fail_and_broken_ones_are_not_told_to_the_model() -> None:
    first = results(WRONG, BROKEN, None)
    played = play(SPEC, sequence([said("x"), first, said(CODE), results(None, BROKEN, None), decided(Verdict.PASS)]))
    second = played.of(Generate)[1]
    assert "1 of 2 tests failed" in second.messages[-1].content
    assert "t1" not in second.messages[-1].content
    [review] = played.of(AskReviewer)
    assert (review.judgement.attempt, review.judgement.verdict, review.judgement.score) == (2, Verdict.PASS, 100)
    assert played.ended.outcome is Outcome.SUCCEEDED


@pytest.mark.parametrize("reasons", [(BROKEN,), (None, BROKEN)])
def test_where_the_policy_asks_nobody_it_ends_unverified_and_says_why(reasons: Any) -> None:
    spec = SPEC.model_copy(update={"review_policy": ReviewPolicy(unsettled_waits=False)})
    played = play(spec, sequence([said(CODE), results(*reasons)]))
    assert played.ended.outcome is Outcome.UNVERIFIED
    assert "fail by themselves" in played.ended.error
    assert played.ended.best_attempt == 1


def test_reports_that_were_recorded_before_go_on_as_they_did() -> None:
    recorded = {"results": [{"name": "script", "passed": False, "error": "x", "reason": "not_run"}]}
    report = TestReport.model_validate(recorded)
    played = play(SPEC, sequence([said("a"), report, said("b"), report, said("c"), report]))
    assert (played.ended.outcome, played.of(AskReviewer)) == (Outcome.EXHAUSTED, [])
    verdict = played.effects[2].judgement  # type: ignore[union-attr]
    assert (verdict.referee, verdict.verdict, verdict.score) == (Referee.TESTS, Verdict.REVISE, 0)


@pytest.mark.parametrize(
    ("objective", "code", "script", "wanted"),
    [
        ("Write add(a, b).", "def plus(a, b): ...", "assert add(1, 2) == 3", ("add",)),
        ("Write add(a, b).", "def add(a, b): ...", "assert ad(1, 2) == 3", ()),
        ("Write add(a, b).", "def add(a, b): ...", "assert add(1, 2) == expected", ()),
        ("Write encode and decode.", "def encode(x): ...", "assert decode(encode(1)) == 1", ("decode",)),
        ("Write add(a, b).", "def plus(a, b): ...", "assert math.floor(add(1, 2)) == 3", ("add",)),
        ("Write add(a, b).", "not python", "assert add(1, 2) == wanted", ("add", "wanted")),
        ("Write add(a, b).", "def add(a, b): ...", "assert add(1, 2) ==", ()),
    ],
)
def test_a_name_that_nobody_defines_is_for_the_code_to_define_where_the_task_says_so(
    objective: str, code: str, script: str, wanted: tuple[str, ...]
) -> None:
    spec = SPEC.model_copy(update={"objective": objective, "tests": CodeTests(script=script)})
    played = play(spec, sequence([said(code), results(None)]))
    [run_tests] = played.of(RunTests)
    assert run_tests.wanted == wanted
