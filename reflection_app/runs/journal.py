"""A run's journal: what was performed is remembered, and performed once.

A result is written at the latest before the next effect begins: between the two there is only the loop's own code, so
one transaction serves both. Nothing here calls a model or the sandbox, and no transaction outlives a method.
"""

from collections.abc import Callable
from datetime import datetime
from functools import partial
from typing import Any

from django.db import Error
from django.utils import timezone

from reflection_app.loops.attempt_effects import AskReviewer, Generate, KeepAttempt, RecordVerdict
from reflection_app.loops.effect import EffectFailed, EffectTimedOut, Performed, Spent
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.storable import storable
from reflection_app.loops.verdicts import Judgement
from reflection_app.runs import journal_writes
from reflection_app.runs.events import EventType
from reflection_app.runs.journal_writes import Change, Follow, Unstorable, commit, salvaged
from reflection_app.runs.lease import Lease, LeaseLost
from reflection_app.runs.models import HELD_BY, TROUBLES, Attempt, Run, RunState, Step, StepState
from reflection_app.runs.spool import Found, Pending, spool, spooled_form

LONGEST_ERROR = 4_000
LONGEST_MODEL_NAME = 200

# Nothing is paid for, nobody outside sees it, and it takes milliseconds.
READS_ONLY = RecallLessons
Attempts = dict[int, Attempt]


class JournalMismatch(Exception):
    """The loop asked for something else than its journal holds: its code changed since the run began."""


