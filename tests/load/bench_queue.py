"""Prints how long the queue's page takes with many waiting reviews, in process: whole, its rows alone, and by score.

.venv/bin/python -m tests.load.bench_queue [WAITING] [TIMES]
"""

import statistics
import sys
import tempfile
import time
from pathlib import Path

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_MS = 100.0


def main() -> None:
    waiting = int(sys.argv[1]) if len(sys.argv) > 1 else 10_000
    times = int(sys.argv[2]) if len(sys.argv) > 2 else 60
    print(describe_machine())
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        with django_on_own_engines({}, data=Path(folder) / "data"):
            measure(waiting, times)
    print(describe_machine())


def measure(waiting: int, times: int) -> None:
    from django.core.management import call_command
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from reflection_app.core.models import Role
    from tests.factories import make_member, make_project
    from tests.load.review_rows import fill_reviews

    call_command("collectstatic", interactive=False, verbosity=0)
    project = make_project("queue")
    admin = make_member(project, Role.ADMIN)
    fill_reviews({project: waiting}, assignee_id=make_member(project).pk)
    client = Client(headers={"host": "localhost"})
    client.force_login(admin)
    asked: dict[str, dict[str, str]] = {"whole": {}, "rows alone": {"HX-Request": "true"}}
    for name, address in (("queue order", "/p/queue/reviews/"), ("by score", "/p/queue/reviews/?sort=score")):
        for part, headers in asked.items():
            for _ in range(3):
                client.get(address, headers=headers)
            with CaptureQueriesContext(connection) as queries:
                response = client.get(address, headers=headers)
                # Counted at once: each request empties the log.
                asked_for = len(queries)
            assert response.status_code == 200
            wall, cpu = [], []
            for _ in range(times):
                began, began_cpu = time.perf_counter(), time.process_time()
                client.get(address, headers=headers)
                wall.append((time.perf_counter() - began) * 1000)
                cpu.append((time.process_time() - began_cpu) * 1000)
            p95 = statistics.quantiles(wall, n=20)[18]
            print(
                f"{name}, {part}: p50 {statistics.median(wall):.0f} ms, p95 {p95:.0f} ms, of it Python's CPU "
                f"{statistics.median(cpu):.0f} ms, {asked_for} queries, {len(response.content) / 1000:.0f} kB "
                f"(goal {GOAL_MS:.0f} ms, {waiting:,} waiting)"
            )


if __name__ == "__main__":
    main()
