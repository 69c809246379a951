"""Run code against its tests: build the job, run it in a sandbox, judge the records, and account for every test."""

import ast
from collections.abc import Callable
from contextlib import closing
from dataclasses import asdict, dataclass
from typing import Any

from desk_sandbox.code_tests import CallCase, CodeTests, FailureReason, StdinCase, TestReport, TestResult
from desk_sandbox.judge import Judge
from desk_sandbox.limits import SandboxLimits
from desk_sandbox.memory import working_clock
from desk_sandbox.process import HarnessDied, Record, clean, run_job
from desk_sandbox.scripts.names import MODULES, SOLUTION, defined_names, free_names, uses_the_code
from desk_sandbox.scripts.planning import Item, Plan, plan_script
from desk_sandbox.scripts.syntax import ScriptRefused
from desk_sandbox.values import MalformedValue, read_message

# Detection of broken tests in a script.
#
# The script runs once more without code: each name that the code defines, or should define, is a placeholder. A test
# that fails before it uses one of them would fail with any code, and so would one that uses a name defined nowhere. No
# code under test is present, so it cannot influence who is at fault.

NOT_REACHED = "It does nothing with the code, so it says nothing of it."


def stand_ins_for(plan: Plan, *, code: str, entry_point: str | None, wanted: tuple[str, ...] | None) -> frozenset[str]:
    """Return the names to replace by placeholders: what the code defines or should define."""
    free = free_names(plan.tree)
    defined = defined_names(code)
    first = frozenset({entry_point.partition(".")[0]} if entry_point else ())
    if defined is None or wanted is None:
        return (defined or frozenset()) | (free - MODULES) | first
    return defined | frozenset(wanted) | first


def own_faults(
    plan: Plan,
    *,
    job: dict[str, Any],
    stand_ins: frozenset[str],
    judge: Judge,
    limits: SandboxLimits,
    total_s: float,
) -> dict[int, str]:
    """Return the fault of each broken test, by number.

    Tests after a statement that reached the code and could not continue get no entry.
    """
    names = sorted(stand_ins - {SOLUTION})
    alone = {**job, "code": "", "stand_ins": names, "limits": {**job["limits"], "total_s": total_s}}
    faults: dict[int, str] = {}
    stopped_at: int | None = None
    try:
        for record in run_job(alone, total_s=total_s, limits=limits):
            if record.index < 0:
                continue
            result = judge.judge_alone(plan.items[record.index], record, asks=plan.asks)
            if result.passed:
                continue
            faults[record.index] = result.error or f"It expects {result.expected}, and has {result.actual} by itself."
            if plan.items[record.index].kind == "setup":
                stopped_at = record.index
    except HarnessDied:
        pass  # results until then are valid
    if stopped_at is not None:
        why = f"A statement before it fails: {plan.items[stopped_at].name}\n{faults[stopped_at]}"
        faults |= {index: why for index in range(stopped_at + 1, len(plan.items)) if index not in faults}
    return faults


def says_unloaded(record: Record) -> bool:
    """Return True if the code did not load; then no test is at fault for what followed."""
    try:
        return "unloaded" in read_message(record.report)
    except MalformedValue:
        return False


def blame_the_test(result: TestResult, why: str) -> TestResult:
    """Return the result as that of a broken test if it failed, since it would fail without any code."""
    if result.passed or result.is_broken or result.reason is FailureReason.FORGED:
        return result
    blamed = broken_test(result.name, f"It fails by itself, whatever the code is:\n{why}")
    return blamed.model_copy(update={"duration_ms": result.duration_ms})


def broken_test(name: str, why: str) -> TestResult:
    return TestResult(name=clean(name, limit=200), passed=False, error=clean(why), reason=FailureReason.BROKEN_TEST)


# Imported once in the harness if the code mentions them, instead of once in each forked child.
PRELOADED = ("bisect", "collections", "functools", "heapq", "itertools", "math", "re", "string", "typing")
NO_SCRIPT = Plan([], [], "", ast.Module([], []))
BROUGHT_DOWN = "The sandbox was brought down while this test ran."
AFTER_THE_CRASH = "It had no turn: the sandbox was brought down before it."
NO_TIME = "It had no turn: the time for all tests was used up before it."