class Journal:
    def __init__(self, lease: Lease) -> None:
        self.lease = lease
        # Requests may be long, and replay does not read them.
        rows = () if lease.has_no_steps else Step.objects.filter(run_id=lease.run_id).defer("request")
        self.steps = {step.seq: step for step in rows}
        self.attempts: Attempts = {}
        self.judgements: list[Judgement] = []
        self.seq = 0
        # After how long a run that waits for time to pass wants to be moved on.
        self.wakes_after_s: float | None = None
        self._unwritten: list[Change] = []
        # The answers among them, which may have to wait on disk.
        self._answers: list[Pending] = []
        self._is_in_doubt = False

    def commit(self, then: Callable[[Run], None], *, durable: bool = True) -> None:
        """Writes what is unwritten and does `then` to the locked run, which has to save what else it changes.

        Raises LeaseLost where the lease is no longer ours, and Unstorable where the database refuses a value; what can
        be kept of such a step is then written with the next commit, as is everything where the database stayed away.
        """
        changes, self._unwritten = self._unwritten, []
        try:
            # The database may have gone away with the answer to a commit that it made.
            if self._is_in_doubt and journal_writes.is_written(changes):
                changes = []
            commit(self.lease, changes, then, durable=durable)
            self._is_in_doubt = False
        except Unstorable as error:
            self._unwritten = [salvaged(change, error=str(error)) for change in changes]
            self._settle_answers()
            raise
        except Error:
            self._unwritten, self._is_in_doubt = changes, True
            spool.write(self._answers)
            raise
        except LeaseLost:
            # What could be used of them was offered to their steps.
            self._settle_answers()
            raise
        self._settle_answers()

    def _settle_answers(self) -> None:
        spool.settle(self._answers)
        self._answers = []

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
            value = effect.results.validate_python(step.result)
            self._keep_in_mind(effect, value)
            return Performed(value=value, spent=spent_by(step))
        failure = EffectTimedOut if step.timed_out else EffectFailed
        return failure(step.error, spent=spent_by(step))

    def _keep_in_mind(self, effect: AnyEffect, value: Any) -> None:
        """Judgements are what the best attempt so far is told from."""
        if isinstance(effect, RecordVerdict):
            self.judgements.append(value)
        elif isinstance(effect, AskReviewer):
            self.judgements.append(value.judgement_of(effect.judgement.attempt))

    def check_it_is_used_up(self) -> None:
        """Raises JournalMismatch where the loop ended before its journal did."""
        if self.seq < max(self.steps, default=0):
            raise JournalMismatch(
                f"the loop ended after step {self.seq}, and its journal goes on. "
                "The loop was changed since this run began; fork the run to go on."
            )

    def start(self, effect: AnyEffect, *, model: str = "") -> Step:
        """The step of `effect`, written as started; a step that was begun before is started again.

        What only reads our own database is written with its result: if the worker dies, it is read again.
        """
        model = storable(model)[:LONGEST_MODEL_NAME]
        step = self.steps.get(self.seq)
        if step is None:
            step = self._new_step(effect, model=model)
            if isinstance(effect, READS_ONLY):
                return step
        else:
            step.tries += 1
            step.state, step.model, step.started_at = StepState.STARTED, model, timezone.now()
        is_durable = any(change.step.finished_at for change in self._unwritten)
        self._change(step, EventType.STEP_STARTED)
        self.commit(lambda _run: None, durable=is_durable)
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

    def answered(self, step: Step, effect: AnyEffect, performed: Performed[Any], *, follow: Follow) -> Performed[Any]:
        """Complete the step with what was paid for: if it is not committed soon, it waits on disk."""
        completed = self.complete(step, effect, performed, follow=follow)
        if isinstance(effect, READS_ONLY):
            return completed
        pending = Pending(partial(spooled_form, step, effect, performed, token=self.lease.token))
        spool.expect(pending)
        self._answers.append(pending)
        return completed

    def adopt(self, effect: AnyEffect, found: Found, *, follow: Follow) -> Performed[Any]:
        """Complete the present step with an answer from disk. Nothing is performed, so this is no further try."""
        step = self.steps.get(self.seq) or self._new_step(effect)
        self._answers.append(found.pending)
        completed = self.complete(step, effect, found.performed, follow=follow)
        # By this a commit of the same answer by `offering.py` is recognized, and not charged twice.
        step.finished_at = found.finished_at
        return completed

    def complete(self, step: Step, effect: AnyEffect, performed: Performed[Any], *, follow: Follow) -> Performed[Any]:
        """Keeps the result and, by `follow`, every row that follows from it; written with what comes next.

        Gives back the result just as a replay will: with all the time that the step took, earlier tries included.
        """
        self._keep_in_mind(effect, performed.value)
        step.state = StepState.DONE
        step.result = effect.results.dump_python(performed.value, mode="json")
        self._close(step, performed.spent, follow=follow)
        return performed.model_copy(update={"spent": spent_by(step)})

    def note(self, effect: AnyEffect, value: Any, *, follow: Follow, owes_notebook: bool = False) -> Performed[Any]:
        """Keeps an effect that takes no time; its result as the loop gets it. Written with what comes next."""
        step = self.steps.get(self.seq)
        if step is None:
            model = ""
            if isinstance(effect, KeepAttempt):
                # The model that wrote what is kept, where the calls for it are that attempt's own.
                answer = f"attempt-{effect.attempt}/answer"
                model = next((one.model for one in self.steps.values() if one.key == answer), "")
            step = self._new_step(effect, model=model)
        step.owes_notebook = owes_notebook
        return self.complete(step, effect, Performed(value=value), follow=follow)

    def fail(self, step: Step, failure: EffectFailed) -> EffectFailed:
        """Keeps that the effect failed for good; written with what comes next. Gives it back as a replay will."""
        step.state = StepState.FAILED
        step.error = storable(str(failure))[:LONGEST_ERROR]
        step.timed_out = isinstance(failure, EffectTimedOut)
        self._close(step, failure.spent)
        return type(failure)(step.error, spent=spent_by(step))

    def put_off(self, step: Step, *, duration_s: float, tries: int = 1) -> None:
        """Keeps the time and the tries of a call that is to be repeated."""
        step.duration_s += duration_s
        step.tries += tries - 1
        self._unwritten.append(Change(step=step, is_new=False, event=None, spent=Spent(duration_s=duration_s)))

    def _close(self, step: Step, spent: Spent, *, follow: Follow | None = None) -> None:
        close_step(step, spent, at=timezone.now())
        self._change(step, EventType.STEP_FINISHED, spent=spent, follow=follow, state=step.state)

    def _change(
        self, step: Step, event: EventType, *, spent: Spent | None = None, follow: Follow | None = None, **payload: Any
    ) -> None:
        payload = {"step": step.seq, "key": step.key, **payload}
        is_new = step.seq not in self.steps
        self._unwritten.append(Change(step, is_new=is_new, event=event, payload=payload, spent=spent, follow=follow))
        self.steps[step.seq] = step

    def began(self) -> datetime | None:
        """When the step at the present place was begun, or None where it is new."""
        step = self.steps.get(self.seq)
        return step.started_at if step else None

    def suspend(
        self,
        effect: AnyEffect,
        *,
        state: RunState,
        waiting_for: str,
        follow: Follow,
        is_there: Callable[[], bool] = lambda: False,
        due: datetime | None = None,
        error: str = "",
    ) -> bool:
        """Lets go of the run until somebody brings the result of `effect`, or `due`; True where it did let go.

        The run shows `error` meanwhile, where what it waits for is to be put right by people.
        `is_there` is asked under the run's lock: what came in the meantime is not waited for. Whoever brings something
        locks the run, too, and so either sees it waiting or is seen here.
        """
        known = self.steps.get(self.seq)
        step = known or self._new_step(effect)
        step.state = StepState.WAITING
        self._change(step, EventType.RUN_WAITING, follow=follow if known is None else None, waiting_for=waiting_for)

        is_let_go = False

        def let_go(run: Run) -> None:
            # Asked anew each time: this is done again where a commit was taken back.
            nonlocal is_let_go
            is_let_go = not is_there()
            if not is_let_go:
                return
            run.state, run.waiting_for, run.error = state, waiting_for, storable(error)[:LONGEST_ERROR]
            run.let_go()
            run.not_before = run.enqueued_at = due
            changed = ("state", "waiting_for", "error", "not_before", "enqueued_at")
            run.save(update_fields=[*changed, *HELD_BY, *TROUBLES])

        self.commit(let_go)
        return is_let_go


