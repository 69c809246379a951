"""Taking rows away with all that hangs on them, a piece at a time: each piece is a transaction of its own.

What is taken away is locked first, and looked at again: somebody may have asked for a review of it meanwhile.
"""

from collections import Counter
from collections.abc import Callable
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Model, QuerySet

from reflection_app.metrics.figuring import figure_runs, lock_figures
from reflection_app.metrics.models import FigureDue
from reflection_app.reviews.models import About, Comment, Review
from reflection_app.runs.models import Run
from reflection_app.sessions.models import AgentTrace, Reflector, Transcript
from reflection_app.tasks.models import Task
from reflection_app.teams.models.notification import Notification

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


def until_nothing_is_left(take: Callable[[], Counter[str]], *, go_on: Callable[[], bool]) -> Counter[str]:
    """What all pieces together took, until one finds nothing or `go_on` says that it is enough for now."""
    taken: Counter[str] = Counter()
    while go_on() and (piece := take()):
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
    Task.objects.filter(pk__in=every).delete()
    return +told
