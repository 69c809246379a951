"""How long a project keeps things: what would be deleted, changing the rules, and deleting by them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import datetime, timedelta
from functools import partial
from typing import Any, NamedTuple
from uuid import UUID

from django.apps import apps
from django.db import models, transaction
from django.db.models import Exists, Model, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.public import forget_some
from reflection_app.alerts.models import Channel, ChannelMessage, MessageState
from reflection_app.comparisons.models import Pair
from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.errors import NotFound, RunFinished, wrong
from reflection_app.core.models import ApiKey, Membership, Project
from reflection_app.loops.project_settings import RetentionSettings
from reflection_app.metrics.figuring import figure_runs, lock_figures
from reflection_app.metrics.models import FigureDue
from reflection_app.repairs.models import ToolFailure
from reflection_app.reviews.models import OPEN, About, Comment, Review
from reflection_app.runs.models import Question, Run, RunState
from reflection_app.runs.queueing import TAKE_AWAY, WORK_RETENTION, ask
from reflection_app.runs.resuming import cancel_run
from reflection_app.sessions.models import AgentTrace, Reflector, Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models import (
    ABOUT_QUESTION,
    Delivery,
    DeliveryState,
    Invitation,
    Notification,
    RetentionRun,
    Webhook,
)
from reflection_app.teams.projects import save_settings

# What a project keeps longer than its retention says, as querysets; and what is old enough, but still waited for.
#
# Look-backs go with what they look back at, and the loop of a session goes with the session: they hold its words.


class Aged[M: Model](NamedTuple):
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


# Deleting a project: from the moment of it nobody reaches it any more; a worker takes its rows away.


@transaction.atomic
def delete_project(project: Project, *, typed_name: str, actor: Actor) -> Project:
    """The project, deleted. Its short name is free again, its keys, invitations and webhooks work no more.

    Raises InvalidInput where `typed_name` is not its name, and NotFound where it was deleted before.
    """
    if typed_name.strip() != project.name.strip():
        raise wrong("typed_name", _("Type the exact project name: %(name)s") % {"name": project.name})
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.deleted_at is not None:
        raise NotFound(_("The project was already deleted."))
    now, former = timezone.now(), locked.slug
    locked.deleted_at, locked.slug = now, f"deleted-{locked.pk.hex}"
    locked.save(update_fields=["deleted_at", "slug"])
    ApiKey.objects.filter(project=locked, revoked_at__isnull=True).update(revoked_at=now)
    Invitation.objects.filter(project=locked, revoked_at__isnull=True).update(revoked_at=now)
    # Else the runs that are cancelled next would be told to somebody for whom the project is gone.
    Webhook.objects.filter(project=locked).update(is_enabled=False)
    Channel.objects.filter(project=locked).update(is_enabled=False)
    audit(locked.pk, actor, "project.deleted", target=locked, before={"slug": former, "name": locked.name})
    transaction.on_commit(lambda: ask(TAKE_AWAY, locked.pk))
    return locked


# Taking rows away with all that hangs on them, a piece at a time: each piece is a transaction of its own.
#
# What is taken away is locked first, and looked at again: somebody may have asked for a review of it meanwhile.

# Small enough that nobody who needs one of its rows waits for long.
PIECE = 50
PIECE_OF_ROWS = 500


def take_tasks(project_id: UUID, due: QuerySet[Task], *, most: int = PIECE) -> Counter[str]:
    """How many tasks and runs of `due` were deleted; nothing where none is left."""
    with transaction.atomic():
        lock_figures(project_id)
        wanted = _locked(due, most)
        list(Run.objects.select_for_update(of=("self",)).filter(task__in=wanted).order_by("pk").values_list("pk"))
        still = list(due.filter(pk__in=wanted).values_list("pk", flat=True))
        return _delete_tasks(still)


def take_transcripts(project_id: UUID, due: QuerySet[Transcript], *, most: int = PIECE) -> Counter[str]:
    """How many sessions of `due` were deleted, with the loops that reflected on them and the traces they came from."""
    with transaction.atomic():
        lock_figures(project_id)
        wanted = _locked(due, most)
        still = list(due.filter(pk__in=wanted).values_list("pk", flat=True))
        loops = Task.objects.filter(runs__transcript__in=still).values_list("pk", flat=True)
        forks = Reflector.objects.filter(transcript__in=still).values_list("fork__task", flat=True)
        _delete_tasks([*loops, *forks])
        AgentTrace.objects.filter(transcript__in=still).delete()
        Transcript.objects.filter(pk__in=still).delete()
        return +Counter(sessions=len(still))


def take_rows(due: QuerySet[Any], *, name: str, most: int = PIECE_OF_ROWS) -> Counter[str]:
    """How many rows of `due` were deleted, told under `name`."""
    with transaction.atomic():
        wanted = _locked(due, most)
        due.filter(pk__in=wanted).delete()
        return +Counter({name: len(wanted)})


def until_nothing_is_left(take: Callable[[], Counter[str]], *, ends: float) -> Counter[str]:
    """Return what all pieces together took, until one finds nothing or the monotonic clock shows `ends`."""
    taken: Counter[str] = Counter()
    while time.monotonic() < ends and (piece := take()):
        taken += piece
    return taken


def _locked(due: QuerySet[Any], most: int) -> list[Any]:
    """The keys of some rows, which nobody else deletes at the same time."""
    rows: QuerySet[Model] = due.select_for_update(skip_locked=True, of=("self",)).order_by("pk")
    return list(rows.values_list("pk", flat=True)[:most])


def _delete_tasks(task_ids: list[UUID]) -> Counter[str]:
    runs = Run.objects.filter(task__in=task_ids)
    looking_back = list(Reflector.objects.filter(run__in=runs).values_list("fork__task", flat=True))
    every = [*task_ids, *looking_back]
    told = Counter(runs=runs.count(), tasks=len(task_ids))
    # What they count for in the metrics stays, so it has to be known first.
    gone_runs = Run.objects.filter(task__in=every).values_list("pk", flat=True)
    figure_runs(FigureDue.objects.filter(run_id__in=gone_runs).values_list("run_id", flat=True))
    for about, gone in (
        (About.RUN, Run.objects.filter(task__in=every).values_list("pk", flat=True)),
        (About.REVIEW, Review.objects.filter(run__task__in=every).values_list("pk", flat=True)),
    ):
        Comment.objects.filter(about=about, about_id__in=gone).delete()
        Notification.objects.filter(about=about, about_id__in=gone).delete()
    asked = Question.objects.filter(run__task__in=every).values_list("pk", flat=True)
    Notification.objects.filter(about=ABOUT_QUESTION, about_id__in=asked).delete()
    Task.objects.filter(pk__in=every).delete()
    return +told


# What is left then is taken up again by the next look, an hour later at most.
LONGEST_PASS_S = 600.0
SYSTEM = Actor()


class Kept(NamedTuple):
    """One kind of thing: how many rows are older than the rule says, and how many more of those must stay."""

    kind: str
    due: int = 0
    held: int = 0


# Of each kind of which no row waits for anybody: the setting that it goes by, what says how old a row is, and the rows.
PLAIN: dict[str, tuple[str, str, QuerySet[Any]]] = {
    # Failures and pairs of runs go with their runs.
    "tool_failures": ("tool_failures_days", "created_at", ToolFailure.objects.filter(run=None)),
    "pairs": ("runs_days", "created_at", Pair.objects.filter(attempt_a=None)),
    "deliveries": ("deliveries_days", "created_at", Delivery.objects.exclude(state=DeliveryState.WAITING)),
    "channel_messages": ("deliveries_days", "created_at", ChannelMessage.objects.exclude(state=MessageState.WAITING)),
    # The session that was made of a trace stays.
    "traces": ("traces_days", "last_span_at", AgentTrace.objects.all()),
    "notifications": ("notifications_days", "created_at", Notification.objects.all()),
}


def _aged_rows(project_id: UUID, settings: RetentionSettings, *, now: datetime) -> Iterator[tuple[str, QuerySet[Any]]]:
    for kind, (setting, column, rows) in PLAIN.items():
        if (days := getattr(settings, setting)) is not None:
            yield kind, rows.filter(project=project_id, **{f"{column}__lt": now - timedelta(days=days)})


def preview_retention(project: Project, settings: RetentionSettings, *, now: datetime) -> list[Kept]:
    """What these rules would delete now, kind by kind; nothing is changed."""
    found = []
    if (days := settings.runs_days) is not None:
        tasks = aged_tasks(project.pk, before=now - timedelta(days=days))
        runs = Run.objects.filter
        found.append(Kept("runs", runs(task__in=tasks.due).count(), runs(task__in=tasks.held).count()))
    if (days := settings.transcripts_days) is not None:
        sessions = aged_transcripts(project.pk, before=now - timedelta(days=days))
        found.append(Kept("sessions", sessions.due.count(), sessions.held.count()))
    found += [Kept(kind, rows.count()) for kind, rows in _aged_rows(project.pk, settings, now=now)]
    known = {kept.kind: kept for kept in found}
    return [known.get(kind, Kept(kind)) for kind in ("runs", "sessions", *PLAIN)]


def change_retention(project: Project, settings: RetentionSettings, *, actor: Actor) -> Project:
    """The project with its new rules; saving what holds already changes nothing. Nothing is deleted by it yet."""
    if project.get_retention() == settings:
        return project
    return save_settings(project, actor=actor, retention=settings.model_dump(mode="json"))


@transaction.atomic
def order_retention(project: Project, *, actor: Actor) -> RetentionRun:
    """A pass over the project by the rules that it has, for a worker; the one under way, where there is one."""
    Project.objects.select_for_update().get(pk=project.pk)
    under_way = RetentionRun.objects.filter(project=project, finished_at__isnull=True).first()
    if under_way is not None:
        return under_way
    ordered = RetentionRun.objects.create(project=project, by_label=actor.label)
    audit(project.pk, actor, "retention.ordered", target=ordered, after={"retention": project.retention})
    transaction.on_commit(lambda: ask(WORK_RETENTION, ordered.pk))
    return ordered


def begin_due_retention(*, now: datetime) -> list[UUID]:
    """The passes to carry out: those that nobody has ended, and new ones where something is older than it may be."""
    under_way = RetentionRun.objects.filter(project=OuterRef("pk"), finished_at__isnull=True)
    for project in Project.objects.filter(deleted_at__isnull=True).exclude(Exists(under_way)):
        if any(kept.due for kept in preview_retention(project, project.get_retention(), now=now)):
            order_retention(project, actor=SYSTEM)
    return list(RetentionRun.objects.filter(finished_at__isnull=True).values_list("pk", flat=True))


def carry_out_retention(retention_run_id: UUID, *, longest_s: float = LONGEST_PASS_S) -> None:
    """Deletes by the rules that the project has now, piece by piece. Carried out twice, it deletes once.

    What each piece took is added up with it, so a worker that dies half-way has counted what it took.
    """
    ordered = RetentionRun.objects.select_related("project").filter(pk=retention_run_id, finished_at=None).first()
    if ordered is None or ordered.project.deleted_at is not None:
        return
    now, ends = timezone.now(), time.monotonic() + longest_s
    settings = ordered.project.get_retention()
    for take in _takers(ordered.project_id, settings, now=now):
        until_nothing_is_left(partial(_counted, ordered.pk, take), ends=ends)
    if time.monotonic() >= ends:
        return
    with transaction.atomic():
        run = RetentionRun.objects.select_for_update().get(pk=ordered.pk)
        if run.finished_at is None:
            run.finished_at = timezone.now()
            run.save(update_fields=["finished_at"])
            audit(run.project_id, SYSTEM, "retention.carried_out", target=run, after=run.deleted)


def _takers(project_id: UUID, settings: RetentionSettings, *, now: datetime) -> Iterator[Callable[[], Counter[str]]]:
    if (days := settings.runs_days) is not None:
        yield partial(take_tasks, project_id, aged_tasks(project_id, before=now - timedelta(days=days)).due)
    if (days := settings.transcripts_days) is not None:
        yield partial(take_transcripts, project_id, aged_transcripts(project_id, before=now - timedelta(days=days)).due)
    for kind, rows in _aged_rows(project_id, settings, now=now):
        yield partial(take_rows, rows, name=kind)


@transaction.atomic
def _counted(retention_run_id: UUID, take: Callable[[], Counter[str]]) -> Counter[str]:
    """What one piece took, written down in the same transaction."""
    run = RetentionRun.objects.select_for_update().get(pk=retention_run_id)
    piece = take()
    if piece:
        run.deleted = dict(Counter(run.deleted) + piece)
        run.save(update_fields=["deleted"])
    return piece


# Taking a deleted project's rows away, piece by piece; wherever it stops, the next look goes on.
#
# The audit trail stays: its rows can be neither changed nor deleted, and tell who deleted the project.

LONGEST_S = 600.0
# Its rows can be neither changed nor deleted.
STAYING = frozenset({AuditEntry})


def deleted_projects() -> list[UUID]:
    """The projects that were deleted, and are still there in part."""
    return list(Project.objects.filter(deleted_at__isnull=False).values_list("pk", flat=True))


def take_project_away(project_id: UUID, *, longest_s: float = LONGEST_S) -> None:
    """Ends what runs in a deleted project, then takes everything of it away, for a while. Others are left alone."""
    project = Project.objects.filter(pk=project_id, deleted_at__isnull=False).first()
    if project is None:
        return
    ends = time.monotonic() + longest_s
    taken: Counter[str] = Counter()
    for take in _takers_of_project(project):
        taken += until_nothing_is_left(take, ends=ends)
    if time.monotonic() >= ends:
        return
    # The project itself and its members go last, with a line in the trail.
    with transaction.atomic():
        locked: Any = Project.objects.select_for_update().filter(pk=project.pk).first()
        if locked is not None:
            audit(locked.pk, SYSTEM, "project.taken_away", target=locked, after=dict(taken))
            locked.delete()


def _takers_of_project(project: Project) -> Iterator[Callable[[], Counter[str]]]:
    yield partial(_cancel_some, project)
    # Sessions first, and the loops that reflected on them with them.
    yield partial(take_transcripts, project.pk, Transcript.objects.filter(project=project))
    yield partial(take_tasks, project.pk, Task.objects.filter(project=project))
    # Every other table whose rows belong to a project, also such as are added to the code later.
    apart = STAYING | {Transcript, Task, Membership, RetentionRun}
    for model in apps.get_app_config("reflection_app").get_models():
        for field in model._meta.concrete_fields:  # noqa: SLF001 - the documented way to ask a model for its fields
            if field.related_model is Project and model not in apart:
                rows: models.QuerySet[Any] = models.QuerySet(model).filter(**{field.name: project})
                yield partial(take_rows, rows, name=model.__name__)
    yield partial(forget_some, project.pk)


def _cancel_some(project: Project) -> Counter[str]:
    """How many runs were ended; a worker that is at one finds its lease gone and stops."""
    running: models.QuerySet[Run] = Run.objects.filter(project=project).exclude(state=RunState.FINISHED)
    cancelled: Counter[str] = Counter()
    for run in running.order_by("pk")[:PIECE]:
        try:
            cancel_run(run, actor=SYSTEM)
        except RunFinished:
            continue
        cancelled["cancelled"] += 1
    return cancelled
