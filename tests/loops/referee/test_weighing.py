import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.code_tests import FailureReason, TestReport, TestResult
from reflection_app.loops.referee.suspect_tests import SuspectTests
from reflection_app.loops.referee.weighing import SETTLED_FROM, Basis, Tried, weigh
from tests.loops.referee.reports import CRASH, OK, report, standing

MOST_FAIL = [OK, 7, 19, 3, 11]


def test_failing_a_few_of_the_models_tests_says_nothing_against_the_first_answer() -> None:
    seen = standing([OK, OK, OK, 7, 8])
    assert (seen.keep, seen.settled, seen.try_again) == (1, True, False)


def test_a_rewrite_that_passes_all_does_not_replace_an_answer_that_passed_most() -> None:
    assert standing([OK, OK, OK, OK, 8], [OK] * 5).keep == 1


def test_failing_most_tests_asks_for_another_attempt_and_is_not_settled() -> None:
    seen = standing(MOST_FAIL)
    assert (seen.keep, seen.settled, seen.try_again) == (1, False, True)


def test_half_of_the_tests_are_not_most() -> None:
    assert not standing([OK, OK, 7, 8], expected=(10, 20, 30, 40)).try_again


def test_tests_of_a_model_never_replace_the_first_answer_and_the_question_is_open() -> None:
    seen = standing(MOST_FAIL, [OK] * 5)
    assert (seen.keep, seen.settled, seen.try_again) == (1, False, False)
    assert seen.reasons[0] == Basis.OPEN.words
    assert seen.scores == {1: 20.0, 2: 100.0}


def test_what_the_kept_attempt_fails_is_told_unless_something_shows_the_test_to_be_wrong() -> None:
    seen = standing([OK, OK, OK, 7, 8])
    assert seen.against == ("assert f(3) == 40", "assert f(4) == 50")
    assert seen.reasons[-1].endswith("nothing shows that they are wrong: assert f(3) == 40; assert f(4) == 50.")
    assert standing([OK] * 5).against == ()
    ruled_out = standing([OK, OK, OK, 7, 8], expected=(10, 20, 30, "x", None), annotation="int")
    assert (ruled_out.against, ruled_out.settled) == ((), True)


def test_a_failed_test_counts_against_the_kept_attempt_though_another_was_not_put_to_it() -> None:
    seen = standing([7, OK, 9, 11, 12], [8, OK, 10, 13, FailureReason.NOT_RUN])
    assert seen.scores == {1: 25.0, 2: 25.0}
    assert "assert f(4) == 50" in seen.against


def test_a_test_that_had_no_turn_shows_nothing() -> None:
    seen = standing([OK, OK, OK, OK, FailureReason.NOT_RUN])
    assert (seen.settled, seen.scores[1], seen.against) == (True, 100.0, ("assert f(4) == 50",))
    example = standing([FailureReason.NOT_RUN, OK, OK, OK, OK], examples=1)
    assert (example.settled, example.against) == (True, ("assert f(0) == 10",))


def test_only_the_first_of_many_failed_tests_are_named() -> None:
    seen = standing([7] * 9, expected=range(10, 100, 10))
    assert seen.reasons[-1].endswith("; and 4 more.")


def test_the_same_answers_again_are_no_evidence_that_the_tests_are_wrong() -> None:
    seen = standing(MOST_FAIL, MOST_FAIL)
    assert (seen.keep, seen.settled, len(seen.against)) == (1, False, 4)
    assert seen.reasons[0] == Basis.STOOD_BY.words


def test_a_rewrite_without_a_majority_of_its_own_does_not_replace_the_first_answer() -> None:
    seen = standing(MOST_FAIL, [OK, OK, 18, 2, 12])
    assert (seen.keep, seen.settled) == (1, False)


def test_tests_that_all_attempts_answer_alike_are_named_as_outvoted() -> None:
    assert standing(MOST_FAIL, [6, 7, 19, 2, 12]).reasons[1:3] == (
        "1 of 5 tests that the model wrote pass.",
        "On 2 of the others all attempts agree with each other, against the test.",
    )
    assert not any("agree with each other" in reason for reason in standing(MOST_FAIL).reasons)


def test_a_rewrite_that_does_worse_backs_the_first_answer() -> None:
    worse = standing(MOST_FAIL, [6, 5, 18, 2, 12])
    equal = standing(MOST_FAIL, [OK, 5, 18, 2, 12])
    assert worse.keep == equal.keep == 1
    assert worse.confidence > equal.confidence


def test_the_same_answers_in_another_form_do_not_replace_the_first_ones() -> None:
    expected = ([1, 2], [1, 3], [2, 5], [0, 4], [7, 9])
    descending = [list(reversed(answer)) for answer in expected]
    seen = standing(descending, [OK] * 5, expected=expected)
    assert (seen.keep, seen.settled, seen.try_again) == (1, False, False)
    assert seen.reasons[0] == Basis.RESTATED.words


def test_the_tasks_own_example_settles_the_form() -> None:
    expected = ([1, 2], [1, 3], [2, 5], [0, 4], [7, 9])
    descending = [list(reversed(answer)) for answer in expected]
    seen = standing(descending, [OK] * 5, expected=expected, examples=1)
    assert (seen.keep, seen.settled) == (2, True)


