"""Writing a journal: one transaction that locks the run by its lease, writes steps, what follows from them, and events.

What was answered was paid for, so a database that is away for a moment is waited for before anything is given up.
"""

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any
from uuid import UUID

from django.db import DataError, InterfaceError, OperationalError, connection, transaction
from django.db.models import F, QuerySet
from django.db.models.functions import Now

from notebook_app.public import compiled
from reflection_app.adapters.live import ring
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.effect import Spent
from reflection_app.runs.batch import Batch, RowGone
from reflection_app.runs.events import EventType, next_event
from reflection_app.runs.lease import Lease, LeaseLost
from reflection_app.runs.models import TROUBLES, Run, RunState, Step, StepState
from reflection_app.runs.queueing import enqueue

WAITS_S = (0.1, 0.5, 2.0)

COUNTED = ("prompt_tokens", "completion_tokens", "cost_usd", "cached_tokens", "reasoning_tokens")
RUN_FIELDS_OF_A_STEP = (
    *("mode", "attempts_made", "best_attempt", "llm_calls", "estimated_tokens", "unpriced_calls", "active_s"),
    *(*COUNTED, *TROUBLES, "error", "last_event_seq"),
)
# What the rows that follow from a step are made of besides.
READ_BESIDE = ("project", "parent", "is_scripted", "state")
# What changes in a step once its row is there.
STEP_FIELDS_OF_A_CHANGE = (
    *("state", "model", "result", "error", "timed_out", "cost_known", "is_estimated", "duration_s", "tries"),
    *(*COUNTED, "last_event_seq", "started_at", "finished_at"),
)

Follow = Callable[[Run, Step, Batch], None]


class Unstorable(Exception):
    """A result cannot be kept by the database; the step that it came from is kept as failed, with what it cost."""


@dataclass(frozen=True)
class Change:
    """A step as it is to be written, what it cost, the event that tells of it, and what writes the rows that follow."""

    step: Step
    is_new: bool
    event: EventType | None
    payload: dict[str, Any] = field(default_factory=dict)
    spent: Spent | None = None
    follow: Follow | None = None


def commit(lease: Lease, changes: list[Change], then: Callable[[Run], None], *, durable: bool = True) -> None:
    """Writes the changes, does `then` to the locked run (which has to save what else it changes), and commits.

    Raises LeaseLost where the lease is no longer ours, Unstorable where the database refuses a value, and what the
    database raised where it stays away. Without `durable` the commit does not wait for the disk.
    """
    for number, wait_s in enumerate((*WAITS_S, None)):
        try:
            # A commit may have been made although its answer was lost.
            if not (number and is_written(changes)):
                _commit_once(lease, changes, then, durable=durable)
            return
        except DataError as error:
            raise Unstorable(f"a result cannot be stored: {str(error).splitlines()[0]}") from error
        except (OperationalError, InterfaceError):
            connection.close()
            if wait_s is None:
                raise
            time.sleep(wait_s)


def _commit_once(lease: Lease, changes: list[Change], then: Callable[[Run], None], *, durable: bool) -> None:
    try:
        run = _write_leased(lease, changes, then, durable=durable)
    except RowGone:
        # A start does not wait for the disk, so a crash of PostgreSQL may have lost it: such a step is written as new.
        there = set(Step.objects.filter(pk__in=[change.step.pk for change in changes]).values_list("pk", flat=True))
        for change in changes:
            if change.step.pk not in there and "request" in change.step.get_deferred_fields():
                change.step.request = {}
        changes = [replace(change, is_new=change.is_new or change.step.pk not in there) for change in changes]
        run = _write_leased(lease, changes, then, durable=durable)
    if run is None:
        kept = offer(changes)
        for change in changes:
            # One whose commit was made, and its answer lost, was charged with it.
            if change is not kept and not is_written([change]):
                charge_late(change)
        raise LeaseLost(str(lease.run_id))


def _write_leased(lease: Lease, changes: list[Change], then: Callable[[Run], None], *, durable: bool) -> Run | None:
    with transaction.atomic():
        run = _leased.first(lease.run_id, lease.token)
        if run is not None:
            # It never changes, and the rows of attempts read it.
            run.spec = lease.run.spec
            _write(changes, run, durable=durable)
            then(run)
            transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    return run


