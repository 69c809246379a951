"""The rows that follow from an effect's result, written in the same transaction as the step itself.

What is for the notebook is written after it: see notebook_writes.py.
"""

from collections.abc import Sequence
from typing import Any

from notebook_app.public import keep_suggestion
from reflection_app.loops.best_attempt import best_attempt
from reflection_app.loops.effects import (
    AnyEffect,
    AskPerson,
    AskReviewer,
    ChooseLoop,
    Generate,
    IssueTicket,
    KeepAttempt,
    ProposeInstruction,
    RecallLessons,
    RecordCompleteness,
    RecordMergeSuggestion,
    RecordPick,
    RecordPlan,
    RecordReport,
    RecordStage,
    RecordSupplements,
    RecordToolFailure,
    RecordVerdict,
    RequestAudit,
)
from reflection_app.loops.verdicts import Judgement
from reflection_app.repairs.completeness_rows import write_what_is_missing
from reflection_app.repairs.failure_rows import write_failure
from reflection_app.repairs.report_rows import write_instruction, write_report
from reflection_app.repairs.ticket_rows import begin_ticket, write_ticket
from reflection_app.reviews.review_rows import open_reviews
from reflection_app.runs.batch import Batch
from reflection_app.runs.journal import Attempts
from reflection_app.runs.journal_writes import Follow
from reflection_app.runs.lessons import write_exposures
from reflection_app.runs.models.attempt import Attempt, Verdict
from reflection_app.runs.models.run import Run, Step
from reflection_app.runs.question_rows import write_question


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
