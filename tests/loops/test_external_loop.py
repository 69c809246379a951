from decimal import Decimal

from reflection_app.loops.attempt_effects import Generate, Generation
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import code_spec, play, report, said, sequence

CODE = "```python\ndef f(x):\n    return x + 1\n```"


def test_a_first_answer_that_passes_ends_the_loop_as_succeeded() -> None:
    played = play(code_spec(), sequence([said(CODE), report(True, True)]))

    assert played.ended.outcome is Outcome.SUCCEEDED
    assert played.ended.best_attempt == 1
    assert played.keys == ["attempt-1/answer", "attempt-1/tests", "attempt-1/verdict"]


def test_failures_are_in_the_next_prompt_with_everything_known_about_them() -> None:
    played = play(code_spec(), sequence([said("bad"), report(False, True), said(CODE), report(True, True)]))

    second = played.effects[3]
    assert isinstance(second, Generate)
    assert [message.role for message in second.messages] == ["system", "user", "assistant", "user"]
    told = second.messages[-1].content
    assert "1 of 2 tests failed" in told
    assert "Test: t0" in told
    assert "Actual: 7" in told
    assert "t1" not in told
    assert played.ended.best_attempt == 2


def test_running_out_of_iterations_keeps_the_best_and_not_the_last() -> None:
    answers = [said("a"), report(False, False), said("b"), report(True, False), said("c"), report(False, False)]
    played = play(code_spec(max_iterations=3), sequence(answers))

    assert played.ended.outcome is Outcome.EXHAUSTED
    assert played.ended.best_attempt == 2


def test_three_strictly_falling_scores_stop_the_loop() -> None:
    answers = [
        said("a"),
        report(True, True, False),
        said("b"),
        report(True, False, False),
        said("c"),
        report(False, False, False),
    ]
    played = play(code_spec(max_iterations=9), sequence(answers))

    assert played.ended.outcome is Outcome.OVER_CORRECTED
    assert played.ended.best_attempt == 1


def test_an_equal_score_under_handed_in_tests_does_not_stop_the_loop() -> None:
    answers = [said("a"), report(True, False), said("b"), report(True, False), said("c"), report(True, True)]
    assert play(code_spec(), sequence(answers)).ended.outcome is Outcome.SUCCEEDED


def test_a_spent_token_budget_is_named_and_no_further_call_is_made() -> None:
    answers = [said("a", tokens=500), report(False)]
    played = play(code_spec(token_budget=400), sequence(answers))

    assert played.ended.outcome is Outcome.OVER_BUDGET
    assert played.ended.best_attempt == 1
    assert "attempt-2/answer" not in played.keys


def test_a_spent_money_budget_is_named() -> None:
    answers = [said("a", cost_usd="0.02"), report(False)]
    assert play(code_spec(cost_budget_usd=Decimal("0.01")), sequence(answers)).ended.outcome is Outcome.OVER_BUDGET


def test_a_money_budget_that_cannot_be_kept_fails_the_run_and_says_why() -> None:
    unpriced: Performed[Generation] = Performed(value=Generation(text="a", model="m"), spent=Spent(cost_known=False))
    played = play(code_spec(cost_budget_usd=Decimal(1)), sequence([unpriced]))

    assert played.ended.outcome is Outcome.FAILED
    assert "price of this model is not known" in played.ended.error
    assert play(code_spec(), sequence([unpriced, report(True)])).ended.outcome is Outcome.SUCCEEDED


def test_an_answer_that_passes_is_a_success_even_where_it_used_up_the_budget() -> None:
    answers = [said(CODE, tokens=500), report(True)]
    assert play(code_spec(token_budget=400), sequence(answers)).ended.outcome is Outcome.SUCCEEDED


def test_a_call_cut_off_by_the_deadline_ends_as_timed_out_with_the_best_so_far() -> None:
    answers = [said("a"), report(False, True), EffectTimedOut("time was up")]
    played = play(code_spec(), sequence(answers))

    assert played.ended.outcome is Outcome.TIMED_OUT
    assert played.ended.best_attempt == 1


def test_each_call_gets_only_the_time_and_the_tokens_that_are_left() -> None:
    answers = [said("a", tokens=300, duration_s=20), report(False), said("b"), report(True)]
    played = play(code_spec(time_budget_s=30, token_budget=1000), sequence(answers))

    second = played.effects[3]
    assert isinstance(second, Generate)
    assert second.max_tokens == 700
    assert 9.9 < second.timeout_s <= 10


def test_a_call_that_fails_for_good_ends_the_run_as_failed_with_what_was_said() -> None:
    played = play(code_spec(), sequence([said("a"), report(False, True), EffectFailed("no such model")]))

    assert played.ended.outcome is Outcome.FAILED
    assert played.ended.error == "no such model"
    assert played.ended.best_attempt == 1