def offer(changes: list[Change]) -> Change | None:
    """Keeps an answer that was paid for though its worker lost the lease, if nobody brought one before; which it is.

    The run is let go of to be claimed anew, also by who has it now and asks the same: of two answers the first counts.
    """
    first = changes[0] if changes else None
    if first is None or first.is_new or first.step.state != StepState.DONE:
        return None
    with transaction.atomic():
        run = _locked().filter(pk=first.step.run_id, state__in=(RunState.QUEUED, RunState.RUNNING)).first()
        # The same row: what was taken back, or asked for otherwise since, has another or none.
        row = Step.objects.filter(pk=first.step.pk, state=StepState.STARTED).values_list("tries", "duration_s").first()
        if run is None or row is None:
            return None
        begun, used_s = row
        first.step.tries = begun + (first.spent.tries - 1 if first.spent else 0)
        # Others may have tried meanwhile.
        first.step.duration_s = used_s + (first.spent.duration_s if first.spent else 0.0)
        _write([first], run)
        Run.objects.filter(pk=run.pk).update(
            state=RunState.QUEUED,
            lease_token=None,
            lease_until=None,
            not_before=None,
            waiting_for="",
            enqueued_at=Now(),
        )
        transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
        transaction.on_commit(lambda: enqueue(run))
    return first


def _locked() -> QuerySet[Run]:
    """Return runs, locked, with the columns that steps change."""
    return Run.objects.select_for_update().only(*READ_BESIDE, *RUN_FIELDS_OF_A_STEP)


@compiled
def _leased(run_id: UUID, token: UUID) -> QuerySet[Run]:
    return _locked().filter(pk=run_id, lease_token=token, state=RunState.RUNNING)


def _write(changes: list[Change], run: Run, *, durable: bool = True) -> None:
    """Writes the changes in order, and `run` charged and numbered by them."""
    batch = Batch()
    if not durable:
        batch.add("SET LOCAL synchronous_commit = off")
    for change in changes:
        step, event = change.step, None
        if change.event is not None:
            event = next_event(run, change.event, **change.payload)
        step.last_event_seq = run.last_event_seq
        if change.is_new:
            batch.insert(step)
        else:
            batch.update(step, fields=STEP_FIELDS_OF_A_CHANGE, must_be_there=True)
        if event is not None:
            batch.insert(event)
        if change.spent is not None:
            run.prompt_tokens += change.spent.prompt_tokens
            run.completion_tokens += change.spent.completion_tokens
            run.cost_usd += change.spent.cost_usd
            run.unpriced_calls += not change.spent.cost_known
            if change.spent.is_estimated:
                run.estimated_tokens += change.spent.tokens
            if change.spent.cached_tokens is not None:
                run.cached_tokens = (run.cached_tokens or 0) + change.spent.cached_tokens
            if change.spent.reasoning_tokens is not None:
                run.reasoning_tokens = (run.reasoning_tokens or 0) + change.spent.reasoning_tokens
            run.active_s += change.spent.duration_s
            run.llm_calls += step.kind == Generate.kind
        if step.finished_at:
            run.failures, run.asked_waits, run.worker_deaths, run.error = 0, 0, 0, ""
        if change.follow is not None:
            change.follow(run, step, batch)
    if changes:
        batch.update(run, fields=RUN_FIELDS_OF_A_STEP)
    batch.write()


def is_written(changes: list[Change]) -> bool:
    """Whether a commit of these very changes was made, told from the last of them."""
    if not changes:
        return False
    step = changes[-1].step
    compared = ("state", "tries", "started_at", "finished_at", "duration_s")
    return Step.objects.filter(pk=step.pk, **{name: getattr(step, name) for name in compared}).exists()


def salvaged(change: Change, *, error: str) -> Change:
    """The change without the values that the database refused: a finished step becomes a failed one."""
    step = change.step
    step.result, step.model, step.owes_notebook = None, "", False
    if change.is_new:
        step.request = {}
    if step.finished_at:
        step.state, step.error = StepState.FAILED, error
    return replace(change, follow=None)


def charge_late(change: Change) -> None:
    """Adds what a change cost that came too late to be kept: it was paid for all the same."""
    if change.spent is not None:
        Run.objects.filter(pk=change.step.run_id).update(
            prompt_tokens=F("prompt_tokens") + change.spent.prompt_tokens,
            completion_tokens=F("completion_tokens") + change.spent.completion_tokens,
            cost_usd=F("cost_usd") + change.spent.cost_usd,
            unpriced_calls=F("unpriced_calls") + int(not change.spent.cost_known),
            estimated_tokens=F("estimated_tokens") + (change.spent.tokens if change.spent.is_estimated else 0),
            llm_calls=F("llm_calls") + int(change.step.kind == Generate.kind),
        )
