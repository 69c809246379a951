"""Moving a run on: replay its loop against the journal, perform what is new, until it ends or has to wait."""

import logging
from datetime import timedelta
from functools import partial
from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import transaction
from django.utils import timezone

from desk_sandbox import queued_for_memory
from reflection_app.adapters.live import ring_reviews
from reflection_app.core.connections import released
from reflection_app.loops.attempt_effects import AwaitAttempt, Generate
from reflection_app.loops.catalogue import run_loop, version_of
from reflection_app.loops.effect import EffectFailed, Performed
from reflection_app.loops.effects import AnyEffect, Performing, Waiting
from reflection_app.loops.storable import storable
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.values import Message
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.repairs.rows import end_tickets
from reflection_app.runs.batch import Batch
from reflection_app.runs.consequences import best_of, has_for_notebook, write_to_notebook
from reflection_app.runs.events import EventType, add_event, next_event
from reflection_app.runs.following import consequences
from reflection_app.runs.journal import LONGEST_ERROR, Journal, JournalMismatch
from reflection_app.runs.journal_writes import Unstorable
from reflection_app.runs.lease import Lease, LeaseLost, claim, due_in_s, keeper
from reflection_app.runs.lessons import settled_first_attempt
from reflection_app.runs.models import HELD_BY, TROUBLES, Run, RunState
from reflection_app.runs.performing import TryLater, model_of, perform, value_of, wait_for
from reflection_app.runs.spool import find as find_spooled
from reflection_app.sessions.models import LookBackDue
from reflection_app.sessions.reflectors import is_due_after
from reflection_app.sessions.rows import end_reflector

# Ending a run: outcome, best attempt, and everything still open on it closed.