def close_step(step: Step, spent: Spent, *, at: datetime) -> None:
    """Set when the step ended and what it took."""
    step.finished_at = at
    step.prompt_tokens, step.completion_tokens = spent.prompt_tokens, spent.completion_tokens
    step.cost_usd, step.cost_known = spent.cost_usd, spent.cost_known
    step.is_estimated = spent.is_estimated
    step.cached_tokens, step.reasoning_tokens = spent.cached_tokens, spent.reasoning_tokens
    # The first was counted when it was begun, so that one in flight at a crash is not forgotten.
    step.tries += spent.tries - 1
    step.duration_s += spent.duration_s


def spent_by(step: Step) -> Spent:
    """What the step took of this run's limits; what a fork inherited was paid by its parent."""
    if step.is_inherited:
        return Spent()
    return Spent(
        prompt_tokens=step.prompt_tokens,
        completion_tokens=step.completion_tokens,
        cost_usd=step.cost_usd,
        cost_known=step.cost_known,
        duration_s=step.duration_s,
        is_estimated=step.is_estimated,
        cached_tokens=step.cached_tokens,
        reasoning_tokens=step.reasoning_tokens,
    )


def attempt_of(effect: AnyEffect) -> int | None:
    """The number of the attempt that the effect is about, read from its fields or from its key."""
    judgement = getattr(effect, "judgement", None)
    number = judgement.attempt if judgement is not None else getattr(effect, "attempt", None)
    if number is None and effect.key.startswith("attempt-"):
        number = int(effect.key.removeprefix("attempt-").split("/", 1)[0])
    return number
