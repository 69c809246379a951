"""What a task is known by is changed, and a task is deleted with all that came of it."""

import json
from datetime import timedelta
from typing import Any

import pytest

from reflection_app.alerts.escalating import escalate_due
from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Role, Scope
from reflection_app.repairs.models import Ticket
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run
from reflection_app.tasks.models import Task
from reflection_app.teams.models import Notification
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.repairs.tickets import external_run
from tests.runs.questions import waiting_question
from tests.sessions.recorded import INLINE, watched_project

pytestmark = pytest.mark.django_db


def patch(caller: Caller, task_id: object, body: Any, **headers: str) -> Answer:
    return caller.call("PATCH", f"tasks/{task_id}", data=json.dumps(body), headers=headers)


def delete(caller: Caller, task_id: object, **headers: str) -> Answer:
    return caller.call("DELETE", f"tasks/{task_id}", headers=headers)


def test_what_a_task_is_known_by_is_changed_and_the_rest_stays(caller: Caller) -> None:
    task = given.submitted_run(caller.project, external_id="a", metadata={"team": "red"}).task
    answer = patch(caller, task.pk, {"metadata": {"team": "blue"}})
    assert (answer.status, answer.body["metadata"], answer.body["external_id"]) == (200, {"team": "blue"}, "a")
    assert patch(caller, task.pk, {"external_id": None}).body["external_id"] is None
    task.refresh_from_db()
    assert (task.external_id, task.metadata) == (None, {"team": "blue"})
    first, last = AuditEntry.objects.filter(action="task.changed").order_by("created_at")
    assert (first.before, first.after) == ({"metadata": {"team": "red"}}, {"metadata": {"team": "blue"}})
    assert (last.before, last.after) == ({"external_id": "a"}, {"external_id": None})
    patch(caller, task.pk, {"metadata": {"team": "blue"}})
    assert AuditEntry.objects.filter(action="task.changed").count() == 2


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"objective": "Another one."}, "objective"),
        ({"external_id": ""}, "external_id"),
        ({"metadata": None}, "metadata"),
        ({"metadata": {"long": "x" * 17_000}}, "metadata"),
    ],
)
def test_what_cannot_be_changed_is_named(caller: Caller, body: dict[str, Any], field: str) -> None:
    task = given.submitted_run(caller.project, external_id="a").task
    answer = patch(caller, task.pk, body)
    then.refused(answer, 400)
    assert then.named_fields(answer) == [field]


def test_a_task_goes_with_all_that_came_of_it(admin: Caller) -> None:
    kept, gone = given.finished_run(admin.project), given.finished_run(admin.project)
    run = external_run(project=admin.project)
    assert delete(admin, gone.task_id).status == 204
    then.refused(delete(admin, gone.task_id), 404)
    then.refused(admin.get(f"runs/{gone.pk}"), 404)
    assert admin.get(f"runs/{kept.pk}").status == 200
    refused = delete(admin, run.task_id)
    then.refused(refused, 409)
    assert "Cancel the run" in refused.body["detail"]
    assert admin.post(f"runs/{run.pk}/cancel").status == 200
    assert delete(admin, run.task_id).status == 204
    assert not Run.objects.filter(pk=run.pk).exists()
    assert not Attempt.objects.exclude(run=kept).exists()
    assert not Ticket.objects.exclude(run=kept).exists()
    entry = AuditEntry.objects.filter(action="task.deleted").latest("created_at")
    assert entry.before is not None
    assert (entry.before["agent"], entry.actor_label) == ("researcher", f"key {admin.key.name}")


def test_nobody_is_told_any_more_what_a_deleted_task_asked(admin: Caller) -> None:
    admin.project.waiting = {"question_goal_minutes": 1}
    admin.project.save(update_fields=["waiting"])
    given.member(admin.project, Role.CURATOR)
    question = waiting_question(admin.project)
    assert escalate_due(question.created_at + timedelta(minutes=2)) == 1
    assert Notification.objects.get().facts["title"] == question.text
    assert admin.post(f"runs/{question.run_id}/cancel").status == 200
    assert delete(admin, question.run.task_id).status == 204
    assert not Notification.objects.exists()


def test_a_task_whose_run_waits_for_a_person_stays(admin: Caller) -> None:
    review = given.waiting_review(admin.project)
    then.refused(delete(admin, review.run.task_id), 409)
    assert Review.objects.filter(pk=review.pk).exists()


def test_the_loop_of_a_session_is_not_taken_from_it() -> None:
    admin = given.caller(watched_project(), [Scope.ADMIN])
    session = admin.post("transcripts", {"reflection": INLINE}).body
    run = Run.objects.get(pk=session["run_id"])
    admin.post(f"runs/{run.pk}/cancel")
    then.refused(delete(admin, run.task_id), 409)
    assert Task.objects.filter(pk=run.task_id).exists()
