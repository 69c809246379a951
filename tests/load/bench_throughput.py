"""Prints what a run costs all processes together: many different tasks in a project that has lessons.

The desk is started by `manage.py up` with as many processes as `make run` has on two cores. The tasks are posted in
batches of 50. Each has two attempts that fit no schema, so two model calls, and nobody reflects on it. The same calls
are then made by litellm alone, in one process with threads, against the same model server.

.venv/bin/python -m tests.load.bench_throughput [--runs N] [--delay SECONDS] [--empty] [--quick]
"""

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import httpx
import psycopg

from tests.load.machine import cpu_by_role, cpu_s, describe_machine
from tests.load.model_server import model_server

if TYPE_CHECKING:
    from tests.end_to_end.desk import Desk

CALLS_PER_RUN = 2
AT_ONCE = 50
THREADS = 128
QUICK_RUNS = 60
WITHIN_S = 900
CONNECTIONS = 16
# Idle is: less than this share of a core, this many times in a row.
MOST_IDLE_SHARE, LOOK_S, QUIET_LOOKS = 0.25, 4.0, 2
GOAL = 7.0
MODEL = "openai/bench"
SCHEMA: dict[str, Any] = {"type": "object", "required": ["depth_m"], "properties": {"depth_m": {"type": "number"}}}
PLACES = (
    "the Atlantic",
    "the Baltic",
    "a mountain lake",
    "the harbor of Oslo",
    "a flooded quarry",
    "the Mariana Trench",
)
SUBJECTS = ("currents", "fish stocks", "old wrecks", "water temperature", "shipping lanes", "salt content", "algae")
# Runs have ended; figures, notices of ended runs and counts of lessons are still to be written.
LEFT = """
SELECT (SELECT count(*) FROM reflection_app_lookbackdue) + (SELECT count(*) FROM reflection_app_figuredue)
    + (SELECT count(*) FROM notebook_app_exposure WHERE NOT is_summed)
"""
ENDED = """
SELECT count(*) FROM reflection_app_run AS run JOIN reflection_app_task AS task ON task.id = run.task_id
WHERE task.agent = 'bench' AND run.state = 'finished'
"""


@dataclass(frozen=True)
class Measured:
    """Seconds from the first post to the last end, and of CPU by role, all that the runs left behind included."""

    wall_s: float
    cpu_by_role: Mapping[str, float]
    batch_cpu_s: float


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=300)
    parser.add_argument("--delay", type=float, default=1.0)
    parser.add_argument("--empty", action="store_true", help="delete all lessons of the project first")
    parser.add_argument("--quick", action="store_true", help=f"{QUICK_RUNS} runs")
    parser.add_argument("--bare", metavar="URL", help=argparse.SUPPRESS)
    options = parser.parse_args()
    runs = QUICK_RUNS if options.quick else options.runs
    if options.bare:
        print(bare_cpu_s(runs, url=options.bare))
        return
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    with model_server(delay_s=options.delay) as url, tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        measured = measure(runs, url=url, data=Path(folder) / "data", is_empty=options.empty)
        command = (sys.executable, "-m", "tests.load.bench_throughput", "--runs", str(runs), "--bare", url)
        bare_s = float(subprocess.run(command, check=True, capture_output=True, text=True).stdout)
    report(measured, runs=runs, delay_s=options.delay, bare_s=bare_s)


def measure(runs: int, *, url: str, data: Path, is_empty: bool) -> Measured:
    from tests.end_to_end.desk import running_desk

    environment = {
        "LLM_MODEL": MODEL,
        "OPENAI_API_BASE": url,
        "OPENAI_API_KEY": "none",
        "WEB_PROCESSES": "2",
        "WORKER_PROCESSES": "3",
    }
    with running_desk(data, environment) as desk:
        return measure_on(desk, runs=runs, is_empty=is_empty)


def measure_on(desk: "Desk", *, runs: int, is_empty: bool) -> Measured:
    with connected(desk) as database:
        if is_empty:
            database.execute("UPDATE notebook_app_entry SET state = 'retired'")
        # Everything that is imported or read once is there after these.
        for number in range(-8, 0):
            desk.hand_in(**task(number))
        first_requests(desk)
        wait_until(database, ENDED, 8, desk=desk)
        wait_until(database, LEFT, 0, desk=desk)
        wait_until_idle(desk)
        processes: dict[str, list[Any]] = json.loads((desk.data / "processes.json").read_text())
        pids = {name: int(found[0]) for name, found in processes.items()}
        before, began = cpu_by_role(pids, supervisor=desk.process.pid), time.monotonic()
        web = [pid for name, pid in pids.items() if name.startswith("web")]
        web_s = cpu_s(*web)
        for first in range(0, runs, AT_ONCE):
            desk.post("tasks/batch", {"tasks": [task(n) for n in range(first, min(first + AT_ONCE, runs))]}, status=201)
        batch_cpu_s = cpu_s(*web) - web_s
        wait_until(database, ENDED, runs + 8, desk=desk)
        wall_s = time.monotonic() - began
        wait_until(database, LEFT, 0, desk=desk)
        after = cpu_by_role(pids, supervisor=desk.process.pid)
    return Measured(wall_s, {role: after[role] - before[role] for role in after}, batch_cpu_s)


