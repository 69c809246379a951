"""Prints what it says of a first answer that an independent one computes the same, by how it does on its tests.

The independent answer is the first one of another recorded run of the same problem, put to the same tests. Rows of one
problem repeat each other, so the interval counts problems.

.venv/bin/python -m tests.load.quality_agreement FILE
"""

import sys
from collections import defaultdict
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from os import cpu_count
from pathlib import Path
from statistics import fmean
from typing import NamedTuple

from reflection_app.adapters.sandbox import run_tests
from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.referee.answers import Answers, read_answers
from reflection_app.loops.referee.suspect_tests import suspect_tests
from reflection_app.loops.referee.weighing import changes_nothing
from reflection_app.metrics.statistics import wilson
from reflection_app.metrics.trace_replay import Trace

TESTS = ("all pass", "a few fail", "most fail")


class Row(NamedTuple):
    problem: str
    tests: str
    agrees: bool
    is_verbatim: bool
    is_right: bool


def main() -> None:
    lines = Path(sys.argv[1]).read_text(encoding="utf-8").splitlines()
    traces = [Trace.model_validate_json(line) for line in lines if line.strip()]
    by_problem = defaultdict(list)
    for trace in traces:
        by_problem[trace.prompt].append(trace)
    pairs = [(one, other) for runs in by_problem.values() for one in runs for other in runs if one is not other]
    with ThreadPoolExecutor(cpu_count() or 1) as pool:
        rows = [row for row in pool.map(row_of, pairs) if row]
    print(f"{len(traces)} runs, {len(rows)} pairs of first answers to one problem")
    print("tests       the other  pairs  verbatim  problems  first right   share by problem (95 %)")
    for tests in TESTS:
        for agrees in (True, False):
            print(line_of([row for row in rows if (row.tests, row.agrees) == (tests, agrees)], tests, agrees=agrees))


def row_of(pair: tuple[Trace, Trace]) -> Row | None:
    """What the pair shows; None where no test of the first run can be used."""
    one, other = pair
    suspects = suspect_tests("\n".join(one.tests), task=one.prompt, entry_point=None)
    if suspects.is_empty:
        return None
    tests = CodeTests(script=suspects.script, entry_point=suspects.entry_point or None)
    reports = {number: run_tests(trace.implementations[0], tests=tests) for number, trace in enumerate(pair, start=1)}
    first, second = read_answers(
        reports, examples=suspects.examples, entry_point=suspects.entry_point, annotation=suspects.annotation
    )
    return Row(
        problem=one.prompt,
        tests=how_many_pass(first),
        agrees=changes_nothing(first, second),
        is_verbatim=one.implementations[0].strip() == other.implementations[0].strip(),
        is_right=one.right[0],
    )


def how_many_pass(answers: Answers) -> str:
    if answers.has_most_against:
        return "most fail"
    return "a few fail" if answers.passed < answers.total else "all pass"


def line_of(rows: Sequence[Row], tests: str, *, agrees: bool) -> str:
    shares = defaultdict(list)
    for row in rows:
        shares[row.problem].append(float(row.is_right))
    found = wilson(sum(map(fmean, shares.values())), len(shares))
    spread = f"{found.low:.2f} to {found.high:.2f}" if found else "-"
    verbatim, right = sum(row.is_verbatim for row in rows), sum(row.is_right for row in rows)
    other = "agrees" if agrees else "differs"
    return f"{tests:<11} {other:<9} {len(rows):>6} {verbatim:>9} {len(shares):>9} {right:>12}   {spread:>23}"


if __name__ == "__main__":
    main()
