"""What a project keeps longer than its retention says, as querysets; and what is old enough, but still waited for.

Look-backs go with what they look back at, and the loop of a session goes with the session: they hold its words.
"""

from dataclasses import dataclass
from datetime import datetime
from uuid import UUID

from django.db.models import Exists, Model, OuterRef, Q, QuerySet

from reflection_app.repairs.models import ToolFailure
from reflection_app.reviews.models import OPEN, Review
from reflection_app.runs.models import Run, RunState
from reflection_app.sessions.models import AgentTrace, Reflector, Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models.notification import Notification
from reflection_app.teams.models.webhook import Delivery, DeliveryState


@dataclass(frozen=True)
class Aged[M: Model]:
    """What ended before a moment: what may be deleted, and what a person, an agent or a worker is still waited for."""

    due: QuerySet[M]
    held: QuerySet[M]


def aged_tasks(project_id: UUID, *, before: datetime) -> Aged[Task]:
    """Tasks of people and pipelines, with all their runs. The newest run to end tells how old a task is."""
    runs = Run.objects.filter(task=OuterRef("pk"))
    of_sessions = Exists(Transcript.objects.filter(run__task=OuterRef("pk")))
    looking_back = Exists(Reflector.objects.filter(fork__task=OuterRef("pk")))
    recent = Exists(runs.filter(finished_at__gte=before))
    tasks = Task.objects.filter(project=project_id, created_at__lt=before).exclude(of_sessions | looking_back | recent)
    waits = Q(Exists(runs.exclude(state=RunState.FINISHED)))
    waits |= Q(Exists(Review.objects.filter(run__task=OuterRef("pk"), state__in=OPEN)))
    waits |= Q(Exists(_looking_back(run__task=OuterRef("pk"))))
    return Aged(due=tasks.exclude(waits), held=tasks.filter(waits))


def aged_transcripts(project_id: UUID, *, before: datetime) -> Aged[Transcript]:
    """Sessions that have ended; what has not ended is never old."""
    sessions = Transcript.objects.filter(project=project_id, ended_at__lt=before)
    runs = Run.objects.filter(task__runs__transcript=OuterRef("pk"))
    waits = Q(Exists(runs.exclude(state=RunState.FINISHED)))
    waits |= Q(Exists(Review.objects.filter(run__task__runs__transcript=OuterRef("pk"), state__in=OPEN)))
    waits |= Q(Exists(_looking_back(transcript=OuterRef("pk"))))
    return Aged(due=sessions.exclude(waits), held=sessions.filter(waits))


def _looking_back(**at: object) -> QuerySet[Reflector]:
    return Reflector.objects.filter(**at).exclude(fork__state=RunState.FINISHED)


def aged_failures(project_id: UUID, *, before: datetime) -> QuerySet[ToolFailure]:
    """Failures that outside agents reported. Those of runs go with their runs."""
    return ToolFailure.objects.filter(project=project_id, run__isnull=True, created_at__lt=before)


def aged_deliveries(project_id: UUID, *, before: datetime) -> QuerySet[Delivery]:
    """Deliveries that have arrived or were given up."""
    return Delivery.objects.filter(project=project_id, created_at__lt=before).exclude(state=DeliveryState.WAITING)


def aged_traces(project_id: UUID, *, before: datetime) -> QuerySet[AgentTrace]:
    """Traces of which nothing more has come. The session that was made of one stays."""
    return AgentTrace.objects.filter(project=project_id, last_span_at__lt=before)


def aged_notifications(project_id: UUID, *, before: datetime) -> QuerySet[Notification]:
    return Notification.objects.filter(project=project_id, created_at__lt=before)
