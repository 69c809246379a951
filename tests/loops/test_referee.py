"""Tests that a model wrote are suspects: which are run, what they weigh, and which attempt is picked.

Recorded runs go through the real loop, referee and sandbox; nothing hidden decides what is kept.
"""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from desk_sandbox import run_tests
from desk_sandbox.code_tests import CodeTests, FailureReason, TestReport, TestResult
from reflection_app.loops.attempt_effects import Pick
from reflection_app.loops.referee import SETTLED_FROM, SuspectTests, examples_in, suspect_tests, weigh
from reflection_app.metrics.statistics import wilson
from tests.load.replay_traces import replay_file
from tests.pace import within

OK = object()
CRASH = FailureReason.EXCEPTION


def result(number: int, answer: object, expected: object) -> TestResult:
    """The result of test `number`: OK, a reason for which there is no answer, or another answer than the expected."""
    name = f"assert f({number}) == {expected!r}"
    if answer is OK:
        return TestResult(name=name, passed=True)
    if isinstance(answer, FailureReason):
        return TestResult(name=name, passed=False, reason=answer, error="line 2, in f: …")
    return TestResult(
        name=name, passed=False, reason=FailureReason.WRONG_ANSWER, actual=repr(answer), expected=repr(expected)
    )


def report(answers: Sequence[object], *, expected: Sequence[object] = (10, 20, 30, 40, 50)) -> TestReport:
    pairs = zip(answers, expected, strict=False)
    return TestReport(results=tuple(result(number, *pair) for number, pair in enumerate(pairs)))


def suspects(*, examples: int = 0, left_out: tuple[str, ...] = ()) -> SuspectTests:
    return SuspectTests(script="…", examples=examples, entry_point="f", left_out=left_out)


def reports(*attempts: Sequence[object], expected: Sequence[object] = (10, 20, 30, 40, 50)) -> dict[int, TestReport]:
    """The reports of attempts that are given by their answers."""
    return {number: report(each, expected=expected) for number, each in enumerate(attempts, 1)}


def pick(*attempts: Sequence[object], expected: Sequence[object] = (10, 20, 30, 40, 50), examples: int = 0) -> Pick:
    return weigh(reports(*attempts, expected=expected), suspects=suspects(examples=examples))[0]


def scores(*attempts: Sequence[object]) -> dict[int, float]:
    return weigh(reports(*attempts), suspects=suspects())[1]


MOST_FAIL = [OK, 7, 19, 3, 11]


@pytest.mark.parametrize(
    ("attempts", "attempt", "confidence", "try_again"),
    [
        ([[OK, OK, OK, 7, 8]], 1, 0.85, False),
        ([[OK, OK, OK, OK, 8], [OK] * 5], 1, 0.85, False),
        ([MOST_FAIL], 1, 0.4, True),
        ([MOST_FAIL, MOST_FAIL], 1, 0.6, False),
        ([MOST_FAIL, [OK, OK, 18, 2, 12]], 1, 0.4, True),
        ([[OK, 7, 8, 9, 11], [CRASH] * 5], 1, 0.6, False),
        ([[CRASH] * 5, [OK, 7, 8, 9, 11]], 2, 0.5, True),
        ([[CRASH] * 5, [OK] * 5], 2, 0.5, False),
        ([[CRASH] * 5, [CRASH] * 5], 1, 0.05, False),
    ],
)
def test_the_first_answer_stays_unless_it_gives_none(
    attempts: list[list[object]], attempt: int, confidence: float, try_again: bool
) -> None:
    seen = pick(*attempts)
    assert (seen.attempt, seen.confidence, seen.try_again) == (attempt, confidence, try_again)
    assert seen.settled is (confidence >= SETTLED_FROM)


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


def test_a_rewrite_that_does_worse_backs_the_first_answer() -> None:
    worse = pick(MOST_FAIL, [6, 5, 18, 2, 12])
    equal = pick(MOST_FAIL, [OK, 5, 18, 2, 12])
    assert worse.attempt == equal.attempt == 1
    assert worse.confidence > equal.confidence


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


TASK = 'def f(n: int) -> int:\n    """Doubles.\n    >>> f(2)\n    4\n    """\n'


def read(generated: str, task: str = TASK) -> SuspectTests:
    return suspect_tests(generated, task=task)


def test_the_tasks_examples_come_first_in_the_script() -> None:
    seen = read("assert f(3) == 6\nassert f(4) == 8")
    assert seen.script.split("\n") == ["assert f(2) == 4", "assert f(3) == 6", "assert f(4) == 8"]
    assert (seen.examples, seen.left_out) == (1, ())


def test_a_test_that_contradicts_an_example_is_left_out_and_one_that_repeats_it_is_not_run_twice() -> None:
    seen = read("assert f(2) == 5\nassert f( 2 ) == 4\nassert f(3) == 6")
    assert seen.script == "assert f(2) == 4\nassert f(3) == 6"
    assert "contradicts the task's own example" in seen.left_out[0]


def test_tests_that_contradict_each_other_are_all_left_out() -> None:
    seen = read("assert f(3) == 6\nassert f(3) == 7\nassert f(4) == 8")
    assert seen.script == "assert f(2) == 4\nassert f(4) == 8"
    assert [why.partition(": ")[2] for why in seen.left_out] == ["contradicts another test"] * 2


