"""Which tests of a script fail by themselves.

The script is run once more with nothing to test: each name that code defines, or should define, is a stand-in. What
fails before it does anything with one of them fails whatever the code is, and so does what names something that is
nowhere. No code under test is there, so it has no say in whose fault a failure is.
"""

from typing import Any

from reflection_app.adapters.sandbox.judge import Judge
from reflection_app.adapters.sandbox.limits import SandboxLimits
from reflection_app.adapters.sandbox.process import HarnessDied, Record, clean, run_job
from reflection_app.adapters.sandbox.scripts import Plan
from reflection_app.adapters.sandbox.values import MalformedValue, read_message
from reflection_app.loops.code_tests import FailureReason, TestResult
from reflection_app.loops.scripts.names import MODULES, SOLUTION, defined_names, free_names

NOT_REACHED = "It does nothing with the code, so it says nothing of it."


def stand_ins_for(plan: Plan, *, code: str, entry_point: str | None, wanted: tuple[str, ...] | None) -> frozenset[str]:
    """The names that stand for what the code defines or should define."""
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
    """What is wrong with those tests that fail by themselves, by their number.

    Nothing is said of what comes after a statement that reached the code and could not go on.
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
        pass  # what was said until then holds
    if stopped_at is not None:
        why = f"A statement before it fails: {plan.items[stopped_at].name}\n{faults[stopped_at]}"
        faults |= {index: why for index in range(stopped_at + 1, len(plan.items)) if index not in faults}
    return faults


def says_unloaded(record: Record) -> bool:
    """Whether the code did not load: then no test can be at fault for what followed."""
    try:
        return "unloaded" in read_message(record.report)
    except MalformedValue:
        return False


def blame_the_test(result: TestResult, why: str) -> TestResult:
    """The result, as one of a broken test where it failed, since it would have failed without any code."""
    if result.passed or result.is_broken or result.reason is FailureReason.FORGED:
        return result
    blamed = broken_test(result.name, f"It fails by itself, whatever the code is:\n{why}")
    return blamed.model_copy(update={"duration_ms": result.duration_ms})


def broken_test(name: str, why: str) -> TestResult:
    return TestResult(name=clean(name, limit=200), passed=False, error=clean(why), reason=FailureReason.BROKEN_TEST)
