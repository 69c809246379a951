"""The run's own rows that follow from a step, what a step has for the notebook, and the best attempt by the record.

Rows of other subjects register with theirs: see following.py.
"""

from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import QuerySet, Subquery
from pydantic import ValidationError

from notebook_app.public import compiled, keep_suggestion
from reflection_app.core.audit import Actor, audit
from reflection_app.loops.attempt_effects import (
    AskPerson,
    Generate,
    Generation,
    KeepAttempt,
    RecordPermission,
    RecordPick,
    RecordVerdict,
)
from reflection_app.loops.effects import (
    AnyEffect,
    ChooseLoop,
    RecordCompleteness,
)
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.loops.progress import best_attempt
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.tool_permission import Permission
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.following import FOR_NOTEBOOK, StepCommit, follows_from
from reflection_app.runs.journal import Journal
from reflection_app.runs.models import VOID, Attempt, Question, Run, Step, StepState, Verdict

# What a step has for the project's notebook: written after the step, in a transaction of its own.
#
# Who adds to a notebook waits for all others who do. So the step, with all answers before it, is committed first, and
# marked; the run goes on once the notebook has it. Whoever moves the run on after a worker that died in between does
# what is marked, and does it once.


def has_for_notebook(effect: AnyEffect, value: Any) -> bool:
    """Whether something of the effect with this result goes to the notebook."""
    if isinstance(effect, RecordCompleteness):
        return bool(value.supplements)
    return type(effect) in FOR_NOTEBOOK


def write_to_notebook(effect: AnyEffect, *, journal: Journal) -> None:
    """Writes what the present step has for the notebook, where that is not done. Raises what `Journal.commit` does."""
    step = journal.steps[journal.seq]
    if not step.owes_notebook:
        return
    # What is unwritten first: nobody's answer waits for the notebook.
    journal.commit(lambda _run: None)

    def write(run: Run) -> None:
        # This is done again where the answer to the commit was lost.
        if Step.objects.filter(pk=step.pk, owes_notebook=True).update(owes_notebook=False):
            FOR_NOTEBOOK[type(effect)](effect, run, step)

    journal.commit(write)
    step.owes_notebook = False


# The rows that are the run's own.


@follows_from(Generate)
def keep_answer(effect: Generate, value: Generation, commit: StepCommit) -> None:
    """The attempt, where the answer is one."""
    if effect.attempt is not None and not value.fault:
        _add_attempt(commit, number=effect.attempt, content=value.text)


@follows_from(KeepAttempt)
def keep_attempt(effect: KeepAttempt, _value: object, commit: StepCommit) -> None:
    """The attempt; one that a person edited has what was handed in beside the one that it was made of."""
    edited = {}
    if effect.edited_from is not None:
        before = commit.attempt(effect.edited_from)
        edited = {"edited_from": before.number, "edited_by_label": effect.edited_by, "artifacts": before.artifacts}
    _add_attempt(commit, number=effect.attempt, content=effect.content, is_cut_off=effect.cut_off, **edited)


def _add_attempt(commit: StepCommit, *, number: int, content: str, **fields: Any) -> None:
    run = commit.run
    attempt = Attempt(run=run, number=number, step=commit.step, content=content, **fields)
    run.attempts_made += 1
    if run.best_attempt_id is None:
        run.best_attempt = attempt
    commit.attempts[number] = attempt
    commit.batch.insert(attempt)


@follows_from(ChooseLoop)
def keep_loop(effect: ChooseLoop, _value: object, commit: StepCommit) -> None:
    commit.run.mode = effect.route.mode.value


@follows_from(RecordVerdict)
def keep_verdict(effect: RecordVerdict, _value: object, commit: StepCommit) -> None:
    """The verdict's row, and which attempt is the best now."""
    attempt = commit.attempt(effect.judgement.attempt)
    commit.batch.insert(Verdict.from_judgement(effect.judgement, attempt=attempt, step=commit.step))
    best = best_attempt(range(1, commit.run.attempts_made + 1), commit.judgements)
    if best is not None:
        commit.run.best_attempt = commit.attempt(best)


@follows_from(RecordPick)
def keep_pick(effect: RecordPick, _value: object, commit: StepCommit) -> None:
    commit.run.best_attempt = commit.attempt(effect.pick.attempt)