def run_tests(
    code: str,
    *,
    tests: CodeTests,
    limits: SandboxLimits | None = None,
    deadline_s: float | None = None,
    wanted: tuple[str, ...] | None = None,
) -> TestReport:
    """Return a result for every test, in order.

    `wanted` are names that the code should have defined and did not: a script that misses them is not broken. By
    default these are all undefined names that the script uses. Raise SandboxUnavailable or SandboxFailed if the code
    could not be tested.
    """
    limits = limits or SandboxLimits()
    started = working_clock()
    total_s = limits.total_s if deadline_s is None else max(0.1, min(limits.total_s, deadline_s))
    try:
        plan = plan_script(tests.script, code=code, entry_point=tests.entry_point) if tests.script else NO_SCRIPT
    except ScriptRefused as error:
        return TestReport(results=(broken_test("script", f"The test script itself cannot be used: {error}"),))
    items = plan.items
    job = {
        **build_items(tests, plan),
        "code": code.encode("utf-8", "backslashreplace").decode("utf-8"),
        "entry_point": tests.entry_point,
        "preload": [name for name in PRELOADED if name in code],
        "limits": harness_limits(limits, total_s=total_s, form=tests.form),
        "stand_ins": None,
    }
    names = stand_ins_for(plan, code=job["code"], entry_point=tests.entry_point, wanted=wanted)
    if tests.script and not uses_the_code(plan.tree, names):
        return TestReport(results=tuple(broken_test(item.name, NOT_REACHED) for item in items if not is_setup(item)))
    judge = Judge(wall_s=limits.wall_s, entry_point=tests.entry_point)
    collected = Collected(limits.output_bytes)
    judged: dict[int, TestResult] = {}
    one = judge_of(judge, tests, plan)
    brought_down, is_loaded = False, True
    try:
        for record in run_job(job, total_s=total_s, limits=limits):
            collected.add(record)
            if record.index >= 0:
                judged[record.index] = one(record)
                is_loaded = is_loaded and not says_unloaded(record)
    except HarnessDied:
        brought_down = True
    results = all_results(tests, items, judged, brought_down=brought_down)
    left_s = total_s - (working_clock() - started)
    if tests.script and is_loaded and left_s > 0 and any(not result.passed for result in results.values()):
        faults = own_faults(plan, job=job, stand_ins=names, judge=judge, limits=limits, total_s=left_s)
        results |= {index: blame_the_test(results[index], why) for index, why in faults.items() if index in results}
    return TestReport(
        results=tuple(results.values()),
        stdout=clean(bytes(collected.stdout), limit=limits.output_bytes),
        stderr=clean(bytes(collected.stderr), limit=limits.output_bytes),
        duration_ms=(working_clock() - started) * 1000,
    )


def harness_limits(limits: SandboxLimits, *, total_s: float, form: str) -> dict[str, Any]:
    """Return the harness's limits. A script is one process, so its CPU time is that of the whole run."""
    cpu_s = max(limits.cpu_s, round(total_s)) if form == "script" else limits.cpu_s
    kept = limits.written_bytes if form == "stdin_cases" else limits.output_bytes
    return {**asdict(limits), "total_s": total_s, "cpu_s": cpu_s, "kept_bytes": kept}


def build_items(tests: CodeTests, plan: Plan) -> dict[str, Any]:
    """Return the inputs for the harness, never the expected values, except where a script contains both."""
    if tests.cases:
        given: list[dict[str, Any]] = [{"args": list(case.args), "kwargs": case.kwargs} for case in tests.cases]
    elif tests.stdin_cases:
        given = [{"stdin": case.stdin} for case in tests.stdin_cases]
    else:
        given = [{"kind": item.kind, "code": item.code, "path": item.path} for item in plan.items]
    return {"form": tests.form, "items": given, "script": plan.shown}


