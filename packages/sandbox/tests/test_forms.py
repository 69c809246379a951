"""The three forms of tests, and what their results tell a person and the next prompt."""

import pytest
from sandbox_runs import QUICK, run_call, run_calls, run_program, run_script

from desk_sandbox import run_tests
from desk_sandbox.code_tests import CodeTests, FailureReason


def test_a_call_case_shows_input_expected_and_actual() -> None:
    tests = CodeTests.model_validate(
        {"entry_point": "f", "cases": [{"name": "adds", "args": [1], "kwargs": {"b": 2}, "expected": 4}]}
    )
    [result] = run_tests("def f(a, *, b): return a + b", tests=tests, limits=QUICK).results
    assert (result.name, result.input, result.expected, result.actual) == ("adds", "f(1, b=2)", "4", "3")
    assert result.reason is FailureReason.WRONG_ANSWER
    assert result.duration_ms > 0


def test_an_exception_names_the_lines_of_the_candidate() -> None:
    result = run_call("def g(x):\n    return 1 / x\n\ndef f():\n    return g(0)\n")
    assert result.reason is FailureReason.EXCEPTION
    assert result.error.splitlines() == [
        "line 5, in f: return g(0)",
        "line 2, in g: return 1 / x",
        "ZeroDivisionError: division by zero",
    ]


def test_a_syntax_error_fails_every_test_with_its_line() -> None:
    report = run_calls("x = 1\ndef f(:\n", ([], 1), ([], 2))
    assert [result.passed for result in report.results] == [False, False]
    assert all("SyntaxError" in result.error and "line 2" in result.error for result in report.results)


def test_a_missing_entry_point_is_told_with_the_functions_that_are_there() -> None:
    result = run_call("def solve(): pass\ndef help_it(): pass")
    assert result.error == "There is no function f; the code defines: solve, help_it."


def test_an_entry_point_may_be_a_method() -> None:
    tests = CodeTests.model_validate({"entry_point": "Solution.twice", "cases": [{"args": [2], "expected": 4}]})
    code = "class Solution:\n    def twice(self, x): return 2 * x"
    assert run_tests(code, tests=tests, limits=QUICK).all_passed


def test_what_a_candidate_prints_is_kept_apart_from_what_it_returns() -> None:
    report = run_calls("import sys\ndef f():\n print('seen')\n print('told', file=sys.stderr)\n return 1", ([], 1))
    assert report.all_passed
    assert (report.stdout, report.stderr) == ("seen\n", "told\n")


def test_the_main_block_runs_for_programs_only() -> None:
    code = "def f(): return 1\nif __name__ == '__main__': print('main')"
    assert run_calls(code, ([], 1)).stdout == ""
    assert run_program(code, expected="main").passed


def test_a_program_reads_its_input_and_white_space_at_line_ends_is_forgiven() -> None:
    code = "import sys\nprint(input() + ' ')\nprint(sys.stdin.read())"
    assert run_program(code, stdin="a\nb\n", expected="a\nb").passed
    wrong = run_program(code, stdin="a\nb\n", expected="a\n\nb")
    assert (wrong.reason, wrong.actual) == (FailureReason.WRONG_ANSWER, "a \nb\n\n")


@pytest.mark.parametrize("sign", ["\x85", "\r"])
def test_a_character_that_ends_no_line_is_not_taken_for_the_end_of_one(sign: str) -> None:
    printing = f"import sys\nsys.stdout.buffer.write({f'a{sign}b'.encode()!r})"
    assert not run_program(printing, expected="a\nb").passed
    assert run_program("import sys\nsys.stdout.buffer.write(b'a\\r\\nb\\r\\n')", expected="a\nb").passed


def test_a_program_may_read_a_long_input() -> None:
    assert run_program("import sys\nprint(len(sys.stdin.read()))", stdin="é" * 500_000, expected="500000").passed


def test_a_program_that_exits_well_passes_and_one_that_exits_badly_fails() -> None:
    assert run_program("print(1)\nexit_now = __import__('sys').exit\nexit_now()", expected="1").passed
    assert run_program("import sys\nprint(1)\nsys.exit(3)", expected="1").reason is FailureReason.EXITED
    assert run_program("import os\nprint(1, flush=True)\nos._exit(0)", expected="1").passed
    assert run_program("import os\nprint(1, flush=True)\nos._exit(3)", expected="1").reason is FailureReason.EXITED


