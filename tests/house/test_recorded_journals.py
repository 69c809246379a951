"""Runs as they were recorded: today's loops go along with their journals, step by step, to the same end.

Each file under journals/ is a run that ended: what it was asked, its steps, its end. A loop whose version was raised
leaves its older journals behind; they are deleted with that change, and `tests.house.record_journals` writes new ones.
"""

import json
from pathlib import Path
from typing import Any

import pytest

from reflection_app.loops.catalogue import LOOPS, run_loop, version_of
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.verdicts import Ended

JOURNALS = sorted((Path(__file__).parent / "journals").glob("*.json"))


def replay(recorded: dict[str, Any]) -> Ended:
    """How the run ends today; fails where the loop asks for something else than its journal holds."""
    loop = run_loop(TaskSpec.model_validate(recorded["spec"]))
    effect = loop.send(None)
    try:
        for number, step in enumerate(recorded["steps"], 1):
            assert (effect.key, effect.kind) == (step["key"], step["kind"]), f"step {number}"
            spent = Spent.model_validate(step["spent"])
            if step["state"] == "failed":
                failure = EffectTimedOut if step["timed_out"] else EffectFailed
                effect = loop.throw(failure(step["error"], spent=spent))
            else:
                value = effect.results.validate_python(step["result"])
                effect = loop.send(Performed(value=value, spent=spent))
    except StopIteration as stop:
        assert number == len(recorded["steps"]), f"the loop ends after step {number}"
        ended: Ended = stop.value
        return ended
    raise AssertionError(f"the loop goes on and asks for {effect.key}")


@pytest.mark.parametrize("path", JOURNALS, ids=lambda path: path.stem)
def test_a_recorded_run_ends_as_it_did(path: Path) -> None:
    recorded = json.loads(path.read_text())
    assert recorded["loop_version"] == version_of(Mode(recorded["spec"]["mode"]))
    ended = replay(recorded)
    assert (ended.outcome, ended.error) == (recorded["outcome"], recorded["error"])


def test_every_loop_has_a_recorded_run() -> None:
    assert {json.loads(path.read_text())["spec"]["mode"] for path in JOURNALS} == {mode.value for mode in LOOPS}
