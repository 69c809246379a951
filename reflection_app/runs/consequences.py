"""The rows that follow from an effect's result, written in the same transaction as the step itself.

What is for the notebook is written after it: see notebook_writes.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple
from uuid import UUID

from django.db.models import Subquery
from pydantic import ValidationError

from notebook_app.public import keep_suggestion
from reflection_app.loops.attempt_effects import (
    AskPerson,
    AskReviewer,
    Generate,
    KeepAttempt,
    RecordPick,
    RecordVerdict,
    RequestAudit,
)
from reflection_app.loops.effects import (
    AnyEffect,
    ChooseLoop,
    IssueTicket,
    ProposeEntry,
    ProposeInstruction,
    RecordCompleteness,
    RecordFindings,
    RecordFixOutcome,
    RecordMemories,
    RecordPlan,
    RecordReport,
    RecordStage,
    RecordSupplements,
    RecordToolFailure,
)
from reflection_app.loops.lessons import RecallLessons
from reflection_app.loops.merging import RecordMergeSuggestion
from reflection_app.loops.progress import best_attempt
from reflection_app.loops.questions import Question as QuestionValue
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.repairs.completeness import propose_what_recurs
from reflection_app.repairs.rows import (
    begin_ticket,
    keep_fix_outcome,
    keep_proposal,
    write_failure,
    write_instruction,
    write_report,
    write_ticket,
    write_what_is_missing,
)
from reflection_app.reviews.rows import open_reviews
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.journal import Attempts, Journal
from reflection_app.runs.journal_writes import Follow
from reflection_app.runs.lessons import write_exposures
from reflection_app.runs.models import VOID, Attempt, Question, Run, Step, StepState, Verdict
from reflection_app.sessions.rows import keep_what_was_found

# What a step has for the project's notebook: written after the step, in a transaction of its own.
#
# Who adds to a notebook waits for all others who do. So the step, with all answers before it, is committed first, and
# marked; the run goes on once the notebook has it. Whoever moves the run on after a worker that died in between does
# what is marked, and does it once.


def has_for_notebook(effect: AnyEffect, value: Any) -> bool:
    """Whether something of the effect with this result goes to the notebook."""
    if isinstance(effect, RecordCompleteness):
        return bool(value.supplements)
    return isinstance(effect, ProposeEntry | RecordFindings | RecordFixOutcome | RecordMemories)


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
            _write(effect, run=run, step=step)

    journal.commit(write)
    step.owes_notebook = False


def _write(effect: AnyEffect, *, run: Run, step: Step) -> None:
    match effect:
        case ProposeEntry(proposal=proposal):
            keep_proposal(run, proposal)
        case RecordCompleteness():
            propose_what_recurs(run, step)
        case RecordFindings() | RecordMemories():
            keep_what_was_found(effect, run=run)
        case RecordFixOutcome(outcome=outcome):
            keep_fix_outcome(run, outcome=outcome)


# The rows of questions to a person.


def write_question(run: Run, step: Step, batch: Batch, *, asked: QuestionValue) -> None:
    batch.write()
    row = Question.objects.create(
        project_id=run.project_id,
        run=run,
        step=step,
        kind=asked.kind.value,
        text=asked.text,
        context=list(asked.context),
        choices=[choice.value for choice in asked.choices],
    )
    add_event(run, EventType.QUESTION_ASKED, question=str(row.pk), about=asked.kind.value)


def consequences(
    effect: AnyEffect, value: Any = None, *, attempts: Attempts, judgements: Sequence[Judgement]
) -> Follow:
    """What to write with the step of `effect`, once `value` is its result.

    `attempts` and `judgements` are those made or read so far. What reads rows back writes the batch first.
    """

    def follow(run: Run, step: Step, batch: Batch) -> None:
        match effect:
            case Generate(attempt=int(number)) if not value.fault:
                attempts[number] = _make_attempt(run, step, number=number, content=value.text)
                batch.insert(attempts[number])
            case KeepAttempt(attempt=number, content=content, cut_off=cut_off):
                attempts[number] = _make_attempt(run, step, number=number, content=content, is_cut_off=cut_off)
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
            case AskReviewer(judgement=judgement) | RequestAudit(judgement=judgement):
                batch.write()
                open_reviews(run, step, effect, attempt=_attempt(run, judgement.attempt, attempts=attempts))
            case IssueTicket():
                write_ticket(run, step, batch, issued=value, attempt=_attempt(run, value.attempt, attempts=attempts))
            case _:
                _write_more(effect, value, run=run, step=step, batch=batch)

    return follow


def _write_more(effect: AnyEffect, value: Any, *, run: Run, step: Step, batch: Batch) -> None:
    """What follows from the six steps, reports, questions, tool failures, completeness checks and lessons told."""
    match effect:
        case RecordStage(record=record):
            begin_ticket(run, ticket_id=record.ticket_id)
        case RecordReport(report=report):
            write_report(run, step, batch, report=report, kept=value)
        case ProposeInstruction(instruction=instruction):
            write_instruction(run, batch, instruction=instruction)
        case AskPerson(question=question):
            write_question(run, step, batch, asked=question)
        case RecordToolFailure(failure=failure):
            write_failure(run, step, batch, diagnosed=failure)
        case RecordPlan() | RecordCompleteness() | RecordSupplements():
            write_what_is_missing(effect, run=run, step=step, batch=batch)
        case RecallLessons():
            write_exposures(run, told=value)
        case RecordMergeSuggestion(suggestion=suggestion):
            keep_suggestion(run.project_id, run_id=run.pk, suggestion=suggestion.model_dump(mode="json"))


def _make_attempt(run: Run, step: Step, *, number: int, content: str, is_cut_off: bool = False) -> Attempt:
    attempt = Attempt(run=run, number=number, step=step, content=content, is_cut_off=is_cut_off)
    run.attempts_made += 1
    if run.best_attempt_id is None:
        run.best_attempt = attempt
    return attempt


def _attempt(run: Run, number: int, *, attempts: Attempts) -> Attempt:
    if number not in attempts:
        attempts[number] = Attempt.objects.get(run=run, number=number)
    return attempts[number]


# The best attempt by what is recorded, which also knows what people said of attempts in audits.


class Best(NamedTuple):
    id: UUID | None
    number: int | None


def best_of(run: Run) -> Best:
    """The attempt to keep if the run ended now, by the rule that loops use; Nones where there is no attempt.

    One that was cut off is kept only where there is no whole one.
    """
    picks = Step.objects.filter(run=run, kind=RecordPick.kind, state=StepState.DONE).order_by("-seq")
    picked = Subquery(picks.values("result__attempt")[:1])
    rows = Verdict.objects.filter(attempt__run=run).exclude(VOID).annotate(pick=picked).order_by("created_at", "id")
    # Only what the rule reads: a verdict whose details no longer parse must not keep its run from ending.
    names = (
        "attempt_id",
        "attempt__number",
        "referee",
        "verdict",
        "score",
        "requirements",
        "pick",
        "attempt__is_cut_off",
    )
    listed = list(rows.values_list(*names))
    judged = [row for row in listed if not row[-1]]
    if not judged and listed and not Attempt.objects.filter(run=run, is_cut_off=False).exists():
        judged = listed
    if not judged:
        made = Attempt.objects.filter(run=run).order_by("is_cut_off", "number").values_list("id", "number")
        pick = picks.values_list("result__attempt", flat=True).first()
        kept = (made.filter(number=pick).first() if pick is not None else None) or made.first()
        return Best(*kept) if kept else Best(None, None)
    ids = {number: attempt_id for attempt_id, number, *_ in judged}
    judgements = [
        Judgement(
            attempt=number,
            referee=Referee(referee),
            verdict=VerdictName(verdict),
            score=score,
            requirements=_requirements(requirements),
        )
        for _, number, referee, verdict, score, requirements, *_ in judged
    ]
    number = best_attempt(ids, judgements, pick=judged[0][-2])
    return Best(ids[number], number) if number is not None else Best(None, None)


def _requirements(kept: Any) -> RequirementsReport | None:
    try:
        return RequirementsReport.model_validate(kept) if kept else None
    except ValidationError:
        return None
