"""Scripts in the styles that people write: right code passes them, wrong code fails them, and none is broken."""

import pytest
from sandbox_runs import QUICK, run_script
from written_scripts import SCRIPTS

from desk_sandbox import SandboxLimits
from desk_sandbox.code_tests import FailureReason
from desk_sandbox.scripts.names import check_script

# None of these scripts runs into a limit, so a busy machine may take its time.
PATIENT = SandboxLimits(wall_s=10.0, total_s=60.0, cpu_s=10)
STYLES = [*SCRIPTS]
# Every other style; each takes three sandboxes.
OTHERS = [pytest.param(style, marks=pytest.mark.exhaustive("the other half of the styles")) for style in STYLES[1::2]]


@pytest.mark.parametrize("style", [*STYLES[::2], *OTHERS])
def test_right_code_passes_and_wrong_code_fails(style: str) -> None:
    written = SCRIPTS[style]
    check_script(written.script, entry_point=None)
    right = run_script(written.right, written.script, limits=PATIENT)
    wrong = run_script(written.wrong, written.script, limits=PATIENT)
    assert (right.all_passed, right.broken) == (True, ()), right
    assert wrong.failed, wrong
    assert not wrong.broken, wrong


RIGHT = "def add(a, b):\n    return a + b\n"
# Whose fault is told by what the script does before it does anything with the code.
BROKEN = {
    "a module that is nowhere": "import nowhere_to_be_found\nassert add(1, 2) == 3",
    "a part that its module does not have": "from math import square\nassert add(1, 2) == 3",
    "a name that nobody defines": "assert expected == add(1, 2)",
    "an error of its own": "def test_it():\n    cases = {'one': 1}\n    assert add(cases['two'], 2) == 3",
    "an assertion on itself": "def test_it():\n    assert 1 + 1 == 3\n    assert add(1, 2) == 3",
    "a set-up that fails": (
        "import unittest\nclass T(unittest.TestCase):\n    def setUp(self): self.file = open('/nowhere')\n"
        "    def test_it(self): self.assertEqual(add(1, 2), 3)"
    ),
    "a fixture that fails": (
        "import pytest\n@pytest.fixture\ndef two():\n    return int('two')\n"
        "\ndef test_it(two):\n    assert add(1, two) == 3"
    ),
    "sys.exit": "import sys\nsys.exit(1)\nassert add(1, 2) == 3",
    "os._exit": "import os\ndef test_it():\n    os._exit(0)\n    assert add(1, 2) == 3",
    "no end": "def test_it():\n    while True:\n        pass\n    assert add(1, 2) == 3",
    "input": "def test_it():\n    assert add(int(input()), 2) == 3",
    "nothing of the code": "def test_it():\n    assert sum([1, 2]) == 3",
    "it does not parse": "def test_it(:\n    assert add(1, 2) == 3",
    "a fixture of pytest": "def test_it(tmp_path):\n    assert add(1, 2) == 3",
}


@pytest.mark.parametrize("what", BROKEN)
@pytest.mark.parametrize(
    "code",
    [RIGHT, pytest.param(RIGHT.replace("+", "-"), marks=pytest.mark.exhaustive("the same of wrong code"))],
    ids=["right", "wrong"],
)
def test_a_script_that_fails_by_itself_is_broken_whatever_the_code_is(what: str, code: str) -> None:
    told = run_script(code, BROKEN[what], limits=QUICK, wanted=())
    assert [result.reason for result in told.results] == [FailureReason.BROKEN_TEST] * told.total, told
    assert not told.counted
    assert told.score == 0
    assert all(result.error for result in told.results)


@pytest.mark.parametrize(
    ("code", "script"),
    [
        ("def plus(a, b): return a + b", "assert add(1, 2) == 3"),
        ("def plus(a, b): return a + b", "import solution\nassert solution.add(1, 2) == 3"),
        ("def add(a): return a", "assert add(1, 2) == 3"),
        ("def add(a, b): raise NameError(\"name 'zero' is not defined\")", "assert add(1, 2) == 3"),
        ("def add(a, b): return None", "x = add(1, 2) + 1\nassert x == 4"),
        ("def add(a, b:", "import nowhere\nassert add(1, 2) == 3"),
        ("raise ImportError('nothing')", "assert 1 == 2\nassert add(1, 2) == 3"),
        ("import nowhere\ndef add(a, b): return a + b", "assert add(1, 2) == 3"),
        ("def add(a, b):\n  while True: pass", "assert add(1, 2) == 3"),
        ("import os\ndef add(a, b): os._exit(0)", "assert add(1, 2) == 3"),
    ],
)
def test_what_the_code_does_wrong_is_never_the_tests_fault(code: str, script: str) -> None:
    report = run_script(code, script, wanted=("add",))
    assert report.failed
    assert not report.broken, report


def test_only_what_is_broken_is_not_counted() -> None:
    script = (
        "def test_a():\n    assert add(1, 2) == 3\n\ndef test_b():\n"
        "    assert missing == 1\n\ndef test_c():\n    assert add(1, 1) == 3\n"
    )
    report = run_script(RIGHT, script, wanted=())
    assert [result.reason for result in report.results] == [None, FailureReason.BROKEN_TEST, FailureReason.WRONG_ANSWER]
    assert (report.counted, report.score, report.settles_nothing) == (2, 50, False)


def test_an_odd_escape_or_an_assertion_on_a_tuple_is_no_error_of_ours() -> None:
    assert run_script(RIGHT, "assert (add(1, 2) == 3, '\\d')\nassert add(1, 2) == 3").all_passed


def test_what_comes_of_no_code_is_not_held_against_a_test() -> None:
    wrong = "def add(a, b): return str(a + b)"
    for script in (
        "assert isinstance(add(1, 2), int) is True",
        "x = add(1, 2)\nassert isinstance(x, int) is True",
        "x = type(add(1, 2)).__name__\ndef test_it():\n    assert x == 'int'",
        "def test_it():\n    assert isinstance(add(1, 2), int)\n    assert add(1, 2) == 3",
    ):
        report = run_script(wrong, script)
        assert [result.reason for result in report.results] == [FailureReason.WRONG_ANSWER], report
