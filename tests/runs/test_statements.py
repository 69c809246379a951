"""How many statements a run costs the database: each is a fifth of a millisecond of two processes."""

import pytest
from django.db import connection
from django.test.utils import CaptureQueriesContext

from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from tests import given
from tests.notebook.exposed import approved_lesson

pytestmark = pytest.mark.django_db

# The claim, lessons (6), three commits of two each, and the end (4); without what begins and ends transactions.
MOST_A_RUN = 17
# The next attempt of the same loop is one commit.
MOST_AN_ATTEMPT = 2
# However many tasks there are, savepoints included.
MOST_A_BATCH = 12
SCHEMA = {"type": "object", "required": ["depth_m"]}


def run_of(attempts: int, *, project: Project) -> Run:
    answers = {f"attempt-{number}/answer": "not measured yet" for number in range(1, attempts + 1)}
    return given.scripted_run(
        answers,
        project=project,
        objective="Report the depth of the harbor.",
        output_schema=SCHEMA,
        reflection="off",
        limits={"max_iterations": attempts},
    )


def statements_of(run: Run) -> int:
    with CaptureQueriesContext(connection) as caught:
        advance(run.pk)
    run.refresh_from_db()
    assert run.outcome == "exhausted"
    found = [one["sql"] for one in caught.captured_queries]
    # A savepoint stands for the transaction that there is outside of tests.
    return len([one for one in found if not one.startswith(("SAVEPOINT", "RELEASE"))])


def test_a_run_of_two_attempts_with_lessons_costs_few_statements() -> None:
    project = given.project()
    approved_lesson(project.pk, "Report the depth of the harbor with its source")
    # Words and their stems are read once a process.
    statements_of(run_of(2, project=project))
    run = run_of(2, project=project)
    taken = statements_of(run)
    assert Step.objects.filter(run=run, kind="recall_lessons").exists()
    assert taken <= MOST_A_RUN
    assert statements_of(run_of(3, project=project)) <= taken + MOST_AN_ATTEMPT


def test_a_batch_of_fifty_tasks_costs_few_statements() -> None:
    project = given.project()
    approved_lesson(project.pk, "Report the depth of the harbor with its source")
    caller = given.caller(project)
    tasks = [
        {"objective": f"Report the depth of harbor {number}.", "agent": "bench", "output_schema": SCHEMA}
        for number in range(50)
    ]
    caller.post("tasks/batch", {"tasks": tasks[:1]})
    with CaptureQueriesContext(connection) as caught:
        answer = caller.post("tasks/batch", {"tasks": tasks})
    assert answer.status == 201, answer.body
    assert len(answer.body["results"]) == len({one["run"]["id"] for one in answer.body["results"]}) == 50
    assert Run.objects.filter(project=project, state="queued").count() == 51
    assert len(caught.captured_queries) <= MOST_A_BATCH, [one["sql"][:200] for one in caught.captured_queries]
