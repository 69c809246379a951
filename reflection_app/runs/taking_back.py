"""Taking a run back to the step at which it waited for a person: what came after is as if it had not been.

Rows of what followed go; counts and merged rows that it added to are set back; what its end had closed is open again.
Events are never removed, and what was spent stays on the run's totals: it was paid. Limits are counted from the steps
that are there, so what was taken back is not counted against them.
"""

from dataclasses import dataclass
from decimal import Decimal

from django.db.models import F, QuerySet, Sum
from django.utils import timezone

from reflection_app.core.events import EventType, add_event
from reflection_app.loops.effects import ChooseLoop, Generate, Route
from reflection_app.loops.ends import Outcome
from reflection_app.runs.best_so_far import best_of
from reflection_app.runs.first_attempt import settle_first_attempt
from reflection_app.runs.models.run import Run, RunState, Step, StepState
from reflection_app.runs.taking_back_proposals import Proposals
from reflection_app.runs.taking_back_reflectors import take_back_reflectors
from reflection_app.runs.taking_back_rows import (
    reopen_tickets,
    restore_reports,
    superseded_by,
    uncount_fixes,
    unmake_supplements,
)

RUN_FIELDS = (
    "state",
    "waiting_for",
    "outcome",
    "error",
    "finished_at",
    "lease_token",
    "lease_until",
    "not_before",
    "enqueued_at",
    "failures",
    "worker_deaths",
    "mode",
    "attempts_made",
    "best_attempt",
    "last_event_seq",
)


@dataclass(frozen=True)
class TakenBack:
    """What a run did since, and what that had cost."""

    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


def take_back_steps(run: Run, after: Step, *, since: int) -> TakenBack:
    """Sets the run back to waiting at `after`, whose result it forgets; the caller's transaction has locked `run`.

    `since` is the number of the event after which everything is taken back. A worker in the middle of a step finds its
    lease gone at its next write. Nothing is checked here: what must not be taken back is the caller's to refuse.
    """
    taken = _forget(run, after=after.seq, since=since)
    after.state, after.result, after.finished_at = StepState.WAITING, None, None
    run.state, run.waiting_for = RunState.WAITING_REVIEW, str(after.request["reason"])
    run.outcome, run.error, run.finished_at = None, "", None
    add_event(run, EventType.RUN_WAITING, step=after.seq, key=after.key, waiting_for=run.waiting_for)
    after.last_event_seq = run.last_event_seq
    after.save(update_fields=["state", "result", "finished_at", "last_event_seq"])
    _settle(run)
    return taken


def take_back_run(run: Run, *, why: str) -> TakenBack:
    """Ends a run that should not have begun as cancelled, without anything that followed from it."""
    taken = _forget(run, after=0, since=0)
    run.state, run.waiting_for = RunState.FINISHED, ""
    run.outcome, run.error, run.finished_at = Outcome.CANCELLED.value, why, timezone.now()
    add_event(run, EventType.RUN_FINISHED, outcome=run.outcome, best_attempt=None)
    _settle(run)
    return taken


def _forget(run: Run, *, after: int, since: int) -> TakenBack:
    take_back_reflectors(run)
    gone = Step.objects.filter(run=run, seq__gt=after)
    taken = _taken_back(gone.filter(is_inherited=False))
    kept = Step.objects.filter(run=run, seq__lte=after)
    proposals = Proposals.of(run, gone=gone, kept=kept)
    uncount_fixes(run, gone)
    unmake_supplements(run, gone)
    restore_reports(run, gone=gone, kept=kept)
    superseded = superseded_by(gone)
    gone.delete()
    reopen_tickets(run, superseded=superseded, since=since)
    proposals.withdraw()
    return taken


def _taken_back(gone: QuerySet[Step]) -> TakenBack:
    sums = gone.aggregate(tokens=Sum(F("prompt_tokens") + F("completion_tokens")), cost_usd=Sum("cost_usd"))
    return TakenBack(
        steps=gone.count(),
        calls=gone.filter(kind=Generate.kind, finished_at__isnull=False).count(),
        tokens=sums["tokens"] or 0,
        cost_usd=sums["cost_usd"] or Decimal(0),
    )


def _settle(run: Run) -> None:
    """Saves the run with its counts as the rows have them, held by nobody."""
    run.lease_token = run.lease_until = run.not_before = run.enqueued_at = None
    run.failures = run.worker_deaths = 0
    run.attempts_made = run.attempts.count()
    run.best_attempt_id = best_of(run).id
    chosen = Step.objects.filter(run=run, kind=ChooseLoop.kind, state=StepState.DONE).last()
    run.mode = Route.model_validate(chosen.result).mode.value if chosen else run.spec["mode"]
    run.save(update_fields=RUN_FIELDS)
    settle_first_attempt(run)
