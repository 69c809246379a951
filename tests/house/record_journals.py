"""Records runs of the tests for tests/house/test_recorded_journals.py, as few as show every kind of step.

RECORD=/tmp/journals python -m pytest -p tests.house.record_journals tests/runs tests/api
python -m tests.house.record_journals /tmp/journals
"""

import json
import os
import re
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from tests.house.test_recorded_journals import replay

WRITTEN = Path(__file__).parents[1] / "house" / "journals"
MOST_OF_A_LOOP = 8


@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item: pytest.Item) -> None:
    """Keeps the runs that a test leaves behind, as long as they are there."""
    if not item.get_closest_marker("django_db"):
        return
    from reflection_app.runs.models import Run

    for run in Run.objects.filter(state="finished", parent=None, edited_prompts={}).exclude(steps=None):
        kept = {"spec": run.spec, "loop_version": run.loop_version, "outcome": run.outcome, "error": run.error}
        steps = [_kept(step) for step in run.steps.order_by("seq")]
        if all(step["state"] in {"done", "failed"} for step in steps):
            path = Path(os.environ["RECORD"]) / f"{run.pk}.json"
            path.write_text(json.dumps(kept | {"steps": steps}, indent=1, ensure_ascii=False) + "\n")


def _kept(step: Any) -> dict[str, Any]:
    from reflection_app.runs.journal import spent_by

    kept = {name: getattr(step, name) for name in ("key", "kind", "state", "result", "error", "timed_out")}
    return kept | {"spent": spent_by(step).model_dump(mode="json", exclude_defaults=True)}


def shown_by(recorded: dict[str, Any]) -> set[str]:
    """What a run is recorded for: the kinds of its steps, by key without numbers, and how each came out."""
    keys = {f"{re.sub(r'[0-9]+', 'n', step['key'])} {step['state']}" for step in recorded["steps"]}
    return keys | {f"ends {recorded['outcome']}"}


def _is_replayed(recorded: dict[str, Any]) -> bool:
    """Whether a loop made it: some tests write runs by hand."""
    try:
        ended = replay(recorded)
    except (AssertionError, ValidationError):
        return False
    return (ended.outcome, ended.error) == (recorded["outcome"], recorded["error"])


def main(folder: Path) -> None:
    by_loop = defaultdict(list)
    for path in sorted(folder.glob("*.json")):
        recorded = json.loads(path.read_text())
        if _is_replayed(recorded):
            by_loop[recorded["spec"]["mode"]].append(recorded)
    WRITTEN.mkdir(exist_ok=True)
    for mode, runs in by_loop.items():
        seen: set[str] = set()
        for number in range(1, MOST_OF_A_LOOP + 1):
            best = max(runs, key=lambda run: (len(shown_by(run) - seen), -len(json.dumps(run))))
            if not shown_by(best) - seen:
                break
            seen |= shown_by(best)
            name = f"{mode}-v{best['loop_version']}-{number}.json"
            (WRITTEN / name).write_text(json.dumps(best, indent=1, ensure_ascii=False) + "\n")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
