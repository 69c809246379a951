import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.code_tests import FailureReason, TestReport
from reflection_app.loops.referee.weighing import SETTLED_FROM, Basis, weigh
from tests.loops.referee.reports import CRASH, OK, pick, report, reports, scores, suspects

MOST_FAIL = [OK, 7, 19, 3, 11]


def test_failing_a_few_of_the_models_tests_says_nothing_against_the_first_answer() -> None:
    seen = pick([OK, OK, OK, 7, 8])
    assert (seen.attempt, seen.settled, seen.try_again) == (1, True, False)


def test_a_rewrite_that_passes_all_does_not_replace_an_answer_that_passed_most() -> None:
    assert pick([OK, OK, OK, OK, 8], [OK] * 5).attempt == 1


def test_failing_most_tests_asks_for_another_attempt_and_is_not_settled() -> None:
    seen = pick(MOST_FAIL)
    assert (seen.attempt, seen.settled, seen.try_again) == (1, False, True)


def test_half_of_the_tests_are_not_most() -> None:
    assert not pick([OK, OK, 7, 8], expected=(10, 20, 30, 40)).try_again


def test_tests_of_a_model_never_replace_the_first_answer_and_the_question_is_open() -> None:
    seen = pick(MOST_FAIL, [OK] * 5)
    assert (seen.attempt, seen.settled, seen.try_again) == (1, False, False)
    assert seen.reasons[0] == Basis.OPEN.words
    assert scores(MOST_FAIL, [OK] * 5) == {1: 20.0, 2: 100.0}


def test_what_the_kept_attempt_fails_is_told_unless_something_shows_the_test_to_be_wrong() -> None:
    seen = pick([OK, OK, OK, 7, 8])
    assert seen.against == ("assert f(3) == 40", "assert f(4) == 50")
    assert seen.reasons[-1].endswith("nothing shows that they are wrong: assert f(3) == 40; assert f(4) == 50.")
    assert pick([OK] * 5).against == ()
    broken = pick([OK, OK, OK, FailureReason.BROKEN_TEST, FailureReason.BROKEN_TEST])
    assert (broken.against, broken.settled) == ((), True)


def test_a_failed_test_counts_against_the_kept_attempt_though_another_was_not_put_to_it() -> None:
    attempts = [7, OK, 9, 11, 12], [8, OK, 10, 13, FailureReason.NOT_RUN]
    assert scores(*attempts) == {1: 25.0, 2: 25.0}
    assert "assert f(4) == 50" in pick(*attempts).against


def test_a_test_that_had_no_turn_shows_nothing() -> None:
    seen = pick([OK, OK, OK, OK, FailureReason.NOT_RUN])
    assert (seen.settled, seen.against) == (True, ("assert f(4) == 50",))
    assert scores([OK, OK, OK, OK, FailureReason.NOT_RUN]) == {1: 100.0}
    example = pick([FailureReason.NOT_RUN, OK, OK, OK, OK], examples=1)
    assert (example.settled, example.against) == (True, ("assert f(0) == 10",))


def test_only_the_first_of_many_failed_tests_are_named() -> None:
    seen = pick([7] * 9, expected=range(10, 100, 10))
    assert seen.reasons[-1].endswith("; and 4 more.")


def test_the_same_answers_again_are_no_evidence_that_the_tests_are_wrong() -> None:
    seen = pick(MOST_FAIL, MOST_FAIL)
    assert (seen.attempt, seen.settled, len(seen.against)) == (1, False, 4)
    assert seen.reasons[0] == Basis.NO_BETTER.words


def test_a_rewrite_without_a_majority_of_its_own_does_not_replace_the_first_answer() -> None:
    seen = pick(MOST_FAIL, [OK, OK, 18, 2, 12])
    assert (seen.attempt, seen.settled) == (1, False)


def test_a_rewrite_that_does_worse_backs_the_first_answer() -> None:
    worse = pick(MOST_FAIL, [6, 5, 18, 2, 12])
    equal = pick(MOST_FAIL, [OK, 5, 18, 2, 12])
    assert worse.attempt == equal.attempt == 1
    assert worse.confidence > equal.confidence