@follows_from(AskPerson)
def write_question(effect: AskPerson, _value: object, commit: StepCommit) -> None:
    commit.batch.write()
    run, asked = commit.run, effect.question
    row = Question.objects.create(
        project_id=run.project_id,
        run=run,
        step=commit.step,
        kind=asked.kind.value,
        text=asked.text,
        context=list(asked.context),
        choices=[choice.value for choice in asked.choices],
        prepared=asked.prepared.model_dump(mode="json") if asked.prepared else None,
    )
    if row.prepared is not None:
        audit(run.project_id, Actor(), "tool_call.asked", target=row, after={"run": str(run.pk), **row.prepared})
    add_event(run, EventType.QUESTION_ASKED, question=str(row.pk), about=asked.kind.value)


@follows_from(RecordPermission)
def audit_permission(effect: RecordPermission, value: Permission, commit: StepCommit) -> None:
    """Record in the audit trail that a model's call is made without asking, and why."""
    if value.ground is None:
        return  # the question that follows is recorded
    after = {"run": str(commit.run.pk), "ground": value.ground.value, "quote": value.quote}
    after |= value.call.model_dump(mode="json")
    audit(
        commit.run.project_id, Actor(), "tool_call.allowed", target=commit.run, after=after, write=commit.batch.insert
    )


@follows_from(RecordMergeSuggestion)
def keep_merge_suggestion(effect: RecordMergeSuggestion, _value: object, commit: StepCommit) -> None:
    suggestion = effect.suggestion.model_dump(mode="json")
    keep_suggestion(commit.run.project_id, run_id=commit.run.pk, suggestion=suggestion)


# The best attempt by what is recorded, which also knows what people said of attempts in audits.


class Best(NamedTuple):
    id: UUID | None
    number: int | None
    is_edited: bool = False
    # Of the first attempt: referee, verdict and score, oldest first.
    first_verdicts: tuple[tuple[int, str, float | None], ...] = ()


def _picks_of(run_id: UUID) -> QuerySet[Step]:
    return Step.objects.filter(run=run_id, kind=RecordPick.kind, state=StepState.DONE).order_by("-seq")


@compiled
def _verdicts_of(run_id: UUID) -> QuerySet[Verdict, tuple[Any, ...]]:
    picked = Subquery(_picks_of(run_id).values("result__attempt")[:1])
    rows = Verdict.objects.filter(attempt__run=run_id).exclude(VOID).annotate(pick=picked).order_by("created_at", "id")
    # Only what the rule reads: a verdict whose details no longer parse must not keep its run from ending.
    return rows.values_list(
        "attempt_id",
        "attempt__number",
        "referee",
        "verdict",
        "score",
        "requirements",
        "pick",
        "attempt__edited_from",
        "attempt__is_cut_off",
    )


def best_of(run: Run) -> Best:
    """Return the best attempt so far, by the rule that loops use; Nones if there is no attempt.

    An answer that a reviewer edited comes first. An attempt that was cut off is best only if all were cut off.
    """
    listed = _verdicts_of(run.pk)
    first = tuple((row[2], row[3], row[4]) for row in listed if row[1] == 1)
    # The last where one was edited again.
    if edited := max(((row[1], row[0]) for row in listed if row[-2] is not None), default=None):
        return Best(edited[1], edited[0], is_edited=True, first_verdicts=first)
    judged = [row for row in listed if not row[-1]]
    if not judged and listed and not Attempt.objects.filter(run=run, is_cut_off=False).exists():
        judged = listed
    if not judged:
        made = Attempt.objects.filter(run=run).order_by("is_cut_off", "number").values_list("id", "number")
        pick = _picks_of(run.pk).values_list("result__attempt", flat=True).first()
        kept = (made.filter(number=pick).first() if pick is not None else None) or made.first()
        best_id, best_number = kept or (None, None)
        return Best(best_id, best_number, first_verdicts=first)
    ids = {number: attempt_id for attempt_id, number, *_ in judged}
    judgements = []
    for _, number, referee, verdict, score, requirements, *_ in judged:
        try:
            report = RequirementsReport.model_validate(requirements) if requirements else None
        except ValidationError:
            report = None
        judgements.append(
            Judgement(
                attempt=number,
                referee=Referee(referee),
                verdict=VerdictName(verdict),
                score=score,
                requirements=report,
            )
        )
    number = best_attempt(ids, judgements, pick=judged[0][-3])
    return Best(None if number is None else ids[number], number, first_verdicts=first)