def judge_of(judge: Judge, tests: CodeTests, plan: Plan) -> Callable[[Record], TestResult]:
    """Return the function that judges a record of this form of tests."""
    names = test_names(tests)
    if tests.cases:
        return lambda record: judge.judge_case(tests.cases[record.index], record, name=names[record.index])
    if tests.stdin_cases:
        return lambda record: judge.judge_program(tests.stdin_cases[record.index], record, name=names[record.index])
    return lambda record: judge.judge_item(plan.items[record.index], record, asks=plan.asks)


def test_names(tests: CodeTests) -> list[str]:
    """Return the given names, and numbers for unnamed tests."""
    cases: tuple[CallCase | StdinCase, ...] = tests.cases or tests.stdin_cases
    return [clean(case.name, limit=200) or f"case {number}" for number, case in enumerate(cases, 1)]


def all_results(
    tests: CodeTests, items: list[Item], judged: dict[int, TestResult], *, brought_down: bool
) -> dict[int, TestResult]:
    """Return a result for every test by number, including failed set-up statements of a script.

    Tests without a record did not run. If the sandbox was brought down, the first test without a record is the one
    responsible.
    """
    broken = next((judged[index].name for index, item in enumerate(items) if is_setup(item) and index in judged), None)
    why = NO_TIME if broken is None else f"It had no turn: a statement before it failed: {broken}"
    results: dict[int, TestResult] = {}
    for index, name in enumerate([item.name for item in items] or test_names(tests)):
        item = items[index] if items else None
        if index in judged:
            results[index] = judged[index]
        elif item is not None and item.refused:
            results[index] = broken_test(name, item.refused)
        elif item is None or not is_setup(item):
            results[index] = crashed(name) if brought_down else not_run(name, why)
            if brought_down:
                brought_down, why = False, AFTER_THE_CRASH
    return results


def is_setup(item: Item) -> bool:
    return item.kind == "setup"


def not_run(name: str, why: str) -> TestResult:
    return TestResult(name=clean(name, limit=200), passed=False, error=why, reason=FailureReason.NOT_RUN)


def crashed(name: str) -> TestResult:
    return not_run(name, BROUGHT_DOWN).model_copy(update={"reason": FailureReason.CRASHED})


class Collected:
    """The beginning of the output of all tests."""

    def __init__(self, most: int) -> None:
        self.most = most
        self.stdout, self.stderr = bytearray(), bytearray()

    def add(self, record: Record) -> None:
        self.stdout += record.stdout[: self.most - len(self.stdout)]
        self.stderr += record.stderr[: self.most - len(self.stderr)]


# Run of a single program: its output, and how it ended


@dataclass(frozen=True)
class ProgramResult:
    """Output of a program. `reason` and `error` explain an abnormal end.

    That is an exception, a status other than 0, or a reached limit.
    """

    stdout: str
    stderr: str
    reason: FailureReason | None
    error: str

    @property
    def ended_well(self) -> bool:
        return self.reason is None


def run_program(
    code: str, *, stdin: str = "", limits: SandboxLimits | None = None, deadline_s: float | None = None
) -> ProgramResult:
    """Run the code as a main program and return the result.

    Raise SandboxUnavailable or SandboxFailed if it could not be run.
    """
    limits = limits or SandboxLimits()
    total_s = limits.total_s if deadline_s is None else max(0.1, min(limits.total_s, deadline_s))
    kept = {"total_s": total_s, "wall_s": total_s, "kept_bytes": limits.output_bytes}
    job = {
        "form": "stdin_cases",
        "items": [{"stdin": stdin}],
        "script": "",
        "code": code.encode("utf-8", "backslashreplace").decode("utf-8"),
        "entry_point": None,
        "preload": [],
        "limits": {**asdict(limits), **kept},
    }
    try:
        with closing(run_job(job, total_s=total_s, limits=limits)) as records:
            record = next(records, None)
    except HarnessDied:
        return ProgramResult("", "", FailureReason.CRASHED, "The sandbox was brought down while the program ran.")
    if record is None:
        return ProgramResult("", "", FailureReason.TIMEOUT, f"No result within {total_s:g} s.")
    reason, error = Judge(wall_s=total_s, entry_point=None).judge_end_of_program(record)
    printed = clean(record.stdout, limit=limits.output_bytes), clean(record.stderr, limit=limits.output_bytes)
    return ProgramResult(*printed, reason, error)
