"""Keeping up to which event somebody outside of the desk has seen a run: a decision that they know of is not undone.

Whoever shows a run to the outside calls one of these first: REST before it answers, webhooks before they send.
"""

from collections.abc import Iterable, Mapping, Sequence
from uuid import UUID

from django.db import connection

from reflection_app.core.models import Project
from reflection_app.runs.events import Event

# Up to the event that was seen of each run, the newest where that is null. Only where a decision is in force that
# nobody has seen, or the run was ordered by one; of others nothing is kept. Locked in one order: two who show the same
# runs would else wait for each other.
MARK = """
WITH news AS (
  SELECT run.id, COALESCE(seen.seq, last_event_seq) AS seq
  FROM reflection_app_run run JOIN unnest(%s::uuid[], %s::integer[]) seen (run_id, seq) ON run.id = seen.run_id
  WHERE project_id = %s AND told_seq < COALESCE(seen.seq, last_event_seq) AND (
    EXISTS (
      SELECT FROM reflection_app_review
      WHERE run_id = run.id AND state = 'decided' AND decided_seq > run.told_seq
        AND decided_seq <= COALESCE(seen.seq, run.last_event_seq)
    )
    OR told_seq = 0 AND EXISTS (SELECT FROM reflection_app_review WHERE ordered_run_id = run.id AND state = 'decided')
  )
  ORDER BY run.id FOR NO KEY UPDATE OF run
)
UPDATE reflection_app_run run SET told_seq = news.seq FROM news WHERE run.id = news.id
"""


def mark_seen(project: Project, runs: Iterable[UUID]) -> int:
    """Keeps that somebody outside knows all that happened to these runs so far; how many had news to show."""
    return _mark(project.pk, dict.fromkeys(runs))


def mark_events_seen(events: Sequence[Event]) -> int:
    """Keeps that somebody outside knows what happened up to these events of one project; for how many runs it was news.

    What came after an event is not in what they are told, however late it is sent.
    """
    newest: dict[UUID, int | None] = {event.run_id: event.seq for event in sorted(events, key=lambda one: one.seq)}
    return _mark(events[0].project_id, newest) if events else 0


def _mark(project_id: UUID, seqs: Mapping[UUID, int | None]) -> int:
    with connection.cursor() as cursor:
        cursor.execute(MARK, [list(seqs), list(seqs.values()), project_id])
        return int(cursor.rowcount)
