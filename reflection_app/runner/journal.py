"""A run's journal: what was performed is remembered, and performed once.

Each write is one transaction that first locks the run by its lease token, and writes steps, the rows that follow from
them and their events together. A result is written at the latest before the next effect begins: between the two there
is only the loop's own code, so one transaction serves both. Nothing here calls a model or the sandbox, and no
transaction outlives a method.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import F
from django.utils import timezone

from reflection_app.live.doorbell import ring
from reflection_app.loops.effects import AnyEffect, EffectFailed, EffectTimedOut, Generate, Performed, Spent
from reflection_app.models import Attempt, Event, EventType, Run, RunState, Step, StepState, next_event
from reflection_app.runner.lease import Lease, LeaseLost

RUN_FIELDS_OF_A_STEP = (
    "attempts_made",
    "best_attempt",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "llm_calls",
    "active_s",
    "failures",
    "error",
    "last_event_seq",
)

# What changes in a step once its row is there.
STEP_FIELDS_OF_A_CHANGE = (
    "state",
    "model",
    "result",
    "error",
    "timed_out",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "duration_s",
    "tries",
    "last_event_seq",
    "started_at",
    "finished_at",
)

Follow = Callable[[Run, Step], None]
Attempts = dict[int, Attempt]


class JournalMismatch(Exception):
    """The loop asked for something else than its journal holds: its code changed since the run began."""


@dataclass(frozen=True)
class Change:
    """A step as it is to be written, the event that tells of it, and what writes the rows that follow from it."""

    step: Step
    is_new: bool
    event: EventType
    payload: dict[str, Any]
    follow: Follow | None = None


class Journal:
    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        # Requests may be long, and replay does not read them.
        self.steps = {step.seq: step for step in Step.objects.filter(run_id=lease.run_id).defer("request")}
        self.attempts: Attempts = {}
        self.seq = 0
        self._unwritten: list[Change] = []

    @contextmanager
    def locked_run(self, *, durable: bool = True) -> Iterator[Run]:
        """The run, locked until the block's commit, with all that was unwritten written; the block has to save it.

        Raises LeaseLost where the lease is no longer ours. Without `durable` the commit does not wait for the disk:
        right for what may be lost with the machine.
        """
        # Taken first: changes that the database refuses are not tried a second time.
        changes, self._unwritten = self._unwritten, []
        with transaction.atomic():
            if not durable:
                with connection.cursor() as cursor:
                    cursor.execute("SET LOCAL synchronous_commit = off")
            locked = Run.objects.select_for_update().only("project_id", *RUN_FIELDS_OF_A_STEP)
            ours = locked.filter(pk=self.lease.run_id, lease_token=self.lease.token, state=RunState.RUNNING)
            run = next(iter(ours), None)
            if run is not None:
                _write(changes, run)
                yield run
                transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
        if run is None:
            for step in (change.step for change in changes if change.step.finished_at):
                charge_late(step)
            raise LeaseLost(str(self.lease.run_id))

    def recall(self, effect: AnyEffect) -> Performed[Any] | EffectFailed | None:
        """What the journal holds for the next effect: its result, its failure, or None where it is still to be done.

        Moves on to the next place. Raises JournalMismatch where the journal holds another effect there.
        """
        self.seq += 1
        step = self.steps.get(self.seq)
        if step is None:
            return None
        if (step.key, step.kind) != (effect.key, effect.kind):
            raise JournalMismatch(
                f"step {self.seq} is recorded as {step.key} ({step.kind}), and the loop now asks for "
                f"{effect.key} ({effect.kind}). The loop was changed since this run began; fork the run to go on."
            )
        if step.is_open:
            return None
        if step.state == StepState.DONE:
            return Performed(value=effect.results.validate_python(step.result), spent=spent_by(step))
        failure = EffectTimedOut if step.timed_out else EffectFailed
        return failure(step.error, spent=spent_by(step))

    def start(self, effect: AnyEffect, *, model: str = "") -> Step:
        """The step of `effect`, written as started; a step that a dead worker left open is started again."""
        step = self.steps.get(self.seq)
        if step is None:
            step = self._new_step(effect, model=model)
        else:
            step.tries += 1
            step.state, step.model, step.started_at = StepState.STARTED, model, timezone.now()
        self._change(step, EventType.STEP_STARTED)
        with self.locked_run(durable=any(change.step.finished_at for change in self._unwritten)) as run:
            run.save(update_fields=RUN_FIELDS_OF_A_STEP)
        return step

    def _new_step(self, effect: AnyEffect, *, model: str = "") -> Step:
        return Step(
            run_id=self.lease.run_id,
            seq=self.seq,
            key=effect.key,
            kind=effect.kind,
            role=effect.role if isinstance(effect, Generate) else "",
            attempt_number=attempt_of(effect),
            request=effect.model_dump(mode="json", exclude={"key"}),
            model=model,
            started_at=timezone.now(),
        )

    def complete(self, step: Step, effect: AnyEffect, performed: Performed[Any], *, follow: Follow) -> None:
        """Keeps the result and, by `follow`, every row that follows from it; written with what comes next."""
        step.state = StepState.DONE
        step.result = effect.results.dump_python(performed.value, mode="json")
        self._close(step, performed.spent, follow=follow)

    def note(self, effect: AnyEffect, value: Any, *, follow: Follow) -> Performed[Any]:
        """Keeps an effect that takes no time; its result as the loop gets it. Written with what comes next."""
        step = self._new_step(effect)
        performed: Performed[Any] = Performed(value=value)
        self.complete(step, effect, performed, follow=follow)
        return performed

    def fail(self, step: Step, failure: EffectFailed) -> None:
        """Keeps that the effect failed for good; written with what comes next."""
        step.state = StepState.FAILED
        step.error = str(failure)
        step.timed_out = isinstance(failure, EffectTimedOut)
        self._close(step, failure.spent)

    def _close(self, step: Step, spent: Spent, *, follow: Follow | None = None) -> None:
        step.finished_at = timezone.now()
        step.prompt_tokens, step.completion_tokens = spent.prompt_tokens, spent.completion_tokens
        step.cost_usd, step.duration_s = spent.cost_usd, spent.duration_s
        self._change(step, EventType.STEP_FINISHED, follow=follow, state=step.state)

    def _change(self, step: Step, event: EventType, *, follow: Follow | None = None, **payload: Any) -> None:
        payload = {"step": step.seq, "key": step.key, **payload}
        is_new = step.seq not in self.steps
        self._unwritten.append(Change(step=step, is_new=is_new, event=event, payload=payload, follow=follow))
        self.steps[step.seq] = step

    def suspend(self, effect: AnyEffect, *, state: RunState, waiting_for: str, follow: Follow) -> None:
        """Lets go of the run until somebody brings the result of `effect`."""
        known = self.steps.get(self.seq)
        step = known or self._new_step(effect)
        step.state = StepState.WAITING
        self._change(step, EventType.RUN_WAITING, follow=follow if known is None else None, waiting_for=waiting_for)
        with self.locked_run() as run:
            run.state, run.waiting_for = state, waiting_for
            run.lease_token = run.lease_until = None
            run.failures = 0
            run.save(update_fields=[*RUN_FIELDS_OF_A_STEP, "state", "waiting_for", "lease_token", "lease_until"])


def _write(changes: list[Change], run: Run) -> None:
    """Writes the changes in order, `run` charged and numbered by them.

    Rows that follow from a step may be written before the step's own: foreign keys are checked at the commit.
    """
    events: list[Event] = []
    for change in changes:
        events.append(next_event(run, change.event, **change.payload))
        change.step.last_event_seq = run.last_event_seq
        if change.step.finished_at:
            charge(run, change.step)
            run.failures, run.error = 0, ""
        if change.follow is not None:
            change.follow(run, change.step)
    Step.objects.bulk_create(change.step for change in changes if change.is_new)
    for change in changes:
        if not change.is_new:
            change.step.save(update_fields=STEP_FIELDS_OF_A_CHANGE)
    Event.objects.bulk_create(events)


def charge(run: Run, step: Step) -> None:
    """Adds what `step` used to its run's totals."""
    run.prompt_tokens += step.prompt_tokens
    run.completion_tokens += step.completion_tokens
    run.cost_usd += step.cost_usd
    run.active_s += step.duration_s
    run.llm_calls += step.kind == Generate.kind


def charge_late(step: Step) -> None:
    """Adds what a step used whose result came too late to be kept: it was paid for all the same."""
    Run.objects.filter(pk=step.run_id).update(
        prompt_tokens=F("prompt_tokens") + step.prompt_tokens,
        completion_tokens=F("completion_tokens") + step.completion_tokens,
        cost_usd=F("cost_usd") + step.cost_usd,
        llm_calls=F("llm_calls") + int(step.kind == Generate.kind),
    )


def spent_by(step: Step) -> Spent:
    return Spent(
        prompt_tokens=step.prompt_tokens,
        completion_tokens=step.completion_tokens,
        cost_usd=step.cost_usd,
        cost_known=step.cost_known,
        duration_s=step.duration_s,
    )


def attempt_of(effect: AnyEffect) -> int | None:
    """The number of the attempt that the effect is about, read from its fields or from its key."""
    judgement = getattr(effect, "judgement", None)
    number = judgement.attempt if judgement is not None else getattr(effect, "attempt", None)
    if number is None and effect.key.startswith("attempt-"):
        number = int(effect.key.removeprefix("attempt-").split("/", 1)[0])
    return number