def test_each_assertion_of_a_script_is_a_test_with_its_own_line_as_name() -> None:
    report = run_script("def f(x): return x + 1", "x = f(1)\nassert x == 2\nassert f(x) == 4, 'add one'\nassert f(0)\n")
    assert [(result.name, result.passed) for result in report.results] == [
        ("assert x == 2", True),
        ("assert f(x) == 4, 'add one'", False),
        ("assert f(0)", True),
    ]
    failed = report.failures[0]
    assert (failed.actual, failed.expected, failed.reason) == ("3", "4", FailureReason.WRONG_ANSWER)
    assert "add one" in failed.error


def test_assertions_share_the_state_of_the_script() -> None:
    code = "class Stack(list):\n    def push(self, x): self.append(x); return len(self)"
    report = run_script(code, "s = Stack()\nassert s.push(1) == 1\nassert s.push(2) == 2\nassert s.pop() == 2")
    assert report.all_passed


def test_a_check_function_in_the_style_of_humaneval_is_one_test() -> None:
    script = "def check(candidate):\n    assert candidate(1) == 2\n    assert candidate(2) == 4\n\ncheck(add_one)\n"
    right = run_script("def add_one(x): return x + 1 if x < 2 else 4", script, entry_point="add_one")
    wrong = run_script("def add_one(x): return x + 1", script, entry_point="add_one")
    assert [(result.name, result.passed) for result in right.results] == [("check(add_one)", True)]
    assert (wrong.results[0].actual, wrong.results[0].expected) == ("3", "4")
    assert "assert candidate(2) == 4" in wrong.results[0].error


def test_a_check_function_that_nothing_calls_is_called_with_the_entry_point_and_never_passes_unseen() -> None:
    script = "def check(candidate):\n    assert candidate(1) == 2\n"
    code = "def add_one(x): return x"
    assert [(r.name, r.passed) for r in run_script(code, script, entry_point="add_one").results] == [
        ("check(add_one)", False)
    ]
    assert run_script(code, script).results[0].reason is FailureReason.BROKEN_TEST


def test_test_functions_and_methods_are_tests_of_their_own() -> None:
    script = (
        "import unittest\n"
        "def test_one(): assert f(1) == 1\n"
        "def test_two(): assert f(2) == 3\n"
        "def test_needs(tmp_path): pass\n"
        "class TestPlain:\n"
        "    def setup_method(self): self.x = 3\n"
        "    def test_three(self): assert f(self.x) == 3\n"
        "class Unit(unittest.TestCase):\n"
        "    def setUp(self): self.x = 4\n"
        "    def test_four(self): self.assertEqual(f(self.x), 5)\n"
    )
    report = run_script("def f(x): return x", script)
    assert {result.name: result.reason for result in report.results} == {
        "test_one": None,
        "test_two": FailureReason.WRONG_ANSWER,
        "test_needs": FailureReason.BROKEN_TEST,
        "TestPlain::test_three": None,
        "Unit::test_four": FailureReason.WRONG_ANSWER,
    }


def test_a_script_without_assertions_is_one_test_that_passes_if_it_ends() -> None:
    good = run_script("def f(): return 1", "value = f()\nprint(value)")
    bad = run_script("def f(): raise ValueError('no')", "value = f()\nprint(value)")
    assert [(result.name, result.passed) for result in good.results] == [("script", True)]
    assert "ValueError: no" in bad.results[0].error


def test_a_set_up_statement_that_fails_is_a_failure_and_what_follows_is_not_run() -> None:
    report = run_script("def f(): raise ValueError('no')", "assert 1\nx = f()\nassert x\n")
    assert [(result.name, result.reason) for result in report.results] == [
        ("assert 1", None),
        ("x = f()", FailureReason.EXCEPTION),
        ("assert x", FailureReason.NOT_RUN),
    ]


def test_a_candidate_that_does_not_load_fails_every_test_of_a_script() -> None:
    report = run_script("def f(:", "assert f() == 1\nassert f() == 2")
    assert all("SyntaxError" in result.error for result in report.results)
    assert len(report.results) == 2


def test_a_script_that_does_not_parse_is_not_the_fault_of_the_code() -> None:
    [result] = run_script("def f(): return 1", "assert f( == 1").results
    assert result.reason is FailureReason.BROKEN_TEST
    assert result.error == "The test script itself cannot be used: line 1, column 11: invalid syntax"


def test_a_tested_function_may_have_the_name_of_a_builtin() -> None:
    assert run_script("def sum(a, b): return a + b", "assert sum(1, 2) == 3").all_passed
    code = "def helper(x): return x\ndef max(a, b, c): return helper(c)"
    assert run_script(code, "assert max(1, 2, 0) == 0", entry_point="max").all_passed
