"""Ending a run: outcome, best attempt, and everything still open on it closed."""

from django.utils import timezone

from reflection_app.loops.ends import Ended, Outcome
from reflection_app.models import (
    Attempt,
    EventType,
    Review,
    ReviewState,
    Run,
    RunState,
    Step,
    StepState,
    add_event,
)
from reflection_app.runner.best_so_far import best_of


def end_run(run: Run, ended: Ended) -> None:
    """Ends `run`, which the caller's transaction has locked. Late writes of a worker are refused from here on."""
    now = timezone.now()
    run.state, run.outcome, run.error = RunState.FINISHED, ended.outcome.value, ended.error
    run.finished_at, run.waiting_for = now, ""
    run.lease_token = run.lease_until = run.not_before = None
    if ended.best_attempt is not None:
        run.best_attempt = Attempt.objects.get(run=run, number=ended.best_attempt)
    Step.objects.filter(run=run, state__in=[StepState.STARTED, StepState.WAITING]).update(
        state=StepState.ABANDONED, finished_at=now, last_event_seq=run.last_event_seq + 1
    )
    Review.objects.filter(run=run, holds_run=True, state__in=[ReviewState.WAITING, ReviewState.CLAIMED]).update(
        state=ReviewState.WITHDRAWN, lease_token=None, lease_until=None
    )
    add_event(run, EventType.RUN_FINISHED, outcome=ended.outcome.value, best_attempt=ended.best_attempt)
    run.save()


def end_early(run: Run, outcome: Outcome, *, error: str = "") -> None:
    """Ends a locked run that its loop did not bring to an end, keeping the best attempt so far."""
    best = best_of(run)
    end_run(run, Ended(outcome=outcome, best_attempt=best.number if best else None, error=error))
