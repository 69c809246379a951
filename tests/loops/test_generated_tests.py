"""Code without tests: tests that a model wrote are suspects, and a pick that they do not settle goes to a person."""

from typing import Any

import pytest

from desk_sandbox.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.attempt_effects import (
    AskReviewer,
    Generate,
    Pick,
    RecordPick,
    RecordVerdict,
    ReviewDecision,
    RunTests,
)
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.generated_tests import failures_prompt
from reflection_app.loops.task_spec import Limits, Mode, ReviewPolicy, TaskSpec
from reflection_app.loops.verdicts import Outcome, Referee, Verdict
from tests.loops.playing import Played, decided, noted, play, said
from tests.runs.critiques import critique

FIVE = "\n".join(f"assert f({number}) == {number + 1}" for number in range(1, 6))


def spec(
    *, unsettled_waits: bool = False, objective: str = "def f(n: int) -> int: the next number", **limits: Any
) -> TaskSpec:
    policy = ReviewPolicy(audit_share=0, unsettled_waits=unsettled_waits)
    return TaskSpec(
        objective=objective,
        mode=Mode.EXTERNAL_LOOP,
        kind="code_generation",
        limits=Limits(**limits),
        review_policy=policy,
    )


def report_of(*answers: int) -> TestReport:
    """What a code that answers so shows of FIVE."""
    return TestReport(
        results=tuple(
            TestResult(
                name=f"assert f({number}) == {number + 1}",
                passed=answer == number + 1,
                expected=str(number + 1),
                actual=str(answer),
                reason=None if answer == number + 1 else FailureReason.WRONG_ANSWER,
            )
            for number, answer in enumerate(answers, start=1)
        )
    )


RIGHT = report_of(2, 3, 4, 5, 6)
ONE_FAILS = report_of(2, 3, 4, 5, 0)
ALL_FAIL = report_of(1, 4, 9, 16, 25)
OTHERWISE_WRONG = report_of(7, 11, 13, 17, 19)


def played(
    reports: list[TestReport],
    decisions: list[ReviewDecision] | None = None,
    *,
    tests: str = FIVE,
    picks: list[Pick] | None = None,
    recorded_verdict: Verdict | None = None,
    **task: Any,
) -> Played:
    """The run over code that shows `reports`; its journal holds `picks` and such verdicts, where they are given."""
    shown, decided, recorded = iter(reports), iter(decisions or []), iter(picks or [])

    def answer(effect: AnyEffect) -> Any:
        match effect:
            case Generate(role="tester"):
                return said(f"```python\n{tests}\n```")
            case Generate():
                return said("```python\ndef f(n):\n    return n\n```")
            case RunTests():
                return next(shown)
            case AskReviewer():
                return next(decided)
            case RecordVerdict() if recorded_verdict and effect.key.endswith("/verdict"):
                return effect.judgement.model_copy(update={"verdict": recorded_verdict})
            case RecordPick():
                return next(recorded, effect.pick)
        return noted(effect)

    return play(spec(**task), answer)


def verdicts(run: Played) -> list[tuple[int, Verdict]]:
    return [(e.judgement.attempt, e.judgement.verdict) for e in run.of(RecordVerdict)]


def test_code_that_passes_all_tests_succeeds_at_once() -> None:
    run = played([RIGHT])
    assert (run.ended.outcome, run.ended.best_attempt, run.ended.error) == (Outcome.SUCCEEDED, 1, "")
    assert verdicts(run) == [(1, Verdict.PASS)]
    assert {one.judgement.referee for one in run.of(RecordVerdict)} == {Referee.GENERATED_TESTS}


def test_a_test_that_fails_is_no_reason_to_give_the_first_answer_up_nor_to_call_it_shown() -> None:
    run = played([ONE_FAILS], unsettled_waits=True)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.UNVERIFIED, 1)
    assert "nothing shows that they are wrong: assert f(5) == 6" in run.ended.error
    assert verdicts(run) == [(1, Verdict.REVISE)]
    assert run.keys == ["tests/write", "attempt-1/answer", "attempt-1/tests", "attempt-1/verdict", "attempt-1/pick"]


def test_a_rewrite_with_most_tests_behind_it_is_not_picked_unless_by_a_person() -> None:
    run = played([ALL_FAIL, RIGHT])
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.UNVERIFIED, 1)
    other = decided(Verdict.PASS, score=100, picked=2)
    run = played([ALL_FAIL, RIGHT], [other], unsettled_waits=True)
    assert (run.ended.outcome, run.ended.best_attempt, len(run.of(AskReviewer))) == (Outcome.SUCCEEDED, 2, 1)


@pytest.mark.parametrize(
    ("reports", "verdict", "recorded", "keys"),
    [
        ([ONE_FAILS], Verdict.PASS, [{"attempt": 1, "settled": True, "confidence": 0.91}], []),
        (
            [ALL_FAIL, ALL_FAIL],
            Verdict.REVISE,
            [
                {"attempt": 1, "settled": False, "try_again": True, "confidence": 0.56},
                {"attempt": 1, "settled": True, "confidence": 0.83},
            ],
            ["attempt-2/cleared"],
        ),
    ],
)
def test_a_run_goes_on_as_its_journal_says_that_was_begun_before_picks_told_what_is_against_them(
    reports: list[TestReport], verdict: Verdict, recorded: list[dict[str, Any]], keys: list[str]
) -> None:
    run = played(reports, picks=[Pick.model_validate(pick) for pick in recorded], recorded_verdict=verdict)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.SUCCEEDED, 1)
    assert run.keys[1 + 4 * len(reports) :] == keys


def test_a_person_may_say_that_none_is_right() -> None:
    none = decided(Verdict.REJECT, score=0)
    run = played([ALL_FAIL, OTHERWISE_WRONG], [none], unsettled_waits=True)
    assert run.ended.outcome is Outcome.REJECTED


def test_what_a_person_sent_back_is_no_candidate_any_more() -> None:
    back = decided(Verdict.REVISE, score=40, reason="Zero is missing.")
    run = played([ALL_FAIL, OTHERWISE_WRONG, RIGHT], [back], unsettled_waits=True)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.SUCCEEDED, 3)
    third = next(e for e in run.effects if e.key == "attempt-3/answer")
    assert isinstance(third, Generate)
    assert "Zero is missing." in third.messages[-1].content


def test_the_last_iteration_asks_no_more_of_the_model() -> None:
    run = played([ALL_FAIL], max_iterations=1)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.EXHAUSTED, 1)


@pytest.mark.parametrize("nonsense", ["I cannot write tests.", "```python\nprint(1)\n```", ""])
def test_without_a_usable_test_the_critic_judges(nonsense: str) -> None:
    def answer(effect: AnyEffect) -> Any:
        match effect:
            case Generate(role="tester"):
                return said(nonsense)
            case Generate(role="critic"):
                return said(critique(90, approved=True))
            case Generate():
                return said("def g(): ...")
        return noted(effect)

    run = play(spec(objective="A function of your choice"), answer)
    assert (run.ended.outcome, run.ended.best_attempt) == (Outcome.SUCCEEDED, 1)


def test_the_model_is_told_which_failures_are_certain_and_which_are_not() -> None:
    told = failures_prompt(report_of(0, 0, 4, 5, 6), examples=1)
    certain, doubtful = told.split("may be wrong")
    assert "f(1) == 2" in certain
    assert "f(2) == 3" in doubtful
    assert "2 of 5" in certain