def test_the_reasons_name_tests_that_were_left_out() -> None:
    found, _ = weigh(reports([OK] * 5), suspects=suspects(left_out=("assert f(1) == 3: contradicts another test",)))
    assert found.reasons[-1] == "Left out: assert f(1) == 3: contradicts another test"


def test_the_tasks_own_example_settles_the_form() -> None:
    expected = ([1, 2], [1, 3], [2, 5], [0, 4], [7, 9])
    descending = [list(reversed(answer)) for answer in expected]
    seen = pick(descending, [OK] * 5, expected=expected, examples=1)
    assert (seen.attempt, seen.settled) == (2, True)


def test_one_failed_example_of_the_task_outweighs_all_tests_of_the_model() -> None:
    seen = pick([7, OK, OK, OK, OK], examples=1)
    assert (seen.settled, seen.try_again) == (False, True)
    assert pick([7, OK, OK, OK, OK], [OK, 7, 8, 9, 11], examples=1).attempt == 2
    assert pick([OK, 7, 8, 9, 11], [7, OK, OK, OK, OK], examples=1).attempt == 1


def test_code_that_does_not_run_gives_way_to_code_that_answers() -> None:
    assert pick([CRASH] * 5, [OK, 7, 8, 9, 11]).attempt == 2
    assert pick([OK, 7, 8, 9, 11], [CRASH] * 5).attempt == 1
    assert not pick([CRASH] * 5, [OK] * 5).settled


def test_code_that_gives_no_answer_is_not_stood_by_though_the_rewrite_gives_none_either() -> None:
    assert pick([CRASH] * 5, [CRASH] * 5).confidence == Basis.DOES_NOT_RUN.confidence


def test_another_attempt_is_made_as_long_as_rewrites_get_further() -> None:
    assert pick([CRASH] * 5, [1, 2, 3, 4, 5]).try_again
    assert pick([1, 2, 3, 4, 5], [OK, 2, 3, 4, 6]).try_again
    assert not pick([CRASH] * 5, [1, 2, 3, 4, 5], [CRASH] * 5).try_again


def test_without_a_test_that_counts_the_first_attempt_is_kept_unsettled() -> None:
    seen = pick([FailureReason.NOT_RUN] * 5, [OK] * 5)
    assert (seen.attempt, seen.settled, seen.try_again) == (1, False, False)
    assert scores([FailureReason.NOT_RUN] * 5, [OK] * 5) == {1: 0.0, 2: 0.0}


def test_a_test_is_counted_for_all_attempts_or_for_none() -> None:
    assert scores([OK, 7, 8, 9, FailureReason.NOT_RUN], [OK, 7, 8, 9, OK]) == {1: 25.0, 2: 25.0}
    assert scores([OK, 7, 8, 9, FailureReason.BROKEN_TEST], [OK, 7, 8, 9, OK]) == {1: 25.0, 2: 25.0}


def test_tests_of_one_name_are_told_apart() -> None:
    twice = TestReport(results=report([OK, 7]).results + report([7, OK]).results)
    assert weigh({1: twice}, suspects=suspects())[1] == {1: 50.0}


answers = st.lists(
    st.sampled_from([OK, CRASH, FailureReason.TIMEOUT, FailureReason.NOT_RUN, 1, -10, 2.5, True, "x", [1], {2}, None]),
    min_size=5,
    max_size=5,
)


@given(st.lists(answers, min_size=1, max_size=5), st.integers(0, 5))
def test_any_answers_have_a_pick(attempts: list[list[object]], examples: int) -> None:
    seen, found = weigh(reports(*attempts), suspects=suspects(examples=examples))
    assert seen.attempt in found
    assert seen.settled == (seen.confidence >= SETTLED_FROM)
    assert all(0 <= score <= 100 for score in found.values())


@pytest.mark.parametrize("basis", list(Basis))
def test_a_confidence_is_a_probability(basis: Basis) -> None:
    assert 0 < basis.confidence < 1
