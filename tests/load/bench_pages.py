"""Prints what the main pages cost: queries, time, CPU and size, as one browser with a kept connection gets them.

Of a real start with the demo and one web process. Queries are counted in this process, on the same database. `--rows`
takes another project with so many runs, reviews, figures, tickets and failed calls, and a fifth as many entries.

.venv/bin/python -m tests.load.bench_pages [--rows N] [--rounds 10] [PAGE…]
"""

import argparse
import os
import statistics
import tempfile
import time
from pathlib import Path
from typing import TYPE_CHECKING

import django

from tests.load.bench_search import FAILURE, TICKET
from tests.load.bench_throughput import wait_until_idle
from tests.load.machine import cpu_s, describe_machine
from tests.load.memory import NO_LOCAL_MODEL

if TYPE_CHECKING:
    from reflection_app.core.models import Project
    from tests.end_to_end.desk import Desk

IN_A_ROW, GOAL_MS, GOAL_MS_OF_MANY, GOAL_QUERIES = 10, 80.0, 150.0, 20
FIGURE = {
    "id": "n.task",
    "run_id": "n.run",
    "task_id": "n.task",
    "finished_at": "n.at",
    "finished_on": "(n.at AT TIME ZONE 'UTC')::date",
    "is_scripted": "false",
    "cost_usd": "n.chance",
}
OF_RUN = {"run_id": "n.run", "step_id": "NULL"}
SPEND = {"id": "nextval('reflection_app_runspend_id_seq')", "figure_id": "n.task"}


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("pages", nargs="*", help="names of pages; all without one")
    parser.add_argument("--rows", type=int, default=0, help="runs of the project; without it the demo is shown")
    parser.add_argument("--rounds", type=int, default=10)
    asked = parser.parse_args()
    with tempfile.TemporaryDirectory(prefix="desk-pages-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        # This process reads the same database.
        data = str(Path(folder) / "data")
        os.environ |= {"DJANGO_SETTINGS_MODULE": "reflection_app.config.settings", "REFLECTION_DATA_DIR": data}
        django.setup()
        from reflection_app.core.models import Project
        from tests.end_to_end.desk import running_desk

        with running_desk(Path(data), NO_LOCAL_MODEL) as desk:
            demo = Project.objects.get(is_demo=True)
            project = filled_project(demo, asked.rows) if asked.rows else demo
            wait_until_idle(desk)
            addresses = {name: path for name, path in pages_of(project).items() if name in (asked.pages or [name])}
            report(desk, addresses, rounds=asked.rounds, goal_ms=GOAL_MS_OF_MANY if asked.rows else GOAL_MS)


def pages_of(project: "Project") -> dict[str, str]:
    """Map page names to addresses: of the first review in the queue, and of the run with the most attempts."""
    from reflection_app.reviews.models import OPEN, Review

    reviews = Review.objects.filter(project=project, state__in=OPEN).order_by("-holds_run", "created_at", "id")
    item, run = reviews[0].pk, project.runs.order_by("-attempts_made", "id")[0].pk
    parts = {"overview": "", "queue": "reviews/", "item": f"reviews/{item}/", "runs": "runs/", "run": f"runs/{run}/"}
    parts |= {"metrics": "metrics/", "inbox": "notebook/inbox/", "tickets": "tickets/", "failures": "tools/failures/"}
    return {name: f"/p/{project.slug}/{part}" for name, part in parts.items()}


def filled_project(demo: "Project", rows: int) -> "Project":
    """Return a project of the browser's user with so many runs; figures and tickets are copies of the demo's."""
    from django.contrib.auth.models import User
    from django.db import connection

    from reflection_app.core.models import Role
    from reflection_app.metrics.models import RunFigure, RunSpend
    from reflection_app.repairs.models import Ticket, ToolFailure
    from tests import given
    from tests.load.copies import copy_row, indexes_built_afterwards
    from tests.load.notebook_rows import fill_projects
    from tests.load.review_rows import TASK, fill_reviews

    project = given.project("filled", id=fill_projects(rows // 5, beside=rows // 20))
    admin = given.member(project, Role.ADMIN, user=User.objects.get(is_staff=True))
    fill_reviews({project: rows * 2 // 3}, assignee_id=admin.pk)
    own = {"project_id": f"'{project.pk}'"}
    figure = RunFigure.objects.filter(project=demo, is_counted=True, spend__isnull=False).order_by("-attempts")[0]
    tables = [f"reflection_app_{name}" for name in ("runfigure", "runspend", "ticket", "toolfailure")]
    with indexes_built_afterwards(*tables):
        copy_row(Ticket.objects.filter(project=demo)[0], own | TICKET, for_each="made")
        copy_row(ToolFailure.objects.filter(project=demo)[0], own | FAILURE | OF_RUN, for_each="made")
        copy_row(figure, own | FIGURE | {name: TASK[name] for name in ("agent", "kind")}, for_each="made")
        for spend in RunSpend.objects.filter(figure=figure):
            copy_row(spend, SPEND, for_each="made")
    connection.cursor().execute(f"VACUUM ANALYZE {', '.join(tables)}")
    return project


def report(desk: "Desk", addresses: dict[str, str], *, rounds: int, goal_ms: float) -> None:
    """Ask for the pages in turns, so that all see the same machine, and print a line for each."""
    pids = desk.pid_of("web"), desk.pid_of("postgres")
    queries = count_queries(addresses)
    taken: dict[str, list[float]] = {name: [] for name in addresses}
    spent_s, sizes = dict.fromkeys(addresses, 0.0), dict.fromkeys(addresses, (0, 0))
    # The first round imports and compiles.
    for number in range(rounds + 1):
        for name, address in addresses.items():
            before_s = cpu_s(*pids)
            for _ in range(IN_A_ROW):
                began = time.perf_counter()
                answer = desk.browser.get(address)
                assert answer.status_code == 200, answer.text
                taken[name] += [1_000 * (time.perf_counter() - began)] if number else []
            spent_s[name] += cpu_s(*pids) - before_s if number else 0.0
            sizes[name] = len(answer.content), answer.num_bytes_downloaded
    print(f"{describe_machine()}\npage      queries  p50 ms  p95 ms  CPU ms  KB unpacked  on the wire")
    for name, times in taken.items():
        p95, cpu_ms = statistics.quantiles(times, n=20)[-1], 1_000 * spent_s[name] / len(times)
        missed = "" if p95 <= goal_ms and queries[name] <= GOAL_QUERIES else "  missed"
        print(
            f"{name:<9} {queries[name]:>7} {statistics.median(times):>7.1f} {p95:>7.1f} {cpu_ms:>7.1f} "
            f"{sizes[name][0] / 1_000:>12.1f} {sizes[name][1] / 1_000:>12.1f}{missed}"
        )
    print(f"CPU is the web process's and PostgreSQL's. Goal: p95 at most {goal_ms:.0f} ms, {GOAL_QUERIES} queries.")


def count_queries(addresses: dict[str, str]) -> dict[str, int]:
    from django.contrib.auth.models import User
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    client, counted = Client(SERVER_NAME="127.0.0.1"), {}
    client.force_login(User.objects.get(is_staff=True))
    for name, address in addresses.items():
        client.get(address)
        with CaptureQueriesContext(connection) as captured:
            assert client.get(address).status_code == 200
        counted[name] = len(captured)
    return counted


if __name__ == "__main__":
    main()