def test_one_failed_example_of_the_task_outweighs_all_tests_of_the_model() -> None:
    seen = standing([7, OK, OK, OK, OK], examples=1)
    assert (seen.settled, seen.try_again) == (False, True)
    assert standing([7, OK, OK, OK, OK], [OK, 7, 8, 9, 11], examples=1).keep == 2
    assert standing([OK, 7, 8, 9, 11], [7, OK, OK, OK, OK], examples=1).keep == 1


def test_code_that_does_not_run_gives_way_to_code_that_answers() -> None:
    assert standing([CRASH] * 5, [OK, 7, 8, 9, 11]).keep == 2
    assert standing([OK, 7, 8, 9, 11], [CRASH] * 5).keep == 1
    assert not standing([CRASH] * 5, [OK] * 5).settled


def test_code_that_gives_no_answer_is_not_stood_by_though_the_rewrite_gives_none_either() -> None:
    assert standing([CRASH] * 5, [CRASH] * 5).confidence == Basis.DOES_NOT_RUN.confidence


def test_another_attempt_is_made_as_long_as_rewrites_get_further() -> None:
    assert standing([CRASH] * 5, [1, 2, 3, 4, 5]).try_again
    assert standing([1, 2, 3, 4, 5], [OK, 2, 3, 4, 6]).try_again
    assert not standing([CRASH] * 5, [1, 2, 3, 4, 5], [CRASH] * 5).try_again


def test_a_rewrite_that_the_signature_rules_out_does_worse() -> None:
    seen = standing([7, 8, 9, 11, 12], [None] * 5, annotation="int")
    assert seen.reasons[0] == Basis.WORSE.words


def test_a_test_that_expects_what_the_signature_rules_out_is_not_counted() -> None:
    seen = standing([OK, OK, 7, 8, 9], expected=(10, 20, None, "x", [1]), annotation="int")
    assert (seen.scores[1], seen.try_again) == (100.0, False)


def test_tests_that_use_undefined_names_are_not_counted() -> None:
    own_fault = "line 1 of the tests, in <module>: \nNameError: name 'math' is not defined"
    missing = "line 1 of the tests, in <module>: \nNameError: name 'f' is not defined"

    def asked_again(error: str) -> bool:
        failed = TestResult(name="assert …", passed=False, reason=FailureReason.EXCEPTION, error=error)
        suspects = SuspectTests(script="…", examples=0, entry_point="f", annotation="")
        return weigh([Tried(number=1, report=TestReport(results=(failed,)))], suspects=suspects).try_again

    assert not asked_again(own_fault)
    assert asked_again(missing)
    assert asked_again("line 3, in f: return math.pi\nNameError: name 'math' is not defined")


def test_without_a_test_that_counts_the_first_attempt_is_kept_unsettled() -> None:
    seen = standing([FailureReason.NOT_RUN] * 5, [OK] * 5)
    assert (seen.keep, seen.settled, seen.try_again) == (1, False, False)
    assert seen.scores == {1: 0.0, 2: 0.0}


def test_a_test_is_counted_for_all_attempts_or_for_none() -> None:
    seen = standing([OK, 7, 8, 9, FailureReason.NOT_RUN], [OK, 7, 8, 9, OK])
    assert seen.scores == {1: 25.0, 2: 25.0}


def test_tests_of_one_name_are_told_apart() -> None:
    twice = TestReport(results=report([OK, 7]).results + report([7, OK]).results)
    suspects = SuspectTests(script="…", examples=0, entry_point="f", annotation="")
    assert weigh([Tried(number=1, report=twice)], suspects=suspects).scores == {1: 50.0}


def test_sets_in_another_order_are_the_same_answer() -> None:
    suspects = SuspectTests(script="…", examples=0, entry_point="f", annotation="")
    reports = [
        TestReport(
            results=(
                TestResult(
                    name="assert …", passed=False, reason=FailureReason.WRONG_ANSWER, actual=shown, expected="{1}"
                ),
            )
        )
        for shown in ("{'a', 'b'}", "{'b', 'a'}")
    ]
    tried = [Tried(number=n, report=each) for n, each in enumerate(reports, 1)]
    assert weigh(tried, suspects=suspects).reasons[0] == Basis.STOOD_BY.words


answers = st.lists(
    st.sampled_from([OK, CRASH, FailureReason.TIMEOUT, FailureReason.NOT_RUN, 1, -10, 2.5, True, "x", [1], {2}, None]),
    min_size=5,
    max_size=5,
)


@given(st.lists(answers, min_size=1, max_size=5), st.integers(0, 5), st.sampled_from(["", "int", "List[int]"]))
def test_any_answers_have_a_standing(attempts: list[list[object]], examples: int, annotation: str) -> None:
    seen = standing(*attempts, examples=examples, annotation=annotation)
    assert seen.keep in seen.scores
    assert seen.settled == (seen.confidence >= SETTLED_FROM)
    assert all(0 <= score <= 100 for score in seen.scores.values())


@pytest.mark.parametrize("basis", list(Basis))
def test_a_confidence_is_a_probability(basis: Basis) -> None:
    assert 0 < basis.confidence < 1
