"""What has waited longer than its goal is told once: to the channels for it, and to admins and curators.

The goal is that of a review's queue, else the project's.
A review that somebody holds and keeps alive waits for nobody else, and does not escalate before the lease is lost.
"""

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from reflection_app.alerts.digests import day_due
from reflection_app.alerts.models import Channel, ChannelItem, Escalation, Topic
from reflection_app.core.audit import Actor
from reflection_app.core.models import Digest, Membership, Project, Role
from reflection_app.loops.project_settings import WaitingSettings
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.claiming import free
from reflection_app.reviews.goals import review_goals
from reflection_app.reviews.models import About, Review
from reflection_app.runs.models import Question, QuestionState
from reflection_app.teams.models import ABOUT_QUESTION, NotificationKind
from reflection_app.teams.notifications import notify

# In one go of one project, of reviews and of questions; the rest comes with the next look.
MOST_AT_ONCE = 500
TOLD = (Role.CURATOR, Role.ADMIN)


def escalate_due(now: datetime | None = None) -> int:
    """Escalates all that is due on this desk; how much that was."""
    now = now or timezone.now()
    with_goals = Q(waiting__review_goal_minutes__gt=0) | Q(waiting__question_goal_minutes__gt=0)
    queues = ReviewQueue.objects.filter(project=OuterRef("pk"), goal_minutes__isnull=False, deleted_at=None)
    with_goals |= Q(Exists(queues))
    projects = Project.objects.filter(with_goals, deleted_at=None).values_list("pk", flat=True)
    return sum(escalate(project_id, now=now) for project_id in projects)


@transaction.atomic
def escalate(project_id: UUID, *, now: datetime) -> int:
    """Escalates what is due in the project; how much that was. Of two workers at once, one does it."""
    projects = Project.objects.select_for_update(no_key=True, skip_locked=True)
    project = projects.filter(pk=project_id, deleted_at=None).first()
    if project is None:
        return 0
    goals = project.get_waiting()
    reviews = Review.objects.filter(free(now), project=project).select_related("run__task")
    reviews = reviews.defer("run__spec", "run__task__tests")
    waiting: list[tuple[int, str, QuerySet[Any]]] = [
        (goal, "review", reviews.filter(of)) for goal, of in review_goals(project)
    ]
    if goals.question_goal_minutes is not None:
        questions = Question.objects.filter(project=project, state=QuestionState.OPEN)
        waiting.append((goals.question_goal_minutes, "question", questions))
    escalated = 0
    for goal, about, rows in waiting:
        late = [
            Escalation(project=project, number=number + 1, goal_minutes=goal, created_at=now, **{about: one})
            for one, number in _due(rows, goals, goal_minutes=goal, now=now)
        ]
        escalated += _tell(project, late)
    return escalated


def _due(rows: QuerySet[Any], goals: WaitingSettings, *, goal_minutes: int, now: datetime) -> Sequence[tuple[Any, int]]:
    """The rows to escalate now, the oldest first, each with how often it was escalated before."""
    due = rows.annotate(last=Max("escalations__created_at"), number=Max("escalations__number"))
    due = due.filter(_is_due(goals, goal_minutes=goal_minutes, now=now)).order_by("created_at", "id")
    return [(one, one.number or 0) for one in due[:MOST_AT_ONCE]]


def _is_due(goals: WaitingSettings, *, goal_minutes: int, now: datetime) -> Q:
    before = now - timedelta(minutes=goal_minutes)
    again = Q(last__lte=before) if goals.escalates_again else Q()
    return Q(created_at__lte=before) & (Q(last=None) | again if goals.escalates_again else Q(last=None))


def _tell(project: Project, rows: Sequence[Escalation]) -> int:
    """Writes the escalations with what is told of them; how many."""
    if not rows:
        return 0
    Escalation.objects.bulk_create(rows)
    channels = Channel.objects.filter(project=project, is_enabled=True, topics__contains=[Topic.ESCALATION.value])
    items = [
        ChannelItem(
            channel=channel, project=project, topic=Topic.ESCALATION.value, about_id=row.review_id or row.question_id
        )
        for channel in channels
        for row in rows
    ]
    ChannelItem.objects.bulk_create(items)
    about, about_id, title = _named(rows[0])
    curators = Membership.objects.filter(project=project, role__in=TOLD)
    notify(
        NotificationKind.OVERDUE,
        users=list(curators.values_list("user", flat=True)),
        project_id=project.pk,
        about=about,
        about_id=about_id,
        actor=Actor(),
        title=title,
        others=len(rows) - 1,
    )
    return len(rows)


def _named(escalation: Escalation) -> tuple[str, UUID, str]:
    """What it is about, as notifications name it."""
    if escalation.review is not None:
        return About.REVIEW.value, escalation.review.pk, escalation.review.run.task.title
    assert escalation.question is not None
    return ABOUT_QUESTION, escalation.question.pk, escalation.question.text


def begin_channel_digests(now: datetime | None = None) -> int:
    """Has the channels told of the digests that are due; how many. Asked again, it does nothing more that day."""
    now = now or timezone.now()
    wanting = Q(topics__contains=[Topic.DAILY.value]) | Q(topics__contains=[Topic.WEEKLY.value])
    channels = Channel.objects.filter(wanting, is_enabled=True, project__deleted_at=None).select_related("project")
    begun = 0
    for channel in channels:
        for period in Digest:
            day = day_due(channel.project, period, now=now)
            if day is not None and period.value in channel.topics:
                item = ChannelItem(channel=channel, project_id=channel.project_id, topic=period.value, day=day)
                begun += len(ChannelItem.objects.bulk_create([item], ignore_conflicts=True))
    return begun
