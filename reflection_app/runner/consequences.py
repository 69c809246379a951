"""The rows that follow from an effect's result, written in the same transaction as the step itself."""

from collections.abc import Sequence
from typing import Any

from reflection_app.loops.best_attempt import best_attempt
from reflection_app.loops.effects import (
    AnyEffect,
    AskReviewer,
    ChooseLoop,
    Generate,
    KeepAttempt,
    RecordPick,
    RecordVerdict,
    RequestAudit,
    ReviewReason,
)
from reflection_app.loops.verdicts import Judgement
from reflection_app.models import Attempt, EventType, Review, Run, Step, Verdict, add_event
from reflection_app.runner.batch import Batch
from reflection_app.runner.journal import Attempts
from reflection_app.runner.journal_writes import Follow


def consequences(
    effect: AnyEffect, value: Any = None, *, attempts: Attempts, judgements: Sequence[Judgement]
) -> Follow:
    """What to write with the step of `effect`, once `value` is its result.

    `attempts` and `judgements` are those made or read so far. What reads rows back writes the batch first.
    """

    def follow(run: Run, step: Step, batch: Batch) -> None:
        match effect:
            case Generate(attempt=int(number)):
                attempts[number] = _make_attempt(run, step, number=number, content=value.text)
                batch.insert(attempts[number])
            case KeepAttempt(attempt=number, content=content):
                attempts[number] = _make_attempt(run, step, number=number, content=content)
                batch.insert(attempts[number])
            case ChooseLoop(route=route):
                run.mode = route.mode.value
            case RecordVerdict(judgement=judgement):
                attempt = _attempt(run, judgement.attempt, attempts=attempts)
                batch.insert(Verdict.from_judgement(judgement, attempt=attempt, step=step))
                best = best_attempt(range(1, run.attempts_made + 1), judgements)
                if best is not None:
                    run.best_attempt = _attempt(run, best, attempts=attempts)
            case RecordPick(pick=pick):
                run.best_attempt = _attempt(run, pick.attempt, attempts=attempts)
            case AskReviewer(judgement=judgement, reason=reason):
                batch.write()
                attempt = _attempt(run, judgement.attempt, attempts=attempts)
                _open_review(run, step, attempt=attempt, reason=reason, holds_run=True)
            case RequestAudit(judgement=judgement):
                batch.write()
                attempt = _attempt(run, judgement.attempt, attempts=attempts)
                _open_review(run, step, attempt=attempt, reason=ReviewReason.AUDIT, holds_run=False)

    return follow


def _make_attempt(run: Run, step: Step, *, number: int, content: str) -> Attempt:
    attempt = Attempt(run=run, number=number, step=step, content=content)
    run.attempts_made += 1
    if run.best_attempt_id is None:
        run.best_attempt = attempt
    return attempt


def _attempt(run: Run, number: int, *, attempts: Attempts) -> Attempt:
    if number not in attempts:
        attempts[number] = Attempt.objects.get(run=run, number=number)
    return attempts[number]


def _open_review(run: Run, step: Step, *, attempt: Attempt, reason: ReviewReason, holds_run: bool) -> None:
    verdict = attempt.verdicts.latest("created_at", "id")
    review = Review.objects.create(
        project_id=run.project_id,
        run=run,
        attempt=attempt,
        verdict=verdict,
        step=step,
        reason=reason.value,
        holds_run=holds_run,
    )
    add_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=reason.value)
