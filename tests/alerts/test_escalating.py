"""What waits longer than the goal: marked, told once, and not while somebody is at it."""

import json
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from reflection_app.alerts.escalating import escalate, escalate_due
from reflection_app.alerts.models import ChannelItem, Escalation
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.project_settings import WaitingSettings
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.review_figures import review_figures
from reflection_app.metrics.runs_behind import runs_behind_reviews
from reflection_app.reviews.claiming import claim_review, release_review
from reflection_app.reviews.goals import due_of
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, Run
from reflection_app.tasks.models import Task
from reflection_app.teams.models import Notification, NotificationKind
from reflection_app.teams.notifications import path_of, sentence_of
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import make_channel, service
from tests.alerts.test_sending import at_once
from tests.runs.questions import waiting_question

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]
NOW = datetime.now(UTC)


@pytest.fixture
def project() -> Project:
    return given.project("desk", waiting={"review_goal_minutes": 60, "question_goal_minutes": 30})


def since(row: Review | Question, *, minutes: float) -> None:
    type(row).objects.filter(pk=row.pk).update(created_at=NOW - timedelta(minutes=minutes))


def late_review(project: Project, *, minutes: float = 61) -> Review:
    review = given.waiting_review(project)
    since(review, minutes=minutes)
    return review


@pytest.mark.parametrize(
    ("goal", "waited", "expected"), [(None, 10_000, None), (60, 59, False), (60, 60, True), (60, 61, True)]
)
def test_a_thing_is_overdue_when_the_goal_has_passed(goal: int | None, waited: int, expected: bool | None) -> None:
    due = due_of(NOW - timedelta(minutes=waited), goal_minutes=goal, now=NOW)
    assert (due and due.is_overdue) == expected


def test_what_waits_too_long_is_told_once_to_the_channels_for_it_and_to_admins_and_curators(project: Project) -> None:
    told = {given.member(project, role) for role in (Role.CURATOR, Role.ADMIN)}
    given.member(project, Role.REVIEWER)
    with service() as slack:
        channel = make_channel(project, slack, topics=["escalation"])
        make_channel(project, slack, topics=["review"], name="another")
        late, question = late_review(project), waiting_question(project)
        since(question, minutes=31)
        given.waiting_review(project)
        assert escalate_due(NOW) == 2
        assert escalate_due(NOW + timedelta(minutes=30)) == 0
    items = ChannelItem.objects.filter(topic="escalation")
    assert set(items.values_list("channel", "about_id")) == {(channel.pk, late.pk), (channel.pk, question.pk)}
    notices = Notification.objects.filter(kind=NotificationKind.OVERDUE)
    assert {notice.user for notice in notices} == told
    paths = {path_of(notice) for notice in notices}
    assert paths == {f"/p/desk/reviews/{late.pk}/", f"/p/desk/questions/{question.pk}/"}
    assert notices.count() == 4


def test_many_things_are_told_to_people_in_one_notification(project: Project) -> None:
    given.member(project, Role.ADMIN)
    for minutes in (70, 80, 90):
        late_review(project, minutes=minutes)
    assert escalate_due(NOW) == 3
    notice = Notification.objects.get()
    assert sentence_of(notice).endswith("” and 2 others exceeded the project's SLA target.")
    assert path_of(notice) == "/p/desk/reviews/?sort=oldest"


@pytest.mark.parametrize("again", [False, True])
def test_it_escalates_again_after_another_length_of_the_goal_only_where_the_project_says_so(
    project: Project, again: bool
) -> None:
    project.waiting |= {"escalates_again": again}
    project.save()
    late_review(project)
    counts = [escalate_due(NOW + timedelta(minutes=minutes)) for minutes in (0, 59, 60, 61, 119, 120)]
    assert counts == ([1, 0, 1, 0, 0, 1] if again else [1, 0, 0, 0, 0, 0])
    assert list(Escalation.objects.order_by("number").values_list("number", flat=True)) == ([1, 2, 3] if again else [1])


def test_a_review_that_somebody_holds_does_not_escalate_before_the_lease_is_lost(project: Project) -> None:
    late = late_review(project)
    claimed = claim_review(late, actor=Actor(user=given.member(project)))
    assert claimed.lease_until is not None
    assert escalate_due(NOW) == 0
    assert escalate_due(claimed.lease_until) == 1
    assert escalate_due(claimed.lease_until) == 0


def test_a_review_that_was_given_back_escalates(project: Project) -> None:
    late, actor = late_review(project), Actor(user=given.member(project))
    claimed = claim_review(late, actor=actor)
    assert claimed.lease_token is not None
    release_review(claimed, lease_token=claimed.lease_token, actor=actor)
    assert escalate_due(NOW) == 1


def test_without_goals_nothing_escalates() -> None:
    late_review(given.project(), minutes=100_000)
    assert escalate_due(NOW) == 0


@pytest.mark.django_db(transaction=True)
def test_of_several_workers_at_once_one_escalates(project: Project) -> None:
    given.member(project, Role.ADMIN)
    late_review(project)
    assert sorted(at_once(4, lambda: escalate(project.pk, now=NOW))) == [0, 0, 0, 1]
    assert Notification.objects.count() == 1


def test_an_escalation_goes_with_its_run(project: Project) -> None:
    late = late_review(project)
    escalate_due(NOW)
    Task.objects.filter(runs=late.run_id).delete()
    assert not Run.objects.exists()
    assert not Escalation.objects.exists()


def test_the_metrics_count_what_is_overdue_now(project: Project) -> None:
    late = late_review(project)
    given.waiting_review(project)
    chosen = Chosen(since=NOW.date(), until=NOW.date(), scripted=True)
    figures: Any = review_figures(project.pk, chosen, now=NOW).figures
    assert (figures["overdue"].value, figures["queue_length"].value) == (1, 2)
    assert [run.pk for run in runs_behind_reviews(project.pk, chosen, "overdue")] == [late.run_id]


def test_a_time_zone_that_nobody_knows_is_none() -> None:
    assert WaitingSettings(time_zone="Asia/Shanghai").zone.key == "Asia/Shanghai"
    for name in ("Mars/Olympus", "../../etc/passwd", "", "Europe"):
        with pytest.raises(ValueError, match="time zone"):
            WaitingSettings.model_validate_json(json.dumps({"time_zone": name}))
