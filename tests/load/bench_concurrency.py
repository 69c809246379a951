"""Prints how near the workers come to the ideal rate: 200 runs at once, 64 threads, a model that takes a second a call.

A run of `text` is one attempt and its critique, one of `data` two attempts that fit no schema: two calls each. The desk
is started by `manage.py up`, tasks are handed in over REST. With `--look-back` each end is looked back at by two more
runs. `--workers 3` starts three that do fresh work, for the CPU that a run costs on them beside what it costs on one.

.venv/bin/python -m tests.load.bench_concurrency [RUNS] [text|data] [--look-back] [--workers N]
"""

import argparse
import json
import os
import statistics
import tempfile
import time
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.load.machine import cpu_s, describe_machine
from tests.load.model_server import model_server

if TYPE_CHECKING:
    from tests.end_to_end.desk import Desk

CONCURRENCY = 64
CALLS_PER_RUN = 2
CALL_S = 1.0
GOAL = 0.6
SAME: dict[str, Any] = {"objective": "Write about the sea.", "agent": "bench"}
TASKS = {
    "text": SAME | {"mode": "actor_critic", "limits": {"max_iterations": 1, "time_budget_s": 600}},
    "data": SAME
    | {
        "output_schema": {"type": "object", "required": ["depth_m"]},
        "limits": {"max_iterations": 2, "time_budget_s": 600},
    },
}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("runs", nargs="?", type=int, default=200)
    parser.add_argument("task", nargs="?", choices=TASKS, default="text")
    parser.add_argument("--look-back", action="store_true")
    parser.add_argument("--workers", type=int, default=0)
    asked = parser.parse_args()
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    with model_server(delay_s=CALL_S) as url, tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        environment = {
            "LLM_MODEL": "openai/bench",
            "OPENAI_API_BASE": url,
            "OPENAI_API_KEY": "none",
            "WORKER_CONCURRENCY": str(CONCURRENCY),
            # The last of several looks back.
            "WORKER_PROCESSES": str(asked.workers + 1 if asked.workers else 0),
            "REFLECTION_MODE": "post_hoc" if asked.look_back else "off",
        }
        finished = work_off(asked.runs, task=TASKS[asked.task], environment=environment, data=Path(folder) / "data")
    report(finished)


def work_off(runs: int, *, task: dict[str, Any], environment: dict[str, str], data: Path) -> list[Any]:
    """The finished runs, as REST tells them."""
    from tests.end_to_end.desk import running_desk

    with running_desk(data, environment) as desk:
        desk.settled(desk.hand_in(**task))  # litellm is loaded now
        handed_in = desk.post("tasks/batch", {"tasks": [task] * runs}, status=201)["results"]
        wanted = {answer["run"]["id"] for answer in handed_in}
        deadline, workers = time.monotonic() + 60 + 4 * ideal_s(runs), pids_of_workers(desk)
        spent_s = cpu_s(*workers)
        while time.monotonic() < deadline:
            time.sleep(1)
            found = [run for run in desk.all_of("runs", limit=100, state="finished") if run["id"] in wanted]
            if len(found) == runs:
                cpu_ms = 1_000 * (cpu_s(*workers) - spent_s) / runs
                print(f"CPU of the {len(workers)} workers, a run: {cpu_ms:.0f} ms")
                return found
        raise TimeoutError(f"only {len(found)} of {runs} runs ended: {desk.log.read_text()}")


def ideal_s(runs: int) -> float:
    """The time that the model alone needs: whole waves, since a run's calls come one after the other."""
    waves = -(-runs // CONCURRENCY)
    return waves * CALLS_PER_RUN * CALL_S


def pids_of_workers(desk: "Desk") -> list[int]:
    processes: dict[str, list[int]] = json.loads((desk.data / "processes.json").read_text())
    return [found[0] for name, found in processes.items() if name.startswith(("worker", "behind"))]


def report(finished: list[Any]) -> None:
    assert all(run["usage"]["llm_calls"] == CALLS_PER_RUN for run in finished)
    starts = sorted(datetime.fromisoformat(run["started_at"]) for run in finished)
    ends = sorted(datetime.fromisoformat(run["finished_at"]) for run in finished)
    took = sorted(seconds(run["started_at"], run["finished_at"]) for run in finished)
    full = len(ends) // CONCURRENCY * CONCURRENCY
    print(describe_machine())
    print(f"{len(ends)} runs of {CALLS_PER_RUN} calls of {CALL_S:g} s on {CONCURRENCY} threads, from the first claim:")
    print(f"a run from claim to end: median {statistics.median(took):.2f} s, longest {took[-1]:.2f} s")
    busy = min(CONCURRENCY, len(starts))
    print(f"run {busy} was claimed after {(starts[busy - 1] - starts[0]).total_seconds():.2f} s")
    for count in sorted({full, len(ends)} - {0}):
        ended = (ends[count - 1] - starts[0]).total_seconds()
        share = ideal_s(count) / ended
        print(f"{count:4} runs ended after {ended:6.2f} s, ideal {ideal_s(count):5.2f} s: {share:.0%}")
    print(f"goal: at least {GOAL:.0%} of the ideal rate; measured {share:.0%}: {'met' if share >= GOAL else 'missed'}")


def seconds(start: str, end: str) -> float:
    return (datetime.fromisoformat(end) - datetime.fromisoformat(start)).total_seconds()


if __name__ == "__main__":
    main()
