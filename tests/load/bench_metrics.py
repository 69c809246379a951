"""Prints how long the metrics of a project with many runs take, p95, in a database with another project as large.

.venv/bin/python -m tests.load.bench_metrics [RUNS] [ROUNDS]
"""

import sys
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from time import perf_counter
from typing import Any
from uuid import UUID

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_MS = 300.0
DAYS = 120
AGENTS, MODELS, KINDS = 12, 4, 4
PERIODS = {"30 days": 30, "90 days": 90, "2 days": 2}
CHOICES: dict[str, dict[str, str]] = {"all": {}, "an agent": {"agent": "agent 3"}, "a mode": {"mode": "reflexion"}}
# Every run with its task; how it went depends on its number, so that all combinations are there.
TASKS = """
    INSERT INTO reflection_app_task (id, project_id, objective, kind, mode, agent, execution, phase, tools, reflection,
        reflector_switches, models_by_role, chain_of_thought, limits, metadata, created_at)
    SELECT gen_random_uuid(), %(project)s, 'Task ' || number, 'kind ' || number / 7 %% %(kinds)s, 'adaptive',
        'agent ' || number %% %(agents)s, 'managed', '', '[]', '', '{}', '{}', FALSE, '{}',
        jsonb_build_object('number', number),
        now() - (number * interval '1 second' * %(seconds)s / %(runs)s)
    FROM generate_series(1, %(runs)s) number
"""
RUNS = """
    INSERT INTO reflection_app_run (id, project_id, task_id, mode, state, outcome, waiting_for, error, spec,
        loop_version, prompt_versions, is_scripted, attempts_made, prompt_tokens, completion_tokens, cost_usd,
        llm_calls, active_s, failures, worker_deaths, last_event_seq, told_seq, fork_note, forked_by_label,
        edited_prompts, handed_in_by, estimated_tokens, unpriced_calls, unmetered_calls, created_at, started_at,
        finished_at)
    SELECT gen_random_uuid(), %(project)s, id,
        (ARRAY['external_loop', 'actor_critic', 'reflexion', 'planning'])[1 + number / 3 %% 4], 'finished',
        CASE WHEN number %% 3 = 0 THEN 'exhausted' ELSE 'succeeded' END, '', '', '{"limits": {"max_iterations": 3}}',
        1, '{}', FALSE, 1 + number %% 3, 900, 300, 0.002, 4, 3, 0, 0, 20, 0, '', '', '{}', '{}', 0, 0, 0, created_at,
        created_at, created_at
    FROM (SELECT *, (metadata ->> 'number')::int AS number FROM reflection_app_task WHERE project_id = %(project)s) task
"""
FIGURES = """
    INSERT INTO reflection_app_runfigure (id, project_id, run_id, task_id, finished_at, finished_on, is_counted,
        is_of_several, outcome, failures, is_scripted, agent, mode, model, kind, {sums})
    SELECT gen_random_uuid(), run.project_id, run.id, task.id, run.finished_at,
        (run.finished_at AT TIME ZONE 'UTC')::date, TRUE, FALSE, run.outcome,
        CASE WHEN number %% 3 = 0 THEN ARRAY['issue:format', 'class:3.3.2'] ELSE '{{}}' END, FALSE, task.agent,
        run.mode, 'model ' || number / 5 %% %(models)s, task.kind, {values}
    FROM reflection_app_run run
    JOIN (
        SELECT *, (metadata ->> 'number')::int AS number FROM reflection_app_task WHERE project_id = %(project)s
    ) task ON task.id = run.task_id
"""
VALUES = {
    "runs": "1",
    "succeeded": "(number %% 3 > 0)::int",
    "enabled": "1",
    "told": "1",
    "attempted": "1",
    "attempts": "1 + number %% 3",
    "attempts_to_success": "CASE WHEN number %% 3 > 0 THEN 1 + number %% 3 ELSE 0 END",
    "cycle_ms": "number %% 9000",
    "reflections": "number %% 3",
    "prompt_tokens": "900",
    "completion_tokens": "300",
    "cost_usd": "0.002 + number * 0.00000001",
    "counted_cost_usd": "0.002 + number * 0.00000001",
    "llm_calls": "4",
}
SPENT = """
    INSERT INTO reflection_app_runspend (figure_id, role, spent_on, calls, prompt_tokens, completion_tokens, cost_usd,
        unpriced_calls)
    SELECT id, role, model, 2, 450, 150, 0.001, 0
    FROM reflection_app_runfigure CROSS JOIN (VALUES ('actor'), ('critic')) by (role) WHERE project_id = %(project)s
"""


