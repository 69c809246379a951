import pytest

from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.referee.suspect_tests import SuspectTests, examples_in, suspect_tests
from tests.pace import within

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
    assert not seen.is_empty


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
    assert read(generated, task="Double it.").is_empty


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
    assert [example.source for example in examples_in(text, entry_point="f")] == found


@pytest.mark.parametrize("text", ["f(" * 20_000, "f" + "()" * 20_000, "f(1) == " + "[" * 20_000, "f(1) = 1, " * 20_000])
def test_a_text_without_end_is_not_read_without_end(text: str) -> None:
    with within(paces=500):
        suspect_tests(text, task=text)
