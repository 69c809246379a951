"""How long a project keeps things: what would be deleted, changing the rules, and deleting by them."""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from reflection_app.core.audit import Actor, audit
from reflection_app.core.models import Project
from reflection_app.loops.retention_settings import RetentionSettings
from reflection_app.runs.jobs import enqueue_retention
from reflection_app.runs.models import Run
from reflection_app.teams.due_for_deletion import (
    aged_deliveries,
    aged_failures,
    aged_notifications,
    aged_tasks,
    aged_traces,
    aged_transcripts,
)
from reflection_app.teams.models.retention import RetentionRun
from reflection_app.teams.taking_away import take_rows, take_tasks, take_transcripts, until_nothing_is_left

# What is left then is taken up again by the next look, an hour later at most.
LONGEST_PASS_S = 600.0
SYSTEM = Actor()


@dataclass(frozen=True)
class Kept:
    """One kind of thing: `days` it is kept (None: for ever), how many are older, and how many of those must stay."""

    kind: str
    days: int | None
    due: int = 0
    held: int = 0


def preview_retention(project: Project, settings: RetentionSettings, *, now: datetime) -> list[Kept]:
    """What these rules would delete now, kind by kind; nothing is changed."""
    return list(_previewed(project.pk, settings, now=now))


def _previewed(project_id: UUID, settings: RetentionSettings, *, now: datetime) -> Iterator[Kept]:
    if (days := settings.runs_days) is None:
        yield Kept("runs", None)
    else:
        tasks = aged_tasks(project_id, before=now - timedelta(days=days))
        runs = Run.objects.filter
        yield Kept("runs", days, runs(task__in=tasks.due).count(), runs(task__in=tasks.held).count())
    if (days := settings.transcripts_days) is None:
        yield Kept("sessions", None)
    else:
        sessions = aged_transcripts(project_id, before=now - timedelta(days=days))
        yield Kept("sessions", days, sessions.due.count(), sessions.held.count())
    for kind, days, rows in _plain(settings):
        due = rows(project_id, before=now - timedelta(days=days)).count() if days is not None else 0
        yield Kept(kind, days, due)


def _plain(settings: RetentionSettings) -> Iterator[tuple[str, int | None, Callable[..., QuerySet[Any]]]]:
    """The kinds of which no row waits for anybody."""
    yield "tool_failures", settings.tool_failures_days, aged_failures
    yield "deliveries", settings.deliveries_days, aged_deliveries
    yield "traces", settings.traces_days, aged_traces
    yield "notifications", settings.notifications_days, aged_notifications


@transaction.atomic
def change_retention(project: Project, settings: RetentionSettings, *, actor: Actor) -> Project:
    """The project with its new rules; saving what holds already changes nothing. Nothing is deleted by it yet."""
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.get_retention() == settings:
        return locked
    before, locked.retention = locked.get_retention(), settings.model_dump(mode="json")
    locked.save(update_fields=["retention"])
    audit(
        locked.pk,
        actor,
        "settings.changed",
        target=locked,
        before={"retention": before.model_dump(mode="json")},
        after={"retention": locked.retention},
    )
    return locked


@transaction.atomic
def order_retention(project: Project, *, actor: Actor) -> RetentionRun:
    """A pass over the project by the rules that it has, for a worker; the one under way, where there is one."""
    Project.objects.select_for_update().get(pk=project.pk)
    under_way = RetentionRun.objects.filter(project=project, finished_at__isnull=True).first()
    if under_way is not None:
        return under_way
    ordered = RetentionRun.objects.create(project=project, by_label=actor.label)
    audit(project.pk, actor, "retention.ordered", target=ordered, after={"retention": project.retention})
    transaction.on_commit(lambda: enqueue_retention(ordered.pk))
    return ordered


def begin_due_retention(*, now: datetime) -> list[UUID]:
    """The passes to carry out: those that nobody has ended, and new ones where something is older than it may be."""
    under_way = RetentionRun.objects.filter(project=OuterRef("pk"), finished_at__isnull=True)
    for project in Project.objects.filter(deleted_at__isnull=True).exclude(Exists(under_way)):
        if any(kept.due for kept in _previewed(project.pk, project.get_retention(), now=now)):
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

    def go_on() -> bool:
        return time.monotonic() < ends

    for take in _takers(ordered.project_id, settings, now=now):
        until_nothing_is_left(partial(_counted, ordered.pk, take), go_on=go_on)
    if go_on():
        _end(ordered.pk)


def _takers(project_id: UUID, settings: RetentionSettings, *, now: datetime) -> Iterator[Callable[[], Counter[str]]]:
    if (days := settings.runs_days) is not None:
        yield partial(take_tasks, project_id, aged_tasks(project_id, before=now - timedelta(days=days)).due)
    if (days := settings.transcripts_days) is not None:
        yield partial(take_transcripts, project_id, aged_transcripts(project_id, before=now - timedelta(days=days)).due)
    for kind, days, rows in _plain(settings):
        if days is not None:
            yield partial(take_rows, rows(project_id, before=now - timedelta(days=days)), name=kind)


@transaction.atomic
def _counted(retention_run_id: UUID, take: Callable[[], Counter[str]]) -> Counter[str]:
    """What one piece took, written down in the same transaction."""
    run = RetentionRun.objects.select_for_update().get(pk=retention_run_id)
    piece = take()
    if piece:
        run.deleted = dict(Counter(run.deleted) + piece)
        run.save(update_fields=["deleted"])
    return piece


@transaction.atomic
def _end(retention_run_id: UUID) -> None:
    run = RetentionRun.objects.select_for_update().get(pk=retention_run_id)
    if run.finished_at is None:
        run.finished_at = timezone.now()
        run.save(update_fields=["finished_at"])
        audit(run.project_id, SYSTEM, "retention.carried_out", target=run, after=run.deleted)
