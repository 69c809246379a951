"""What a project keeps no longer is deleted with all that hangs on it, and nothing that somebody is waited for."""

from datetime import timedelta

import pytest
from django.utils import timezone

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.models import Project
from reflection_app.loops.project_settings import RetentionSettings
from reflection_app.repairs.models import ToolFailure
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.models import About, Comment, Review, ReviewState
from reflection_app.runs.events import Event
from reflection_app.runs.models import Attempt, Run, Step
from reflection_app.sessions.models import AgentTrace, Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models import Notification, NotificationKind, RetentionRun
from reflection_app.teams.retention import (
    begin_due_retention,
    carry_out_retention,
    change_retention,
    order_retention,
    preview_retention,
)
from tests import given
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db
NOW = timezone.now()
DAYS = RetentionSettings(runs_days=10, transcripts_days=10, tool_failures_days=10)
ANSWERS = {"attempt-1/answer": "A text.", "attempt-1/critique": critique(95, approved=True)}


def aged(run: Run, *, days: int) -> Run:
    """The run as if it had been handed in and had ended so long ago."""
    then = NOW - timedelta(days=days)
    Task.objects.filter(pk=run.task_id).update(created_at=then)
    Run.objects.filter(pk=run.pk).update(created_at=then, finished_at=then if run.is_finished else None)
    return run


def kept(project: Project, settings: RetentionSettings = DAYS) -> dict[str, tuple[int, int]]:
    return {one.kind: (one.due, one.held) for one in preview_retention(project, settings, now=NOW)}


def carried_out(project: Project, settings: RetentionSettings = DAYS) -> dict[str, int]:
    project = change_retention(project, settings, actor=Actor())
    ordered = order_retention(project, actor=Actor())
    carry_out_retention(ordered.pk)
    ordered.refresh_from_db()
    assert ordered.finished_at is not None
    deleted: dict[str, int] = ordered.deleted
    return deleted


def test_old_runs_go_with_all_that_hangs_on_them_and_newer_ones_stay() -> None:
    project = given.scripted_project("old-runs", ANSWERS)
    old, recent = aged(given.advanced_run(project), days=11), aged(given.advanced_run(project), days=9)
    member = given.member(project)
    for run in (old, recent):
        add_comment(project, About.RUN, run.pk, CommentInput(text="Look at this."), actor=Actor(user=member))
    assert kept(project)["runs"] == (1, 0)
    assert Run.objects.count() == 2, "a preview changes nothing"
    assert carried_out(project) == {"runs": 1, "tasks": 1}
    assert list(Run.objects.values_list("pk", flat=True)) == [recent.pk]
    for rows in (Step.objects, Attempt.objects, Event.objects):
        assert not rows.filter(run=old.pk).exists()
        assert rows.filter(run=recent.pk).exists()
    assert list(Comment.objects.values_list("about_id", flat=True)) == [recent.pk]


def test_what_has_not_ended_stays_however_old_it_is() -> None:
    project = given.unsure_project("unended")
    waiting, queued = aged(given.advanced_run(project), days=99), aged(given.submitted_run(project), days=99)
    assert kept(project)["runs"] == (0, 2)
    assert carried_out(project) == {}
    assert set(Run.objects.values_list("pk", flat=True)) == {waiting.pk, queued.pk}


def test_a_run_that_has_ended_stays_while_a_review_of_it_is_open() -> None:
    project = given.scripted_project("asked", ANSWERS)
    run = aged(given.advanced_run(project), days=30)
    [review] = ask_for_review(run, AskInput(note="Is that so?"), actor=Actor(user=given.member(project)))
    assert kept(project)["runs"] == (0, 1)
    assert carried_out(project) == {}
    Review.objects.filter(pk=review.pk).update(state=ReviewState.WITHDRAWN)
    assert carried_out(project) == {"runs": 1, "tasks": 1}


def test_sessions_failures_traces_and_notifications_go_by_their_own_ages() -> None:
    project, then = given.project(), NOW - timedelta(days=40)
    user = given.member(project)
    ended = Transcript.objects.create(project=project, ended_at=then)
    going_on = Transcript.objects.create(project=project)
    Transcript.objects.update(created_at=then)
    failure = ToolFailure.objects.create(project=project, tool="search", error_message="boom")
    ToolFailure.objects.filter(pk=failure.pk).update(created_at=then)
    AgentTrace.objects.create(project=project, trace_id="a" * 32, last_span_at=then)
    notice = Notification.objects.create(
        project=project, user=user, kind=NotificationKind.MENTIONED, about=About.RUN, about_id=project.pk
    )
    assert carried_out(project) == {"sessions": 1, "tool_failures": 1, "traces": 1}
    assert [one.pk for one in Transcript.objects.all()] == [going_on.pk] != [ended.pk]
    Notification.objects.filter(pk=notice.pk).update(created_at=NOW - timedelta(days=91))
    assert carried_out(project) == {"notifications": 1}


def test_another_projects_rows_are_left_alone() -> None:
    project, other = given.scripted_project("mine", ANSWERS), given.scripted_project("others", ANSWERS)
    aged(given.advanced_run(project), days=30)
    run = aged(given.advanced_run(other), days=30)
    carried_out(project)
    assert list(Run.objects.values_list("pk", flat=True)) == [run.pk]


def test_the_hourly_look_begins_a_pass_where_something_is_due_and_only_one() -> None:
    project = given.scripted_project("hourly", ANSWERS)
    run = aged(given.advanced_run(project), days=30)
    change_retention(project, DAYS, actor=Actor())
    [ordered] = begin_due_retention(now=NOW)
    assert begin_due_retention(now=NOW) == [ordered]
    carry_out_retention(ordered)
    carry_out_retention(ordered)
    assert not Run.objects.filter(pk=run.pk).exists()
    assert RetentionRun.objects.get().deleted == {"runs": 1, "tasks": 1}
    assert begin_due_retention(now=NOW) == []
    trail = AuditEntry.objects.filter(action__startswith="retention").order_by("id").values_list("action", "after")
    assert list(trail)[-1] == ("retention.carried_out", {"runs": 1, "tasks": 1})


def test_a_pass_that_runs_out_of_time_is_taken_up_again() -> None:
    project = given.scripted_project("pieces", ANSWERS)
    aged(given.advanced_run(project), days=30)
    project = change_retention(project, DAYS, actor=Actor())
    ordered = order_retention(project, actor=Actor())
    carry_out_retention(ordered.pk, longest_s=0)
    assert Run.objects.exists()
    assert begin_due_retention(now=NOW) == [ordered.pk]
    carry_out_retention(ordered.pk)
    assert not Run.objects.exists()
