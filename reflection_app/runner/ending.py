"""Ending a run: outcome, best attempt, and everything still open on it closed."""

from django.utils import timezone

from reflection_app.loops.ends import Ended
from reflection_app.loops.storable import storable
from reflection_app.models import (
    EventType,
    Run,
    RunState,
    Step,
    StepState,
    add_event,
)
from reflection_app.runner.best_so_far import best_of
from reflection_app.runner.first_attempt import settle_first_attempt
from reflection_app.runner.question_rows import withdraw_questions
from reflection_app.runner.reflector_rows import end_reflector
from reflection_app.runner.reflectors import begin_reflectors
from reflection_app.runner.review_rows import withdraw_reviews
from reflection_app.runner.ticket_rows import end_tickets


def end_run(run: Run, ended: Ended) -> None:
    """Ends `run`, which the caller's transaction has locked, keeping its best attempt.

    Late writes of a worker are refused from here on.
    """
    now = timezone.now()
    run.state, run.outcome, run.error = RunState.FINISHED, ended.outcome.value, storable(ended.error)
    run.finished_at, run.waiting_for = now, ""
    run.lease_token = run.lease_until = run.not_before = None
    run.best_attempt_id, best_number = best_of(run)
    Step.objects.filter(run=run, state__in=[StepState.STARTED, StepState.WAITING]).update(
        state=StepState.ABANDONED, finished_at=now, last_event_seq=run.last_event_seq + 1
    )
    withdraw_reviews(run)
    withdraw_questions(run)
    end_tickets(run, outcome=ended.outcome.value)
    add_event(run, EventType.RUN_FINISHED, outcome=ended.outcome.value, best_attempt=best_number)
    run.save()
    settle_first_attempt(run)
    end_reflector(run)
    begin_reflectors(run)
