"""Prints how long a model's answer takes to its commit in the journal: of one run at a time, and with 64 in flight,
of which all are answered after a second, so that they come in crowds, or after half a second to one and a half.

From the moment at which the model server sends the answer (all of it, in one write) to the moment that PostgreSQL gives
the transaction which wrote it (`track_commit_timestamp`), both by this machine's clock. PostgreSQL takes that moment
just before it brings the commit to the disk; how long the disk takes, on average, is printed beside it.

.venv/bin/python -m tests.load.bench_commit [RUNS_ALONE] [RUNS_AT_ONCE]
"""

import asyncio
import json
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django
import psycopg

from tests.load.machine import cpu_s, describe_machine
from tests.load.model_server import model_server, name_of

if TYPE_CHECKING:
    from tests.end_to_end.desk import Desk

CONCURRENCY = 64
CALLS_PER_RUN = 6
AGENT = "bench"
ANSWERS = """
SELECT step.request -> 'messages',
    extract(epoch FROM pg_xact_commit_timestamp(step.xmin))::float
FROM reflection_app_step step
JOIN reflection_app_run run ON run.id = step.run_id
JOIN reflection_app_task task ON task.id = run.task_id
WHERE task.agent = %s AND step.kind = 'generate' AND step.state = 'done'
"""
FLUSHES = "SELECT sum(fsync_time) / nullif(sum(fsyncs), 0) FROM pg_stat_io WHERE object = 'wal'"


def main() -> None:
    alone, at_once = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, 40), (2, 128)))
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    print(describe_machine())
    measure("one run at a time", alone, in_flight=1, answers_after_s=0.05, goal_ms=20)
    for what, spread_s in (("in step", 0.0), ("spread out", 0.5)):
        measure(
            f"{CONCURRENCY} {what}", at_once, in_flight=CONCURRENCY, answers_after_s=1.0, spread_s=spread_s, goal_ms=100
        )
    print(describe_machine())


def measure(
    what: str, runs: int, *, in_flight: int, answers_after_s: float, goal_ms: float, spread_s: float = 0.0
) -> None:
    from tests.end_to_end.desk import running_desk

    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        data, log = Path(folder) / "data", Path(folder) / "answers"
        note_commit_times(data)
        with model_server(delay_s=answers_after_s, spread_s=spread_s, log=log) as url:
            provider = {"LLM_MODEL": "openai/bench", "OPENAI_API_BASE": url, "OPENAI_API_KEY": "none"}
            workers = {"WORKER_CONCURRENCY": str(CONCURRENCY), "WORKER_PROCESSES": "0"}
            with running_desk(data, provider | workers) as desk:
                desk.settled(desk.hand_in(**task(0, agent="warming up")))  # litellm is loaded now
                workers_before = cpu_s(*pids_of_workers(desk))
                work_off(desk, runs, in_flight=in_flight)
                workers_s = cpu_s(*pids_of_workers(desk)) - workers_before
                commits, flush_ms = read_commits(data)
        sent = {name: float(at) for at, name in (line.split() for line in log.read_text().splitlines())}
    report(what, [1_000 * (at - sent[name]) for name, at in commits.items()], goal_ms=goal_ms, flush_ms=flush_ms)
    print(f"CPU of the workers, an answer: {1_000 * workers_s / len(commits):.1f} ms", flush=True)


def note_commit_times(data: Path) -> None:
    """Makes the desk's own PostgreSQL before the desk does, with the time of each commit kept."""
    from reflection_app.config.services import socket_dir
    from reflection_app.config.up.engines import prepared_postgres

    asyncio.run(prepared_postgres(data, sockets=socket_dir(data)))
    with (data / "postgres" / "postgresql.conf").open("a") as settings:
        settings.write("\ntrack_commit_timestamp = on\ntrack_wal_io_timing = on\n")


def task(number: int, *, agent: str = AGENT) -> dict[str, Any]:
    # Each has an objective of its own, so that no two runs ask a model the same. None is reflected on: that would be
    # further runs at the same time.
    objective = f"Write about the sea, for boat {number}."
    limits = {"max_iterations": CALLS_PER_RUN // 2, "time_budget_s": 600}
    return {"objective": objective, "mode": "actor_critic", "agent": agent, "limits": limits, "reflection": "off"}


def pids_of_workers(desk: "Desk") -> list[int]:
    processes: dict[str, list[int]] = json.loads((desk.data / "processes.json").read_text())
    return [found[0] for name, found in processes.items() if name.startswith(("worker", "behind"))]


def work_off(desk: "Desk", runs: int, *, in_flight: int) -> None:
    tasks = [task(number) for number in range(1, runs + 1)]
    if in_flight == 1:
        for one in tasks:
            desk.settled(desk.hand_in(**one))
        return
    desk.post("tasks/batch", {"tasks": tasks}, status=201)
    deadline = time.monotonic() + 60 + 4 * CALLS_PER_RUN * runs / in_flight
    while len(desk.all_of("runs", limit=100, state="finished", agent=AGENT)) < runs:
        assert time.monotonic() < deadline, desk.log.read_text()
        time.sleep(2)


def read_commits(data: Path) -> tuple[dict[str, float], float]:
    """By question when its answer was committed; and how many milliseconds a flush of the journal to the disk took."""
    from reflection_app.config.services import socket_dir

    with psycopg.connect(host=str(socket_dir(data)), user="postgres", dbname="desk") as connection:
        rows = connection.execute(ANSWERS, [AGENT]).fetchall()
        flush_ms = (connection.execute(FLUSHES).fetchone() or [None])[0]
    commits = {name_of(messages): at for messages, at in rows}
    assert len(commits) == len(rows), "two runs asked a model the same"
    return commits, float(flush_ms or 0)


def report(what: str, taken: Sequence[float], *, goal_ms: float, flush_ms: float) -> None:
    assert min(taken) > 0, min(taken)
    cuts = statistics.quantiles(taken, n=100)
    print(
        f"{what:20} {len(taken):5} answers: p50 {cuts[49]:6.1f} ms, p95 {cuts[94]:6.1f} ms, p99 {cuts[98]:6.1f} ms; "
        f"the disk took {flush_ms:.1f} ms more; goal p99 {goal_ms:g} {'met' if cuts[98] <= goal_ms else 'missed'}",
        flush=True,
    )


if __name__ == "__main__":
    main()