def test_lines_that_are_no_python_do_not_cost_the_other_tests() -> None:
    seen = read("Here are the tests:\nassert f(3) == 6\nassert f(4) = 8\n")
    assert seen.script == "assert f(2) == 4\nassert f(3) == 6"


def test_imports_and_other_assertions_are_kept() -> None:
    seen = read("import math\nassert math.isclose(f(3), 6)", task="Double it.")
    assert seen.script == "import math\nassert math.isclose(f(3), 6)"


def test_the_entry_point_is_the_function_that_most_tests_call() -> None:
    seen = suspect_tests("assert g(1) == 2\nassert f(3) == 6\nassert 8 == f(4)", task=TASK)
    assert (seen.entry_point, seen.examples) == ("f", 1)


def test_whatever_a_model_wrote_the_script_can_be_handed_to_the_sandbox() -> None:
    seen = suspect_tests("assert [f][0](1) == 2\n" * 9_000, task="Double it.")
    assert seen.entry_point == ""
    CodeTests(script=seen.script, entry_point=seen.entry_point or None)
    grown = suspect_tests("assert f('" + "\x7f" * 60_000 + "') == 2", task=TASK)
    CodeTests(script=grown.script, entry_point="f")


@pytest.mark.parametrize("generated", ["", "nothing here", "import math", "assert " + "(" * 5000, "\x00", "x = 1"])
def test_without_a_usable_test_there_is_nothing_to_run(generated: str) -> None:
    assert not read(generated, task="Double it.").script


@pytest.mark.parametrize(
    ("text", "found"),
    [
        (">>> f(2)\n4", ["assert f(2) == 4"]),
        (">>> f('a', k=1)\n'b'\n>>> f([1])\n[]", ["assert f('a', k=1) == 'b'", "assert f([1]) == []"]),
        ("f(2) == 4, f(3) == 6.", ["assert f(2) == 4", "assert f(3) == 6"]),
        ("f(2) ➞ 4", ["assert f(2) == 4"]),
        ("f((1, 2)) => (2, 4)", ["assert f((1, 2)) == (2, 4)"]),
        ("f(15)  # returns 'db'", ["assert f(15) == 'db'"]),
        ("f(2) should return True", ["assert f(2) == True"]),
        ("f(1) -> 2 and f(1) -> 3", []),
        ("f(x) == 3, f(2) >= 3, g.f(2) == 3, off(2) == 3, f(2) is nice", []),
        (">>> f(2)\nTraceback (most recent call last):", []),
        ("def f(n: int) -> int:", []),
    ],
)
def test_examples_are_found_in_their_usual_forms(text: str, found: list[str]) -> None:
    assert [f"assert {call} == {value}" for call, value in examples_in(text, entry_point="f").items()] == found


@pytest.mark.parametrize("text", ["f(" * 20_000, "f" + "()" * 20_000, "f(1) == " + "[" * 20_000, "f(1) = 1, " * 20_000])
def test_a_text_without_end_is_not_read_without_end(text: str) -> None:
    with within(paces=500):
        suspect_tests(text, task=text)


RECORDED = Path(__file__).parents[3] / "shared" / "data" / "reflexion_mbpp_traces" / "traces.jsonl"


@pytest.mark.exhaustive("over all recorded runs")
@pytest.mark.skipif(not RECORDED.exists(), reason="the recorded traces are not here")
def test_on_recorded_runs_nothing_is_lost_and_the_confidences_are_what_other_problems_say() -> None:
    figures = replay_file(RECORDED)
    assert figures["kept"] >= figures["first"] > figures["last"]
    assert figures["attempts_used"] <= 0.55 * figures["attempts_recorded"]
    assert figures["review_curve"]["10"] - figures["review_curve"]["0"] >= 0.03
    for kind in figures["kinds"]:
        # Keeping what passes most tests is nowhere better beyond chance.
        better = wilson(kind["gained"], kind["gained"] + kind["lost"])
        assert better is None or better.low <= 0.5, kind
    measured = [kind for kind in figures["kinds"] if kind["problems"] > 1]
    assert len(measured) == 3
    for kind in measured:
        assert kind["held_out"] == pytest.approx(kind["stated"], abs=0.025), kind


HUMANEVAL = Path(__file__).parents[3] / "shared/data/humaneval/gpt4_reflexion.jsonl"


@pytest.mark.exhaustive("over all recorded problems")
@pytest.mark.skipif(not HUMANEVAL.exists(), reason="the recorded problems are not here")
def test_every_example_that_is_found_holds_for_the_recorded_right_answers() -> None:
    solved = [row for row in map(json.loads, HUMANEVAL.read_text(encoding="utf-8").splitlines()) if row["is_solved"]]
    tasks, failed, held = 0, [], 0
    for row in solved:
        examples = examples_in(row["prompt"], entry_point=row["entry_point"])
        if not examples:
            continue
        script = "\n".join(f"assert {call} == {value}" for call, value in examples.items())
        report = run_tests(row["prompt"] + row["solution"], tests=CodeTests(script=script))
        tasks, held = tasks + 1, held + report.total - len(report.failures)
        failed += [(row["task_id"], failure.name) for failure in report.failures]
    assert (failed, held, tasks) == ([], 100, 35)
