"""Short ways to run code against tests of each form, and a bound on the time of our own."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from desk_sandbox import SandboxLimits, run_tests
from desk_sandbox.code_tests import CodeTests, TestReport, TestResult

QUICK = SandboxLimits(wall_s=1.0, total_s=10.0, cpu_s=5)


def run_calls(code: str, *calls: tuple[list[Any], Any], limits: SandboxLimits = QUICK) -> TestReport:
    """Calls of `f` with these arguments, and the value that each must return."""
    cases = [{"args": args, "expected": expected} for args, expected in calls]
    return run_tests(code, tests=CodeTests.model_validate({"entry_point": "f", "cases": cases}), limits=limits)


def run_call(code: str, *args: Any, expected: Any = 1, limits: SandboxLimits = QUICK) -> TestResult:
    """The result of one call of `f`."""
    return run_calls(code, (list(args), expected), limits=limits).results[0]


def run_program(code: str, *, stdin: str = "", expected: str, limits: SandboxLimits = QUICK) -> TestResult:
    """The result of the code as a program."""
    tests = CodeTests.model_validate({"stdin_cases": [{"stdin": stdin, "expected_stdout": expected}]})
    return run_tests(code, tests=tests, limits=limits).results[0]


def run_script(
    code: str,
    script: str,
    *,
    entry_point: str | None = None,
    limits: SandboxLimits = QUICK,
    wanted: tuple[str, ...] | None = None,
) -> TestReport:
    """The report of the code under a test script."""
    return run_tests(code, tests=CodeTests(script=script, entry_point=entry_point), limits=limits, wanted=wanted)


@contextmanager
def cpu_within(most_s: float) -> Iterator[None]:
    """Fail if what is inside takes more CPU time of this thread, several times what it takes on a desktop."""
    began = time.thread_time()
    yield
    assert time.thread_time() - began < most_s