def connected(desk: "Desk") -> psycopg.Connection[Any]:
    from reflection_app.config.services import socket_dir

    sockets = str(socket_dir(desk.data))
    return psycopg.connect(host=sockets, user="postgres", dbname="desk", autocommit=True)


def wait_until(database: psycopg.Connection[Any], query: str, wanted: int, *, desk: "Desk") -> None:
    deadline = time.monotonic() + WITHIN_S
    while True:
        row = database.execute(query).fetchone()
        if row is not None and row[0] == wanted:
            return
        if time.monotonic() > deadline:
            raise TimeoutError(f"{row} and not {wanted}: {desk.log.read_text()}")
        time.sleep(0.5)


def first_requests(desk: "Desk") -> None:
    """Ask so many at once that each web process has answered: its first answer costs it seconds of imports."""
    from concurrent.futures import ThreadPoolExecutor

    def ask(_number: int) -> None:
        httpx.get(f"{desk.api.base_url}tasks", headers=desk.api.headers, timeout=WITHIN_S).raise_for_status()

    with ThreadPoolExecutor(CONNECTIONS) as threads:
        list(threads.map(ask, range(3 * CONNECTIONS)))


def wait_until_idle(desk: "Desk") -> None:
    """Return once all processes have started: the last ones still import when the first answers requests."""
    deadline, quiet = time.monotonic() + WITHIN_S, 0
    while quiet < QUIET_LOOKS:
        before_s = cpu_s(desk.process.pid)
        time.sleep(LOOK_S)
        is_quiet = cpu_s(desk.process.pid) - before_s < MOST_IDLE_SHARE * LOOK_S
        quiet = quiet + 1 if is_quiet else 0
        if time.monotonic() > deadline:
            raise TimeoutError("the server did not become idle")


def task(number: int) -> dict[str, Any]:
    """A task like no other: what it asks for and the words it does so with."""
    subject, place = SUBJECTS[number % len(SUBJECTS)], PLACES[number % len(PLACES)]
    return {
        "objective": f"Report number {1_000 + number}: collect what is known of {subject} in {place} since "
        f"{1900 + number % 97}, with the mean depth in meters and the source of each figure.",
        "agent": "bench",
        "output_schema": SCHEMA,
        "reflection": "off",
        "limits": {"max_iterations": CALLS_PER_RUN, "time_budget_s": 600},
    }


def bare_cpu_s(runs: int, *, url: str) -> float:
    """Seconds of this process's CPU for the calls of so many runs, by litellm alone."""
    from concurrent.futures import ThreadPoolExecutor

    os.environ |= {"OPENAI_API_BASE": url, "OPENAI_API_KEY": "none", "LITELLM_LOCAL_MODEL_COST_MAP": "True"}
    import litellm

    form = {"type": "json_schema", "json_schema": {"name": "answer", "schema": SCHEMA, "strict": False}}

    def call(messages: list[dict[str, str]]) -> str:
        answer: Any = litellm.completion(
            model=MODEL, messages=messages, max_tokens=1_000, timeout=600, num_retries=0, response_format=form
        )
        return str(answer.choices[0].message.content)

    def run(number: int) -> None:
        written = f"{task(number)['objective']}\n\nThe answer has to fit this JSON Schema:\n{json.dumps(SCHEMA)}"
        messages = [{"role": "system", "content": "You produce data for programs."}]
        messages.append({"role": "user", "content": written})
        answer = call(messages)
        call([*messages, {"role": "assistant", "content": answer}, {"role": "user", "content": "Correct all of this."}])

    with ThreadPoolExecutor(THREADS) as threads:
        list(threads.map(run, range(-8, 0)))
        began_s = time.process_time()
        list(threads.map(run, range(runs)))
    return time.process_time() - began_s


def report(measured: Measured, *, runs: int, delay_s: float, bare_s: float) -> None:
    print(describe_machine())
    waves = -(-runs // THREADS)
    ideal_s = waves * CALLS_PER_RUN * delay_s
    print(f"{runs} runs of {CALLS_PER_RUN} calls of {delay_s:g} s: {measured.wall_s:.1f} s, ideal {ideal_s:.1f} s")
    for role, spent_s in measured.cpu_by_role.items():
        print(f"CPU a run, {role:<18} {1_000 * spent_s / runs:7.1f} ms")
    whole_ms, bare_ms = 1_000 * sum(measured.cpu_by_role.values()) / runs, 1_000 * bare_s / runs
    print(f"CPU a run, all                {whole_ms:7.1f} ms")
    print(f"CPU a run, litellm alone      {bare_ms:7.1f} ms")
    print(f"web CPU while a batch of {AT_ONCE} is posted: {1_000 * measured.batch_cpu_s * AT_ONCE / runs:.0f} ms")
    ratio = whole_ms / bare_ms
    print(f"goal: at most {GOAL:g} times litellm; measured {ratio:.1f}: {'met' if ratio <= GOAL else 'missed'}")


if __name__ == "__main__":
    main()