RUN_FIELDS = (
    *("state", "outcome", "error", "finished_at", "waiting_for", "not_before", "best_attempt", "last_event_seq"),
    *(*HELD_BY, *TROUBLES),
)
PUT_BACK_FIELDS = (
    *("state", "error", "waiting_for", "not_before", "enqueued_at", "asked_waits", "asked_wait_s", "failures"),
    *("lease_token", "lease_until", "last_event_seq"),
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
    best = best_of(run)
    run.best_attempt_id = best.id
    edited = {"edited": True} if best.is_edited else {}
    batch = Batch()
    batch.add(ABANDON_STEPS, now, run.last_event_seq + 1, run.pk)
    for withdrawing in (WITHDRAW_REVIEWS, WITHDRAW_PANELS, WITHDRAW_QUESTIONS):
        batch.add(withdrawing, run.pk)
    end_tickets(run, batch, outcome=ended.outcome.value)
    told = {"outcome": ended.outcome.value, "best_attempt": best.number} | edited
    batch.insert(next_event(run, EventType.RUN_FINISHED, **told))
    batch.update(run, fields=RUN_FIELDS)
    if is_due_after(run):
        batch.insert(LookBackDue(run_id=run.pk))
    settling, values = settled_first_attempt(run, best.first_verdicts, kept=best.number)
    batch.add(settling, *values)
    batch.write()
    transaction.on_commit(lambda: ring_reviews(run.project_id))
    end_reflector(run)


log = logging.getLogger(__name__)

MOST_FAILURES = 3
# A provider that asks for patience is alive: it is asked again as often as within a call.
MOST_ASKED_WAITS = 8
LONGEST_RETRY_DELAY_S = 900.0
PROVIDER_ASKED = "as the model's provider asked"

Result = Performed[Any] | EffectFailed


@released()
def advance(run_id: UUID) -> float | None:
    """Moves the run on as far as it goes. Does nothing where another worker has it or it is not queued.

    Returns after how many seconds the run wants to be tried again, or None where it does not.
    """
    try:
        lease = claim(run_id)
        if lease is None:
            return due_in_s(run_id)
        with keeper.keep(lease):
            return _advance_leased(lease)
    except LeaseLost:
        log.info("run %s was taken over or ended from outside", run_id)
        return None


def advance_inside(run_id: UUID) -> None:
    """Move a queued run on within the caller's transaction. For models that answer at once: its rows stay locked."""
    lease = claim(run_id)
    if lease is not None:
        _advance_leased(lease)


def _advance_leased(lease: Lease) -> float | None:
    journal = Journal(lease)
    try:
        mode, began_under = Mode(lease.run.spec["mode"]), lease.run.loop_version
        if began_under != version_of(mode):
            raise JournalMismatch(
                f"this run began under version {began_under} of its loop ({mode.value}), and this is version "
                f"{version_of(mode)}; fork the run to go on."
            )
        ended = _drive(journal, lease.run.get_spec(), edited_prompts=lease.run.edited_prompts)
        if ended is not None:
            journal.commit(lambda run: end_run(run, ended))
    except LeaseLost:
        raise
    except (JournalMismatch, Unstorable) as error:
        failed = Ended(outcome=Outcome.FAILED, error=str(error))
        journal.commit(lambda run: end_run(run, failed))
    except TryLater as error:
        return _retry_later(journal, str(error), after_s=error.after_s)
    except Exception as error:  # whatever went wrong, the run is tried again or ends with the error; it never hangs
        log.exception("run %s could not be advanced", lease.run_id)
        return _retry_later(journal, f"{type(error).__name__}: {error}")
    return journal.wakes_after_s


def _drive(journal: Journal, spec: TaskSpec, *, edited_prompts: dict[str, Any]) -> Ended | None:
    """Runs the loop until it ends, or has to wait (None)."""
    loop = run_loop(spec)
    resume = partial(loop.send, None)
    try:
        while True:
            try:
                effect = resume()
            except StopIteration as stop:
                journal.check_it_is_used_up()
                ended: Ended = stop.value
                return ended
            result = _result_of(with_edited_prompt(effect, edited_prompts), journal=journal, spec=spec)
            if result is None:
                return None
            resume = partial(loop.throw, result) if isinstance(result, EffectFailed) else partial(loop.send, result)
    finally:
        loop.close()


def with_edited_prompt(effect: AnyEffect, edited_prompts: dict[str, Any]) -> AnyEffect:
    """The effect with the messages that a person wrote for it when this run was forked, where there are any.

    The words are a person's to edit. What was to be looked at goes along with the last of them as it was.
    """
    written = edited_prompts.get(effect.key)
    if written is None or not isinstance(effect, Generate | AwaitAttempt):
        return effect
    messages = [Message.model_validate(message) for message in written]
    pictures = tuple(one for message in effect.messages for one in message.pictures)
    if pictures:
        asked = [place for place, message in enumerate(messages) if message.role == "user"]
        place = asked[-1] if asked else len(messages) - 1
        messages[place] = messages[place].model_copy(update={"pictures": pictures})
    return effect.model_copy(update={"messages": tuple(messages)})


def _result_of(effect: AnyEffect, *, journal: Journal, spec: TaskSpec) -> Result | None:
    """The effect's result, from the journal or fresh; None where the run has to wait for it."""
    recalled = journal.recall(effect)
    if recalled is not None:
        write_to_notebook(effect, journal=journal)
        return recalled
    if isinstance(effect, Performing):
        return _perform(effect, journal=journal, spec=spec)
    if isinstance(effect, Waiting):
        follow = consequences(effect, attempts=journal.attempts, judgements=journal.judgements)
        return wait_for(effect, journal=journal, follow=follow)
    value = value_of(effect, run_id=journal.lease.run_id)
    follow = consequences(effect, value, attempts=journal.attempts, judgements=journal.judgements)
    noted = journal.note(effect, value, follow=follow, owes_notebook=has_for_notebook(effect, value))
    write_to_notebook(effect, journal=journal)
    return noted


def _perform(effect: Performing, *, journal: Journal, spec: TaskSpec) -> Result:
    if (found := find_spooled(effect, run_id=journal.lease.run_id, seq=journal.seq)) is not None:
        value = found.performed.value
        follow = consequences(effect, value, attempts=journal.attempts, judgements=journal.judgements)
        return journal.adopt(effect, found, follow=follow)
    model, failure = "", None
    try:
        model = model_of(effect, spec=spec)
    except EffectFailed as error:
        failure = error
    step = journal.start(effect, model=model)
    try:
        if failure is None:
            # The run keeps its lease while it waits: the keeper renews it.
            with queued_for_memory():
                performed = perform(
                    effect,
                    run=journal.lease.run,
                    model=model,
                    seq=step.seq,
                    tries=step.tries,
                    used_s=step.duration_s,
                )
            follow = consequences(effect, performed.value, attempts=journal.attempts, judgements=journal.judgements)
            return journal.answered(step, effect, performed, follow=follow)
    except EffectFailed as error:
        failure = error
    except TryLater as error:
        journal.put_off(step, duration_s=error.duration_s, tries=error.tries)
        if not _is_last_try(journal.lease.run_id, error):
            raise
        failure = EffectFailed(str(error))
    assert failure is not None
    return journal.fail(step, failure)


def _is_last_try(run_id: UUID, error: TryLater) -> bool:
    """Return True if the run may not be put off once more. The loop then learns that the call failed."""
    failures, asked_waits = Run.objects.values_list("failures", "asked_waits").get(pk=run_id)
    return bool(asked_waits + 1 >= MOST_ASKED_WAITS if error.after_s else failures + 1 >= MOST_FAILURES)


def _retry_later(journal: Journal, error: str, *, after_s: float | None = None) -> float | None:
    """Puts the run back into the queue, for later; the third failure in a row ends it as failed.

    After `after_s` where the model's provider asked for that, which it may eight times in a row: that is no failure.
    """
    delays_s: list[float] = []

    def put_back(run: Run) -> None:
        if after_s:
            run.asked_waits += 1
            run.asked_wait_s += after_s
        else:
            run.failures += 1
        if run.asked_waits >= MOST_ASKED_WAITS or run.failures >= MOST_FAILURES:
            end_run(run, Ended(outcome=Outcome.FAILED, error=error))
            return
        delay_s = after_s or min(settings.RUN_RETRY_DELAY_S * 2 ** (run.failures - 1), LONGEST_RETRY_DELAY_S)
        run.waiting_for = PROVIDER_ASKED if after_s else ""
        run.state, run.error = RunState.QUEUED, storable(error)[:LONGEST_ERROR]
        run.lease_token = run.lease_until = None
        run.not_before = run.enqueued_at = timezone.now() + timedelta(seconds=delay_s)
        add_event(run, EventType.RUN_RETRIED, error=run.error, delay_s=delay_s)
        run.save(update_fields=PUT_BACK_FIELDS)
        delays_s[:] = [delay_s]

    journal.commit(put_back)
    return delays_s[0] if delays_s else None
