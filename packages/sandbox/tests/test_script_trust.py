"""What a script asserts is not taken from the candidate's word."""

import json
from pathlib import Path
from typing import Any

import pytest
from sandbox_runs import run_script

from desk_sandbox.code_tests import FailureReason

HUMANEVAL = Path(__file__).parents[4] / "shared/data/humaneval/gpt4_reflexion.jsonl"
YES = (
    "class Yes:\n"
    "  def __eq__(self, other): return True\n"
    "  def __ne__(self, other): return False\n"
    "  __hash__ = None\n"
    "class One(int):\n  __eq__ = Yes.__eq__\n  __hash__ = None\n"
    "class Row(list):\n  __eq__ = Yes.__eq__\n  __hash__ = None\n"
    "def f(): return MAKE\n"
)
SCRIPTS = {
    "a literal": "assert f() == 41",
    "a literal to the left": "assert [41] == f()",
    "identity": "assert f() is None",
    "a condition": "assert f() == 41 and True",
    "a value": "wanted = [41]\nassert f() == wanted",
    "a loop": "for wanted in (41, 42):\n    assert f() == wanted",
    "a comprehension": "assert all(f() == wanted for wanted in [41])",
    "a check": "def check(candidate):\n    assert candidate() == 41\ncheck(f)",
    "a check in a loop": "def check(run):\n    for i in range(2):\n        assert run() == i + 41\ncheck(f)",
    "a test function": "def test_it():\n    assert f() == {'a': 41}",
    "unittest": "import unittest\nclass A(unittest.TestCase):\n    def test_it(self): self.assertEqual(f(), 41)",
}


@pytest.mark.parametrize("made", ["Yes()", "One(2)", "Row()", "[Yes()]"])
@pytest.mark.parametrize("what", SCRIPTS)
def test_an_object_that_equals_everything_passes_no_script(what: str, made: str) -> None:
    report = run_script(YES.replace("MAKE", made), SCRIPTS[what])
    assert not any(result.passed for result in report.results), report


def test_an_equality_that_only_the_object_claims_is_forged() -> None:
    [result] = run_script(YES.replace("MAKE", "Yes()"), "wanted = [41]\nassert f() == wanted").results
    assert result.reason is FailureReason.FORGED


LOOKS = """
import gc, sys
def f():
    told = [repr(x) for x in gc.get_objects() if type(x) in (dict, list, tuple)]
    for i in range(30):
        try: frame = sys._getframe(i)
        except ValueError: break
        told.append(repr(frame.f_locals) + repr(frame.f_globals) + repr(frame.f_code.co_consts))
    wanted = ''.join(['answer', '-', str(7319)])
    return [x[max(0, x.find(wanted) - 200):][:300] for x in told if wanted in x][:1]
"""


@pytest.mark.parametrize(
    "script",
    [
        "assert f() == 'answer-7319', 'not answer-7319'  # answer-7319",
        "assert ['é', 'answer-7319',\n  1] == f()",
        "def check(candidate):\n    assert candidate() == 'answer-7319'\ncheck(f)",
        "def test_it():\n    assert f() == 'answer-7319'",
    ],
)
def test_the_literal_of_an_assertion_does_not_enter_the_sandbox(script: str) -> None:
    [result] = run_script(LOOKS, script).results
    assert (result.passed, result.actual, "answer-7319" in result.expected) == (False, "[]", True), result


EQUAL = {
    "1": "True",
    "(1, [2], {3: 'a', (4, 5): None})": "(1, [2], {3: 'a', (4, 5): None})",
    "{1, 2, frozenset({3})}": "{2, 1, frozenset({3})}",
    "{1, (2, 3)}": "{(2, 3), 1}",
    "2.5": "__import__('fractions').Fraction(5, 2)",
    "3": "__import__('decimal').Decimal(3)",
    "{'a'}": "{'a': 1}.keys()",
    "{'a': 2}": "__import__('collections').Counter('aa')",
    "(1, 2)": "__import__('collections').namedtuple('P', 'x y')(1, 2)",
    "b'a'": "b'a'",
    "2j": "2j",
    "range(3)": "range(3)",
    "1e999": "float('inf')",
    "-0.0": "0",
    "set()": "set()",
    "'é\\ud800'": "'é\\ud800'",
}
UNEQUAL = {
    "[1, 2]": "(1, 2)",
    "{'1': 2}": "{1: 2}",
    "'1'": "1",
    "0.1": "__import__('decimal').Decimal('0.1')",
    "0.3": "0.1 + 0.2",
    "[0]": "range(1)",
    "1": "float('nan')",
    "None": "0",
    "{1}": "[1]",
}


