"""The rows that a fork has from its parent: copies of steps, and of the attempts and verdicts that followed from them.

Reviews are not copied: what was decided is in the step's result, and what is still open is the parent's. Copies are
told from what a run did itself by `is_inherited` of their step: whoever counts what critics said leaves them out.
"""

from collections.abc import Sequence
from uuid import UUID

from reflection_app.core.audit import Actor
from reflection_app.core.ids import new_id
from reflection_app.loops.effects import (
    AskReviewer,
    AwaitAttempt,
    ChooseLoop,
    Generate,
    HandedIn,
    RecordVerdict,
    ReviewDecision,
    Route,
)
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.runs.best_so_far import best_of
from reflection_app.runs.models.attempt import Attempt, Verdict
from reflection_app.runs.models.run import Run, Step

STEP_FIELDS = (
    "seq",
    "key",
    "kind",
    "state",
    "role",
    "attempt_number",
    "request",
    "result",
    "error",
    "timed_out",
    "model",
    "prompt_tokens",
    "completion_tokens",
    "cost_usd",
    "cost_known",
    "is_estimated",
    "cached_tokens",
    "reasoning_tokens",
    "duration_s",
    "tries",
    "edited_by_label",
    "started_at",
    "finished_at",
)
VERDICT_FIELDS = (
    "referee",
    "verdict",
    "score",
    "confidence",
    "issues",
    "feedback",
    "tests",
    "requirements",
    "completeness",
    "correctness",
    "given_by_id",
)
ATTEMPT_FIELDS = ("number", "content", "artifacts", "self_check", "repairs", "is_cut_off")


def inherit(run: Run, steps: Sequence[Step], *, edited: Step | None, editor: Actor) -> None:
    """Gives the saved `run` copies of the parent's `steps` with all that followed from them, and counts them in it.

    `edited` is the unsaved last step with a person's result in place of the recorded one, or None. The caller saves
    what changes in `run`.
    """
    copies = {step.seq: _copy_of(step, run=run) for step in [*steps, *([edited] if edited else [])]}
    Step.objects.bulk_create(copies.values())
    seqs = {step.pk: step.seq for step in steps}
    attempts = _attempts(run, seqs, copies)
    if edited and (made := _edited_attempt(copies[edited.seq])) is not None:
        attempts[made.number] = made
    Attempt.objects.bulk_create(attempts.values())
    verdicts = _verdicts(seqs, copies, attempts)
    if edited:
        verdicts += _edited_verdict(copies[edited.seq], attempts, editor=editor)
    Verdict.objects.bulk_create(verdicts)
    run.attempts_made = len(attempts)
    run.best_attempt_id = best_of(run).id
    for copy in copies.values():
        if copy.kind == ChooseLoop.kind and copy.result:
            run.mode = Route.model_validate(copy.result).mode.value


def _copy_of(step: Step, *, run: Run) -> Step:
    values = {name: getattr(step, name) for name in STEP_FIELDS}
    # They are told of by the event that tells of the run itself.
    return Step(run=run, is_inherited=True, last_event_seq=run.last_event_seq, **values)


def _attempts(run: Run, seqs: dict[UUID, int], copies: dict[int, Step]) -> dict[int, Attempt]:
    rows = Attempt.objects.filter(step__in=seqs)
    return {
        row.number: Attempt(
            run=run, step=copies[seqs[row.step_id]], **{name: getattr(row, name) for name in ATTEMPT_FIELDS}
        )
        for row in rows
    }


def _verdicts(seqs: dict[UUID, int], copies: dict[int, Step], attempts: dict[int, Attempt]) -> list[Verdict]:
    """Copies in the order in which they were given; what a person decided belongs to the step that asked for it."""
    recorded = {row.pk: row.step_id for row in Verdict.objects.filter(step__in=seqs)}
    decided = dict(
        Verdict.objects.filter(decided_by_reviews__step__in=seqs).values_list("pk", "decided_by_reviews__step")
    )
    by_step = decided | recorded
    rows = Verdict.objects.filter(pk__in=by_step).select_related("attempt").order_by("created_at", "id")
    copied = []
    for row in rows:
        step_id = by_step[row.pk]
        if step_id is None or row.attempt.number not in attempts:
            continue
        values = {name: getattr(row, name) for name in VERDICT_FIELDS}
        copied.append(Verdict(id=new_id(), attempt=attempts[row.attempt.number], step=copies[seqs[step_id]], **values))
    return copied


def _edited_attempt(step: Step) -> Attempt | None:
    number = step.attempt_number
    if number is None:
        return None
    if step.kind == Generate.kind and step.request.get("attempt") is not None:
        assert isinstance(step.result, dict)
        if step.result.get("fault"):
            return None
        return Attempt(run=step.run, number=number, step=step, content=step.result["text"])
    if step.kind == AwaitAttempt.kind:
        handed_in = HandedIn.model_validate(step.result)
        return Attempt(
            run=step.run,
            number=number,
            step=step,
            content=handed_in.content,
            artifacts=list(handed_in.artifacts),
            self_check=handed_in.self_check,
            repairs=[repair.model_dump(mode="json") for repair in handed_in.repairs],
        )
    return None


def _edited_verdict(step: Step, attempts: dict[int, Attempt], *, editor: Actor) -> list[Verdict]:
    judgement: Judgement | None = None
    if step.kind == RecordVerdict.kind:
        judgement = Judgement.model_validate(step.result)
    elif step.kind == AskReviewer.kind:
        assert step.attempt_number is not None
        judgement = ReviewDecision.model_validate(step.result).judgement_of(step.attempt_number)
    if judgement is None:
        return []
    row = Verdict.from_judgement(judgement, attempt=attempts[judgement.attempt], step=step)
    row.given_by = editor.user if judgement.referee is Referee.PERSON else None
    return [row]
