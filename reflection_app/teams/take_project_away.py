"""Taking a deleted project's rows away, piece by piece; wherever it stops, the next look goes on.

The audit trail stays: its rows can be neither changed nor deleted, and tell who deleted the project.
"""

import time
from collections import Counter
from collections.abc import Callable, Iterator
from functools import partial
from typing import Any
from uuid import UUID

from django.apps import apps
from django.db import models, transaction

from notebook_app.public import forget_some
from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.errors import RunFinished
from reflection_app.core.models import Membership, Project
from reflection_app.runs.models import Run, RunState
from reflection_app.runs.resuming import cancel_run
from reflection_app.sessions.models import Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models.retention import RetentionRun
from reflection_app.teams.taking_away import PIECE, take_rows, take_tasks, take_transcripts, until_nothing_is_left

LONGEST_S = 600.0
SYSTEM = Actor()
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

    def go_on() -> bool:
        return time.monotonic() < ends

    taken: Counter[str] = Counter()
    for take in _takers(project):
        taken += until_nothing_is_left(take, go_on=go_on)
    if go_on():
        _take_the_rest(project, taken=taken)


def _takers(project: Project) -> Iterator[Callable[[], Counter[str]]]:
    yield partial(_cancel_some, project)
    # Sessions first, and the loops that reflected on them with them.
    yield partial(take_transcripts, project.pk, Transcript.objects.filter(project=project))
    yield partial(take_tasks, project.pk, Task.objects.filter(project=project))
    for name, rows in _others(project):
        yield partial(take_rows, rows, name=name)
    yield partial(forget_some, project.pk)


def _others(project: Project) -> Iterator[tuple[str, models.QuerySet[Any]]]:
    """The rows of every other table that belong to a project, also of such as are added to the code later."""
    apart = STAYING | {Transcript, Task, Membership, RetentionRun}
    for model in apps.get_app_config("reflection_app").get_models():
        for field in model._meta.concrete_fields:  # noqa: SLF001 - the documented way to ask a model for its fields
            if field.related_model is Project and model not in apart:
                yield model.__name__, models.QuerySet(model).filter(**{field.name: project})


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


@transaction.atomic
def _take_the_rest(project: Project, *, taken: Counter[str]) -> None:
    """The project itself and its members go last, with a line in the trail."""
    locked: Any = Project.objects.select_for_update().filter(pk=project.pk).first()
    if locked is None:
        return
    audit(locked.pk, SYSTEM, "project.taken_away", target=locked, after=dict(taken))
    locked.delete()
