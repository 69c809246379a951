"""Keeping what somebody outside of the desk has been told of: a decision that they know of is not taken back.

Whoever tells the outside calls one of these first: REST before it answers, webhooks before they send.
"""

from collections.abc import Iterable, Sequence
from uuid import UUID

from django.db import connection
from django.db.models import Exists, OuterRef, Q, QuerySet

from reflection_app.models import Event, Project, Review, ReviewState, Run

# As `_could_be_undone` has it, and in its own words since almost every answer asks.
MARK = """
UPDATE reflection_app_run run SET told_seq = last_event_seq
WHERE project_id = %s AND id = ANY(%s) AND told_seq < last_event_seq AND (
  EXISTS (SELECT FROM reflection_app_review WHERE run_id = run.id AND state = 'decided' AND decided_seq > run.told_seq)
  OR told_seq = 0 AND EXISTS (SELECT FROM reflection_app_review WHERE ordered_run_id = run.id AND state = 'decided')
)
"""


def mark_told(project: Project, runs: Iterable[UUID]) -> int:
    """Keeps that somebody outside knows all that happened to these runs so far; how many had news to tell."""
    with connection.cursor() as cursor:
        cursor.execute(MARK, [project.pk, list(runs)])
        return int(cursor.rowcount)


def mark_events_told(events: Sequence[Event]) -> int:
    """Keeps that somebody outside knows what happened to runs up to these events; of how many that was news.

    What came after an event is not in what they are told, however late it is sent.
    """
    newest: dict[UUID, int] = {}
    for event in events:
        newest[event.run_id] = max(event.seq, newest.get(event.run_id, 0))
    decided = Review.objects.filter(state=ReviewState.DECIDED)
    # Most runs have no decision that could be taken back.
    concerned = set(decided.filter(run__in=newest).values_list("run_id", flat=True))
    concerned |= set(decided.filter(ordered_run__in=newest).values_list("ordered_run_id", flat=True)) - {None}
    told = 0
    for run_id in sorted(concerned):
        seq = newest[run_id]
        told += _could_be_undone(Q(decided_seq__lte=seq)).filter(pk=run_id, told_seq__lt=seq).update(told_seq=seq)
    return told


def _could_be_undone(which: Q) -> QuerySet[Run]:
    """The runs with such a decision in force that nobody was told of, or ordered by one; of others nothing is kept."""
    decided = Review.objects.filter(state=ReviewState.DECIDED)
    in_force = decided.filter(which, run=OuterRef("pk"), decided_seq__gt=OuterRef("told_seq"))
    ordering = decided.filter(ordered_run=OuterRef("pk"))
    return Run.objects.filter(Q(Exists(in_force)) | Q(Exists(ordering), told_seq=0))