def test_literals_equal_what_they_equal_in_python() -> None:
    for script, outcome in ((EQUAL, True), (UNEQUAL, False)):
        code = f"def f(i): return [{', '.join(f'lambda: {source}' for source in script.values())}][i]()"
        report = run_script(code, "\n".join(f"assert f({i}) == {literal}" for i, literal in enumerate(script)))
        assert [result.name for result in report.results if result.passed is not outcome] == []


def test_objects_of_one_class_are_compared_by_their_own_word() -> None:
    code = "class P:\n  def __init__(s, x): s.x = x\n  def __eq__(s, o): return s.x == o.x\n  __hash__ = None\n"
    report = run_script(code, "assert P(1) == P(1)\nassert P(1) == P(2)\nassert [P(1)] == [P(1)]")
    assert [result.passed for result in report.results] == [True, False, True]


def test_what_a_function_that_is_no_test_asserts_still_counts() -> None:
    script = "def same(x):\n    assert f(x) == 1\n    return x\ny = same(2)\nassert y\n"
    report = run_script("def f(x): return x", script)
    assert [result.reason for result in report.results] == [FailureReason.WRONG_ANSWER, FailureReason.NOT_RUN]


def test_lines_may_end_as_they_do_elsewhere() -> None:
    report = run_script(
        "def f(): return 'é'", "x = 'é'; assert f() == 'é'\rassert f() == (\r\n 'é' )\r\n\fassert f() == 1"
    )
    assert [result.passed for result in report.results] == [True, True, False]


def test_an_assertion_that_is_not_reached_is_not_missed() -> None:
    script = "def test_it():\n    if f() == 1:\n        return\n    assert f() == 2\n"
    assert run_script("def f(): return 1", script).all_passed


def test_a_test_that_never_told_what_was_asked_is_forged() -> None:
    code = "import sys\ndef f():\n  sys._getframe(1).f_globals['__tell__'] = print\n  return 2\n"
    report = run_script(code, "def test_it():\n    assert f() == 2\n    assert f() == 41\nassert f() == 41\n")
    assert [result.reason for result in report.results] == [FailureReason.WRONG_ANSWER, FailureReason.FORGED], report


@pytest.mark.skipif(not HUMANEVAL.exists(), reason="the recorded HumanEval rows are not beside the repository")
def test_recorded_humaneval_rows_are_judged_as_recorded() -> None:
    rows: list[dict[str, Any]] = [json.loads(line) for line in HUMANEVAL.read_text().splitlines()[:40]]
    wrong = []
    for row in rows:
        code = row["solution"] if f"def {row['entry_point']}" in row["solution"] else row["prompt"] + row["solution"]
        report = run_script(code, row["test"], entry_point=row["entry_point"])
        if report.all_passed != row["is_solved"]:
            wrong.append((row["task_id"] if "task_id" in row else row["name"], report.failures))
    assert wrong == []