def main() -> None:
    runs, rounds = (int(sys.argv[at]) if len(sys.argv) > at else usual for at, usual in ((1, 200_000), (2, 30)))
    with django_on_own_engines({"ALLOWED_HOSTS": "testserver,localhost", "API_REQUESTS_PER_MINUTE": "0"}):
        measure(runs, rounds=rounds)


def measure(runs: int, *, rounds: int) -> None:
    from django.db import connection

    from reflection_app.config.static_files import collect_static
    from reflection_app.metrics.models import FigureDue
    from tests.factories import make_api_key, make_member, make_project

    collect_static()
    mine, other = make_project("mine"), make_project("other")
    for project in (mine, other):
        fill(project.pk, runs=runs)
    FigureDue.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute("VACUUM ANALYZE")
    print(describe_machine())
    print(f"{runs:,} runs over {DAYS} days, beside another project of as many; goal {GOAL_MS:g} ms, p95 of {rounds}")
    _, secret = make_api_key(mine, ["metrics:read"])
    asking(mine.slug, secret=secret, member=make_member(mine), rounds=rounds)
    figuring(mine.pk, rounds=rounds)


def asking(slug: str, *, secret: str, member: Any, rounds: int) -> None:
    """The page, the call, and the runs behind a figure."""
    from django.test import Client
    from django.urls import reverse

    client, until = Client(), datetime.now(UTC).date()
    client.force_login(member)
    key = {"Authorization": f"Bearer {secret}"}
    places: dict[str, tuple[str, dict[str, str]]] = {
        "page": (reverse("metrics", kwargs={"slug": slug}), {"period": "custom"}),
        "REST": ("/api/v1/metrics", {}),
        "runs behind": ("/api/v1/metrics/runs", {"figure": "success_rate", "key": "yes"}),
    }
    for name, (path, query) in places.items():
        for period, days in PERIODS.items():
            for choice, narrowed in CHOICES.items():
                asked = {"since": str(until - timedelta(days=days - 1)), "until": str(until), **narrowed, **query}

                def get(path: str = path, asked: dict[str, str] = asked) -> None:
                    answer = client.get(path, asked, headers=key)
                    assert answer.status_code == 200, (path, answer.status_code, answer.content[:500])

                print(f"{name:12} {period:16} {choice:9} p95 {p95(get, rounds):8.1f} ms")


def figuring(project_id: UUID, *, rounds: int) -> None:
    """What the worker does every few seconds, with a batch of runs that ended just now."""
    from reflection_app.metrics.figuring import figure_runs
    from reflection_app.runs.models import Run

    newest = list(Run.objects.filter(project=project_id).order_by("-created_at").values_list("pk", flat=True)[:50])
    print(f"counting 50 more runs of today in   p95 {p95(lambda: figure_runs(newest), rounds):8.1f} ms")


def fill(project_id: UUID, *, runs: int) -> None:
    from django.db import connection

    from reflection_app.metrics.models import SUMMED

    given: dict[str, Any] = {"project": project_id, "runs": runs, "seconds": DAYS * 86_400}
    given |= {"agents": AGENTS, "models": MODELS, "kinds": KINDS}
    figures = FIGURES.format(sums=", ".join(SUMMED), values=", ".join(VALUES.get(name, "0") for name in SUMMED))
    with connection.cursor() as cursor:
        for query in (TASKS, RUNS, figures, SPENT):
            cursor.execute(query, given)


def p95(do: Callable[[], object], rounds: int) -> float:
    """Milliseconds that all but one in twenty took at most; the first time is for warming up."""
    do()
    took = []
    for _ in range(rounds):
        began = perf_counter()
        do()
        took.append((perf_counter() - began) * 1000)
    return sorted(took)[min(len(took) - 1, int(len(took) * 0.95))]


if __name__ == "__main__":
    main()
