"""The examples found in real tasks hold for right answers to them, so that they may outweigh tests of a model."""

import json
from pathlib import Path

import pytest

from reflection_app.adapters.sandbox import run_tests
from reflection_app.loops.code_tests import CodeTests
from reflection_app.loops.referee.suspect_tests import examples_in

HUMANEVAL = Path(__file__).parents[4] / "shared/data/humaneval/gpt4_reflexion.jsonl"


@pytest.mark.exhaustive("over all recorded problems")
@pytest.mark.skipif(not HUMANEVAL.exists(), reason="the recorded problems are not here")
def test_every_example_that_is_found_holds_for_the_recorded_right_answers() -> None:
    solved = [row for row in map(json.loads, HUMANEVAL.read_text(encoding="utf-8").splitlines()) if row["is_solved"]]
    tasks, failed, held = 0, [], 0
    for row in solved:
        examples = examples_in(row["prompt"], entry_point=row["entry_point"])
        if not examples:
            continue
        script = "\n".join(example.source for example in examples)
        report = run_tests(row["prompt"] + row["solution"], tests=CodeTests(script=script))
        tasks, held = tasks + 1, held + report.total - len(report.failures)
        failed += [(row["task_id"], failure.name) for failure in report.failures]
    assert (failed, held, tasks) == ([], 100, 35)
