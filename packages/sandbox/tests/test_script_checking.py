"""Test scripts that are refused when they are handed in: where, and why."""

import warnings

import pytest
from sandbox_runs import cpu_within

from desk_sandbox.scripts.names import check_script
from desk_sandbox.scripts.syntax import ScriptRefused

REFUSED = {
    "def f(:\n": "line 1, column 7: invalid syntax",
    "x = (1,\n": "line 1, column 5: '(' was never closed",
    "if True:\nassert f()": "line 2, column 1: expected an indented block after 'if' statement on line 1",
    "assert f() == 1\n  assert f() == 2": "line 2, column 2: unexpected indent",
    "return f()": "line 1, column 1: 'return' outside function",
    "await f()": "line 1, column 1: 'await' outside function",
    "print f()": "line 1, column 1: Missing parentheses in call to 'print'. Did you mean print(...)?",
    "x = '\x00'": "null bytes",
    "assert " + "-" * 100_000 + "1": "nested too deeply",
    "assert " + "(" * 100_000: "too many nested parentheses",
    "assert f()" + ".a" * 90_000: "nested too deeply",
    "assert " + "1+" * 60_000 + "1": "nested too deeply",
    "assert f() == " + "9" * 5_000: "Exceeds the limit (4300 digits)",
    "": "holds no test",
    "# nothing\n'''nor here'''": "holds no test",
    "x = 1": "holds no test",
    "import pytest\ndef helper(): return 1": "holds no test",
    "def check(candidate):\n    assert candidate(1) == 2": (
        "line 1: it defines check, which asserts, but never calls it"
    ),
    "def test_it(tmp_path):\n    assert f()": (
        "line 1, column 1: test_it asks for `tmp_path`, which is no fixture of this script"
    ),
    "import pytest\n@pytest.mark.skip\ndef test_it(): assert f()": "line 2, column 2: `pytest.mark.skip` is not there",
    "import unittest\nclass T(unittest.TestCase):\n    @unittest.skip('x')\n    def test_it(self): assert f()": (
        "`skip` of unittest is not there"
    ),
    "import pytest\npytest.importorskip('numpy')\nassert f()": "line 2, column 1: `pytest.importorskip` is not there",
    "from pytest import MonkeyPatch\nassert f()": "line 1, column 1: `from pytest import MonkeyPatch` is not there",
    (
        "import pytest\n@pytest.fixture(params=[1])\ndef x(): return 1\ndef test_it(x): assert f()"
    ): "`params` of a fixture",
    "import pytest\n@pytest.mark.parametrize('x, y', [(1,)])\ndef test_it(x, y): assert f()": "1 values for 2 names",
    "import pytest\n@pytest.mark.parametrize('z', [1])\ndef test_it(): assert f()": "has no parameter `z`",
    "import pytest\n@pytest.mark.parametrize('x', [0] * 9)\n@pytest.mark.parametrize('y', [" + "0," * 501 + "])\n"
    "def test_it(x, y): assert f()": "501 cases are too many",
    (
        "import pytest\n@pytest.fixture\ndef a(b): return 1\n"
        "@pytest.fixture\ndef b(a): return 1\ndef test_it(a): assert f()"
    ): "needs itself",
}


@pytest.mark.parametrize("script", REFUSED, ids=lambda script: repr(script[:50]))
def test_a_script_that_cannot_show_anything_is_refused_with_the_reason(script: str) -> None:
    with pytest.raises(ScriptRefused) as refused:
        check_script(script, entry_point=None)
    assert REFUSED[script] in str(refused.value)


@pytest.mark.parametrize(
    "script",
    [
        "assert f('\\d')",
        "assert (f(1), 'always true')",
        "x = 1 is 1\nassert f()",
        "f()",
        "import nowhere\nassert f()",
        "assert f() == 'é\U0001f600'",
    ],
)
def test_what_may_be_odd_and_is_no_error_is_accepted_without_a_warning(script: str) -> None:
    with warnings.catch_warnings(record=True) as heard:
        warnings.simplefilter("always")
        check_script(script, entry_point=None)
    assert heard == []


HEAD = "import pytest\n"
LIST = "C = [" + "[1, 2, 3, 4, 5, 6, 7]," * 480 + "]\n"
LARGE = {
    "as many assertions as there is room for": ("assert f(1) == 1\n" * 11_000, ""),
    "a long test, of many cases": (
        HEAD
        + "@pytest.mark.parametrize('x', ["
        + "1," * 400
        + "])\ndef test_it(x):\n"
        + "    assert f(x) == x\n" * 9_000,
        "make too much of it",
    ),
    "many tests of one long list": (
        HEAD
        + LIST
        + "".join(f"@pytest.mark.parametrize('x', C)\ndef test_{n}(x): assert f(x)\n" for n in range(2_500)),
        "make too much of it",
    ),
    "cases times cases": (
        HEAD
        + "@pytest.mark.parametrize('x', ["
        + "1," * 400
        + "])\n"
        + "@pytest.mark.parametrize('y', ["
        + "1," * 400
        + "])\ndef test_it(x, y): assert f(x, y)",
        "160,000 cases are too many",
    ),
    "a long chain of fixtures for many tests": (
        HEAD
        + "@pytest.fixture\ndef a0(): return 1\n"
        + "".join(f"@pytest.fixture\ndef a{n}(a{n - 1}): return 1\n" for n in range(1, 200))
        + "".join(f"def test_{n}(a199): assert f()\n" for n in range(2_000)),
        "make too much of it",
    ),
}


@pytest.mark.exhaustive("the largest of everything, for the bounds")
@pytest.mark.parametrize("what", LARGE)
def test_a_script_never_becomes_many_times_what_it_was(what: str) -> None:
    script, why = LARGE[what]
    assert len(script) < 200_000
    with cpu_within(30):
        if not why:
            check_script(script, entry_point=None)
            return
        with pytest.raises(ScriptRefused) as refused:
            check_script(script, entry_point=None)
    assert why in str(refused.value)


def test_a_check_that_nothing_calls_is_called_with_the_entry_point() -> None:
    check_script("def check(candidate):\n    assert candidate(1) == 2", entry_point="add")
