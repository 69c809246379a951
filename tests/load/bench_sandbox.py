"""Prints what a run in the sandbox costs over a bare start of the interpreter, medians of one interleaved series.

.venv/bin/python -m tests.load.bench_sandbox [ROUNDS]
"""

import statistics
import subprocess
import sys
import time
from collections.abc import Callable

from reflection_app.adapters.sandbox import check, run_tests
from reflection_app.adapters.sandbox.bwrap import get_interpreter
from reflection_app.loops.code_tests import CodeTests

GOAL_MS = 40


def timed(action: Callable[[], object]) -> float:
    started = time.perf_counter()
    action()
    return (time.perf_counter() - started) * 1000


def calls(count: int) -> CodeTests:
    return CodeTests.model_validate({"entry_point": "f", "cases": [{"args": [i], "expected": i} for i in range(count)]})


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 40
    bare = [get_interpreter().binary, "-I", "-S", "-B", "-X", "utf8", "-c", "pass"]
    code = "def f(x): return x"
    actions: dict[str, Callable[[], object]] = {
        "bare interpreter": lambda: subprocess.run(bare, check=True),
        "sandbox, 1 case": lambda: run_tests(code, tests=calls(1)),
        "sandbox, 10 cases": lambda: run_tests(code, tests=calls(10)),
        "sandbox, script of 10 assertions": lambda: run_tests(code, tests=CodeTests(script="assert f(1)\n" * 10)),
    }
    print(check())
    for action in actions.values():
        action()
    series: dict[str, list[float]] = {name: [] for name in actions}
    for _ in range(rounds):
        for name, action in actions.items():
            series[name].append(timed(action))
    base = statistics.median(series["bare interpreter"])
    for name, taken in series.items():
        median = statistics.median(taken)
        print(f"{name:34} median {median:6.1f} ms  over bare {median - base:6.1f} ms  ratio {median / base:4.1f}")
    over = statistics.median(series["sandbox, 1 case"]) - base
    print(f"goal: at most {GOAL_MS} ms over bare; measured {over:.1f} ms: {'met' if over <= GOAL_MS else 'missed'}")


if __name__ == "__main__":
    main()
