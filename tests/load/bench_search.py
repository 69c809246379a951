"""Prints how long a search takes in a project of 100,000 runs, and as many tickets, sessions and failed calls.

By what was typed: an id, the beginning of one, an external id, a rare word, a common one, words of one task and of two,
Chinese, words letter by letter, and what nothing has; then the answer to the dialog. CPU is that of this process and of
PostgreSQL, for a machine that does something else meanwhile.

.venv/bin/python -m tests.load.bench_search [RUNS] [ROUNDS]
"""

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING

from tests.load.engines import django_on_own_engines
from tests.load.machine import cpu_s, describe_machine

if TYPE_CHECKING:
    from reflection_app.core.models import Project

GOAL_MS = 50.0
ENTRIES = 5_000
FAILURE = {
    "id": "uuidv7(n.at - clock_timestamp())",
    "tool": "(ARRAY['search_flights', 'fetch', 'read_file', 'send_mail'])[1 + floor(4 * n.chance ^ 2)::int]",
    "external_id": "'call-' || n.number",
    "error_message": "n.text || ' ' || n.number",
    "created_at": "n.at",
}
SESSION = {
    "id": "uuidv7(n.at - clock_timestamp())",
    "external_id": "'thread-' || n.number",
    "objective": "n.text || ' (' || n.number || ')'",
    "created_at": "n.at",
}
TICKET = {
    "id": "uuidv7(n.at - clock_timestamp())",
    "run_id": "n.run",
    "attempt_id": "n.attempt",
    "step_id": "n.made",
    "ticket_id": "'rewind_' || n.number",
    "issues": "jsonb_build_array(jsonb_build_object('description', n.text))",
    "created_at": "n.at",
}


def main() -> None:
    runs = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 40
    with django_on_own_engines({"LLM_MODEL": "openai/none", "ALLOWED_HOSTS": "testserver"}):
        print(describe_machine())
        began = time.perf_counter()
        project = fill(runs)
        print(f"filled in {time.perf_counter() - began:.0f} s", flush=True)
        measure(project, rounds)
        print(describe_machine())


def fill(runs: int) -> "Project":
    from django.db import connection

    from reflection_app.sessions.models import Transcript
    from tests import given
    from tests.load.copies import copy_row, indexes_built_afterwards
    from tests.load.notebook_rows import fill_projects
    from tests.load.review_rows import fill_reviews
    from tests.repairs.tickets import external_run, ticket_of
    from tests.repairs.tool_failures import report

    project = given.project("searched", id=fill_projects(ENTRIES, beside=ENTRIES // 4))
    ticket = ticket_of(external_run(project=project))
    failure = report(project)
    session = Transcript.objects.create(project=project, agent="porter", objective="Book a flight")
    fill_reviews({given.project(): runs // 10, project: runs * 2 // 3}, assignee_id=given.member(project).pk)
    tables = [f"reflection_app_{name}" for name in ("toolfailure", "transcript", "ticket", "searchrow")]
    with indexes_built_afterwards(*tables):
        copy_row(failure, FAILURE, for_each="made")
        copy_row(session, SESSION, for_each="made")
        copy_row(ticket, TICKET, for_each="made")
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {', '.join(tables)}")
    return project


def measure(project: "Project", rounds: int) -> None:
    from django.test import Client

    from reflection_app.runs.models import Run
    from reflection_app.search.results import search

    chance = random.Random(5)
    runs = list(Run.objects.filter(project=project).order_by("?").values_list("pk", "task__objective")[:rounds])
    words = [[word for word in objective.split() if word.isalpha()] or ["flight"] for _, objective in runs]
    typed: dict[str, Sequence[str]] = {
        "an id": [str(pk) for pk, _ in runs],
        "the beginning of one": [str(pk)[:8] for pk, _ in runs],
        "an external id": [f"job-{chance.randrange(100_000)}" for _ in runs],
        "how many begin": ["job-", "rewind_", "call-", "thread-1"],
        "a rare word": [str(chance.randrange(100_000)) for _ in runs],
        "a word": [chance.choice(some) for some in words],
        "words of one task": [" ".join(chance.sample(some, min(3, len(some)))) for some in words],
        "words of two": [f"{chance.choice(some)} {chance.choice(words[0])}" for some in words],
        "common words": ["the", "the user", "a", "search flights", "file"],
        "Chinese": ["航班", "工具", "用户要求", "测试"],
        "letter by letter": [some[-1][:at] for some in words for at in range(1, len(some[-1]) + 1)],
        "nothing": ["qqqqzz", "zzz yyy xxx", "% _ \\"],
    }
    report("the search", lambda text: search(project, text, may=lambda _: True), typed, rounds)
    client = Client()
    from tests import given

    client.force_login(given.member(project))
    headers = {"HX-Request": "true", "HX-Target": "search-options"}
    page = f"/p/{project.slug}/search/"
    report("its answer to the dialog", lambda text: client.get(page, {"q": text}, headers=headers), typed, rounds)


def report(name: str, ask: Callable[[str], object], typed: Mapping[str, Sequence[str]], rounds: int) -> None:
    print(name)
    every = []
    for kind, texts in typed.items():
        ask(texts[0])
        taken = []
        spent = cpu_s(os.getpid())
        for number in range(max(rounds, len(texts))):
            began = time.perf_counter()
            ask(texts[number % len(texts)])
            taken.append(1_000 * (time.perf_counter() - began))
        every += taken
        print(
            f"  {kind:22} p50 {statistics.median(taken):6.1f} ms, p95 {p95(taken):6.1f} ms; "
            f"CPU {1_000 * (cpu_s(os.getpid()) - spent) / len(taken):5.1f} ms",
            flush=True,
        )
    met = "met" if p95(every) <= GOAL_MS else "missed"
    print(f"  {'all':22} p50 {statistics.median(every):6.1f} ms, p95 {p95(every):6.1f} ms; goal {GOAL_MS:.0f} {met}")


def p95(taken: Sequence[float]) -> float:
    return statistics.quantiles(taken, n=20)[-1]


if __name__ == "__main__":
    main()