UNIT = "import unittest\nfrom solution import f\nclass A(unittest.TestCase):\n    def test_it(self):\n        "
PYTEST = "import pytest\nfrom solution import f\n"
ATTACKS = {
    "assertEqual does nothing": (
        "import unittest\nunittest.TestCase.assertEqual = lambda *a, **k: None\ndef f(): return 1",
        UNIT + "self.assertEqual(f(), 41)",
    ),
    "assertRaises does nothing": (
        (
            "import contextlib, unittest\nunittest.TestCase.assertRaises = lambda *a: contextlib.suppress()\n"
            "unittest.case.TestCase.assertRaises = lambda *a: contextlib.suppress()\ndef f(): return 1"
        ),
        UNIT + "with self.assertRaises(ValueError): f()",
    ),
    "TestCase is another": (
        (
            "import unittest\nclass T:\n  def __init__(s, n): pass\n"
            "  def __getattr__(s, n): return lambda *a, **k: None\n"
            "unittest.TestCase = unittest.case.TestCase = T\ndef f(): return 1"
        ),
        UNIT + "self.assertCountEqual(f(), [41])",
    ),
    "a pytest of its own": (
        (
            "import sys, types\np = sys.modules['pytest'] = types.ModuleType('pytest')\n"
            "p.raises = __import__('contextlib').suppress\n"
            "p.approx = lambda *a, **k: 1\ndef f(): return 1"
        ),
        PYTEST
        + "def test_a():\n    with pytest.raises(ValueError): f()\ndef test_b(): assert f() == pytest.approx(41)",
    ),
    "raises is another at the next test": (
        "import contextlib\ndef f():\n  globals()['__raises__'] = contextlib.suppress\n  return 1",
        PYTEST + "def test_a(): assert f() == 41\ndef test_b():\n    with pytest.raises(ValueError): f()",
    ),
    "equal and approx are others at the next test": (
        "def f():\n  globals().update(__equal__=lambda *a: True, __approx__=lambda *a, **k: 1)\n  return 1",
        PYTEST + "x = [41]\ndef test_a(): assert f() == 41\ndef test_b(): assert f() == pytest.approx(x[0])\n"
        "def test_c(): assert [f()] == x",
    ),
    "about everything": (YES.replace("MAKE", "Yes()"), PYTEST + "def test_it(): assert f() == pytest.approx(41)"),
    "about everything that is computed": (
        YES.replace("MAKE", "Yes()"),
        PYTEST
        + "x = 41\ndef test_it(): assert f() == pytest.approx(x)\ndef test_two(): assert pytest.approx([x]) == [f()]",
    ),
    "about everything in a list": (YES.replace("MAKE", "[Yes()]"), PYTEST + "x = 41\nassert f() == [pytest.approx(x)]"),
    "almost everything": (YES.replace("MAKE", "Yes()"), UNIT + "self.assertAlmostEqual(f(), 41)"),
    "a class that is not its own": (
        "class F:\n  __class__ = property(lambda s: int)\ndef f(): return F()",
        UNIT + "self.assertIsInstance(f(), int)",
    ),
    "an exception that claims to be another": (
        (
            "class M(type):\n  def __subclasscheck__(c, o): return True\n  def __instancecheck__(c, o): return True\n"
            "class E(Exception, metaclass=M):\n  __class__ = property(lambda s: ValueError)\n"
            "def f(): raise E"
        ),
        PYTEST + "def test_it():\n    with pytest.raises(ValueError): f()",
    ),
    "what says that a test was left out": (
        "import unittest\ndef f(): raise unittest.SkipTest('no')",
        UNIT + "self.assertEqual(f(), 41)",
    ),
    "sys.exit": ("import sys\ndef f(): sys.exit(0)", UNIT + "self.assertEqual(f(), 41)"),
    "os._exit": ("import os\ndef f(): os._exit(0)", PYTEST + "def test_it(): assert f() == 41"),
    "os._exit in the text of an exception": (
        "import os\nclass E(ValueError):\n  def __str__(s): os._exit(0)\ndef f(): raise E",
        PYTEST + "def test_it():\n    with pytest.raises(ValueError, match='41'): f()",
    ),
    "the exit of the interpreter": (
        "import atexit, os\natexit.register(os._exit, 0)\ndef f(): raise SystemExit",
        UNIT + "self.assertEqual(f(), 41)",
    ),
    "fake results": (
        "def f():\n  print('1 passed')\n  print('{\"ok\": true}')\n  return 1",
        PYTEST + "@pytest.mark.parametrize('x', [41])\ndef test_it(x): assert f() == x",
    ),
    "truth of its own": (
        "import builtins\nbuiltins.isinstance = builtins.all = builtins.any = lambda *a: True\ndef f(): return 1",
        PYTEST + "assert all(f() == x for x in [41])\nassert isinstance(f(), str)",
    ),
    "as if it was never reached": (
        (
            "import sys\ndef f():\n  for m in list(sys.modules.values()): getattr(m, 'StandIn', None)\n"
            "  raise type('Touched', (BaseException,), {})"
        ),
        PYTEST + "def test_it(): assert f() == 41",
    ),
}


@pytest.mark.parametrize("what", ATTACKS)
def test_what_sets_out_to_deceive_pytest_and_unittest_fails(what: str) -> None:
    code, script = ATTACKS[what]
    report = run_script(code, script)
    assert not any(result.passed for result in report.results), report
    assert not report.broken, report


@pytest.mark.parametrize(
    "script",
    [
        (
            "import pytest\n"
            "@pytest.mark.parametrize('n,wanted', [(1, 'answer-7319'), pytest.param(2, 'answer-7319', id='two')])\n"
            "def test_it(n, wanted):\n    assert f() == wanted, f'{n} gives {wanted}'"
        ),
        (
            "import pytest\nclass TestIt:\n    @pytest.mark.parametrize('wanted', ['answer-7319'])\n"
            "    def test_it(self, wanted):\n        got = f()\n        assert got == wanted"
        ),
        (
            "import unittest\nclass A(unittest.TestCase):\n"
            "    def test_it(self):\n        self.assertEqual(f(), 'answer-7319')"
        ),
        "import pytest\ndef test_it():\n    assert f() == ['answer-7319', pytest.approx(1)]",
    ],
)
def test_what_pytest_and_unittest_expect_does_not_enter_the_sandbox(script: str) -> None:
    report = run_script(LOOKS, script)
    for result in report.results:
        assert (result.passed, result.actual, "answer-7319" in result.expected) == (False, "[]", True), result
