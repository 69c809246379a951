"""Very many reviews that wait, each with its task, run, steps, attempt and verdict. Django has to be set up."""

import json
import random
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from django.db import connection
from django.db.models import Model

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.metrics.models import FigureDue
from reflection_app.reviews.models import Review, ReviewSkip, ReviewState
from reflection_app.runs.models import Step
from tests.load.copies import copy_row, indexes_built_afterwards
from tests.reviews.waiting_rows import waiting_rows

SET = Path(__file__).parents[1] / "notebook" / "recall_set.json"
TABLES = tuple(
    f"reflection_app_{name}" for name in ("task", "searchrow", "run", "step", "attempt", "verdict", "review")
)
TEXTS = 5_000
# Of all that a project has, every third is decided and lies between those that wait. Of the others one in ten is an
# audit, one in 50 is for one person alone, one in 200 is held and one in 200 was held for too long.
MADE = """
DROP TABLE IF EXISTS made;
CREATE TEMPORARY TABLE made AS
SELECT number, at, text, chance, {ids},
    CASE WHEN number %% 3 = 0 THEN 'decided' WHEN number %% 200 IN (1, 2) THEN 'claimed' ELSE 'waiting' END AS state,
    CASE number %% 200 WHEN 1 THEN now() + interval '10 minutes' WHEN 2 THEN at + interval '1 hour' END AS lease_until,
    number %% 10 = 5 AS is_audit,
    CASE WHEN number %% 50 = 7 THEN %(assignee)s END AS assignee
FROM (
    SELECT number, (%(texts)s::text[])[1 + abs(hashint4(number) %% %(many_texts)s)] AS text,
        abs(hashint4(number * 31) %% 1000) / 1000.0 AS chance,
        now() - (%(total)s - number) * interval '7 seconds' - interval '1 minute' AS at
    FROM generate_series(1, %(total)s) number
) AS numbered
"""
IDS = ("task", "run", "made", "asked", "attempt", "verdict", "review")
TASK = {
    "id": "n.task",
    "external_id": "'job-' || n.number",
    "objective": "n.text || ' (' || n.number || ')'",
    "kind": "(ARRAY['creative_writing', 'summary', 'code', 'translation'])[1 + floor(4 * n.chance ^ 2)::int]",
    "agent": "(ARRAY['porter', 'writer', '', 'planner', 'clerk'])[1 + floor(5 * n.chance ^ 2)::int]",
    "created_at": "n.at",
}
RUN = {
    "id": "n.run",
    "task_id": "n.task",
    "state": "CASE WHEN n.is_audit OR n.state = 'decided' THEN 'finished' ELSE 'waiting_review' END",
    "outcome": "CASE WHEN n.is_audit OR n.state = 'decided' THEN 'succeeded' END",
    "waiting_for": "CASE WHEN n.is_audit OR n.state = 'decided' THEN '' ELSE 'review' END",
    "created_at": "n.at",
    "started_at": "n.at",
    "finished_at": "CASE WHEN n.is_audit OR n.state = 'decided' THEN n.at END",
}
REVIEW = {
    "id": "n.review",
    "run_id": "n.run",
    "attempt_id": "n.attempt",
    "verdict_id": "n.verdict",
    "step_id": "n.asked",
    "reason": "CASE WHEN n.is_audit THEN 'audit' WHEN n.chance < 0.3 THEN 'low_confidence' ELSE 'rejected' END",
    "holds_run": "NOT n.is_audit",
    "state": "n.state",
    "holder_label": "CASE WHEN n.state = 'claimed' THEN 'somebody' ELSE '' END",
    "lease_token": "CASE WHEN n.state = 'claimed' THEN gen_random_uuid() END",
    "lease_until": "n.lease_until",
    "assignee_id": "n.assignee",
    "decision": "CASE WHEN n.state = 'decided' THEN 'approve' END",
    "decided_by_label": "CASE WHEN n.state = 'decided' THEN 'somebody' ELSE '' END",
    "decided_at": "CASE WHEN n.state = 'decided' THEN n.at + interval '1 hour' END",
    "created_at": "n.at",
}


def fill_reviews(projects: Mapping[Project, int], *, assignee_id: int) -> None:
    """So many open reviews of each project and half as many decided ones."""
    with indexes_built_afterwards(*TABLES):
        for project, many in projects.items():
            _fill(project, many, assignee_id=assignee_id)
    # As if their figures had been taken long ago.
    FigureDue.objects.all().delete()
    with connection.cursor() as cursor:
        cursor.execute(f"VACUUM ANALYZE {', '.join(TABLES)}")


def _fill(project: Project, open_reviews: int, *, assignee_id: int) -> None:
    (like,) = waiting_rows(project, 1)
    ids = ", ".join(f"uuidv7(at - clock_timestamp()) AS {name}" for name in IDS)
    given: dict[str, Any] = {
        "total": open_reviews * 3 // 2,
        "texts": varied_texts(),
        "many_texts": TEXTS,
        "assignee": assignee_id,
    }
    with connection.cursor() as cursor:
        cursor.execute(MADE.format(ids=ids), given)
    for row, columns in rows_like(like):
        copy_row(row, columns, for_each="made")
    like.run.task.delete()


def rows_like(like: Review) -> list[tuple[Model, dict[str, str]]]:
    """The rows that belong to a review, those first that others point to, and what differs in their copies."""
    assert like.step is not None
    of_run = {"run_id": "n.run", "started_at": "n.at"}
    judged = {"score": "floor(60 * n.chance)", "confidence": "1 - n.chance", "created_at": "n.at"}
    return [
        (like.run.task, TASK),
        (like.run, RUN),
        (Step.objects.get(made_attempt=like.attempt), {"id": "n.made", **of_run}),
        (like.step, {"id": "n.asked", **of_run}),
        (
            like.attempt,
            {"id": "n.attempt", "run_id": "n.run", "step_id": "n.made", "content": "n.text", "created_at": "n.at"},
        ),
        (like.verdict, {"id": "n.verdict", "attempt_id": "n.attempt", **judged}),
        (like, REVIEW),
    ]


def varied_texts() -> list[str]:
    """Of one to six sentences of the labelled set, short ones far more often than long ones."""
    chance = random.Random(5)
    sentences = [text for _, _, _, text in json.loads(SET.read_text())["entries"]]
    return [" ".join(chance.choices(sentences, k=min(6, int(chance.paretovariate(1.5))))) for _ in range(TEXTS)]


def skip_oldest(project: Project, actor: Actor, many: int) -> None:
    """The actor has passed by the first of the queue, which stay there for the others."""
    oldest = Review.objects.filter(project=project, state=ReviewState.WAITING, assignee=None)
    ids = oldest.order_by("-holds_run", "created_at", "id").values_list("pk", flat=True)[:many]
    ReviewSkip.objects.bulk_create(ReviewSkip(review_id=pk, by_label=actor.label) for pk in ids)
