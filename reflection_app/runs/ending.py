"""Ending a run: outcome, best attempt, and everything still open on it closed."""

from django.db import transaction
from django.utils import timezone

from reflection_app.adapters.doorbell import ring_reviews
from reflection_app.core.events import EventType, next_event
from reflection_app.loops.ends import Ended
from reflection_app.loops.storable import storable
from reflection_app.repairs.ticket_rows import end_tickets
from reflection_app.runs.batch import Batch
from reflection_app.runs.best_so_far import best_of
from reflection_app.runs.enqueuing import look_back_soon
from reflection_app.runs.first_attempt import settle_first_attempt
from reflection_app.runs.models.run import Run, RunState
from reflection_app.sessions.models.reflector import LookBackDue
from reflection_app.sessions.reflector_rows import end_reflector
from reflection_app.sessions.reflectors import may_be_looked_back_at

RUN_FIELDS = (
    "state",
    "outcome",
    "error",
    "finished_at",
    "waiting_for",
    "lease_token",
    "lease_until",
    "not_before",
    "best_attempt",
    "failures",
    "worker_deaths",
    "last_event_seq",
)
# What the run still did or waited for. Audits stay: they do not hold it.
ABANDON_STEPS = """
UPDATE reflection_app_step SET state = 'abandoned', finished_at = %s, last_event_seq = %s
WHERE run_id = %s AND state IN ('started', 'waiting')
"""
WITHDRAW_REVIEWS = """
UPDATE reflection_app_review SET state = 'withdrawn', lease_token = NULL, lease_until = NULL
WHERE run_id = %s AND holds_run AND state IN ('waiting', 'claimed')
"""
WITHDRAW_PANELS = """
UPDATE reflection_app_panel SET state = 'withdrawn' WHERE run_id = %s AND holds_run AND state IN ('open', 'disputed')
"""
WITHDRAW_QUESTIONS = "UPDATE reflection_app_question SET state = 'withdrawn' WHERE run_id = %s AND state = 'open'"


def end_run(run: Run, ended: Ended) -> None:
    """Ends `run`, which the caller's transaction has locked, keeping its best attempt.

    Late writes of a worker are refused from here on.
    """
    now = timezone.now()
    run.state, run.outcome, run.error = RunState.FINISHED, ended.outcome.value, storable(ended.error)
    run.finished_at, run.waiting_for = now, ""
    run.lease_token = run.lease_until = run.not_before = None
    run.best_attempt_id, best_number = best_of(run)
    batch = Batch()
    batch.add(ABANDON_STEPS, now, run.last_event_seq + 1, run.pk)
    for withdrawing in (WITHDRAW_REVIEWS, WITHDRAW_PANELS, WITHDRAW_QUESTIONS):
        batch.add(withdrawing, run.pk)
    end_tickets(run, batch, outcome=ended.outcome.value)
    batch.insert(next_event(run, EventType.RUN_FINISHED, outcome=ended.outcome.value, best_attempt=best_number))
    batch.update(run, fields=RUN_FIELDS)
    if may_be_looked_back_at(run):
        batch.insert(LookBackDue(run_id=run.pk))
        transaction.on_commit(look_back_soon)
    batch.write()
    transaction.on_commit(lambda: ring_reviews(run.project_id))
    settle_first_attempt(run)
    end_reflector(run)
