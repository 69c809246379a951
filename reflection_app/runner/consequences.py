"""The rows that follow from an effect's result, written in the same transaction as the step itself."""

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
    ProposeEntry,
    ProposeInstruction,
    RecallLessons,
    RecordCompleteness,
    RecordFindings,
    RecordFixOutcome,
    RecordMemories,
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
from reflection_app.models import Attempt, Run, Step, Verdict
from reflection_app.runner.batch import Batch
from reflection_app.runner.completeness_rows import write_what_is_missing
from reflection_app.runner.failure_rows import write_failure, write_fix_outcome
from reflection_app.runner.journal import Attempts
from reflection_app.runner.journal_writes import Follow
from reflection_app.runner.lessons import write_exposures
from reflection_app.runner.question_rows import write_question
from reflection_app.runner.reflector_rows import keep_what_was_found
from reflection_app.runner.report_rows import write_instruction, write_proposal, write_report
from reflection_app.runner.review_rows import open_reviews
from reflection_app.runner.ticket_rows import begin_ticket, write_ticket


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
            case AskReviewer(judgement=judgement) | RequestAudit(judgement=judgement):
                batch.write()
                open_reviews(run, step, effect, attempt=_attempt(run, judgement.attempt, attempts=attempts))
            case IssueTicket():
                write_ticket(run, step, batch, issued=value, attempt=_attempt(run, value.attempt, attempts=attempts))
            case _:
                _write_more(effect, value, run=run, step=step, batch=batch)

    return follow


def _write_more(effect: AnyEffect, value: Any, *, run: Run, step: Step, batch: Batch) -> None:
    """What follows from the six steps, reports, proposals, questions, tool failures and completeness checks."""
    match effect:
        case RecordStage(record=record):
            begin_ticket(run, ticket_id=record.ticket_id)
        case RecordReport(report=report):
            write_report(run, step, batch, report=report, kept=value)
        case ProposeEntry(proposal=proposal):
            write_proposal(run, batch, proposal=proposal)
        case ProposeInstruction(instruction=instruction):
            write_instruction(run, batch, instruction=instruction)
        case AskPerson(question=question):
            write_question(run, step, batch, asked=question)
        case RecordToolFailure(failure=failure):
            write_failure(run, step, batch, diagnosed=failure)
        case RecordFixOutcome(outcome=outcome):
            write_fix_outcome(run, batch, outcome=outcome)
        case RecordPlan() | RecordCompleteness() | RecordSupplements():
            write_what_is_missing(effect, run=run, step=step, batch=batch)
        case _:
            _write_to_notebook(effect, value, run=run, batch=batch)


def _write_to_notebook(effect: AnyEffect, value: Any, *, run: Run, batch: Batch) -> None:
    """What the notebook has of a step: who was told what, what was found, and what was suggested."""
    match effect:
        case RecallLessons():
            write_exposures(run, told=value)
        case RecordFindings() | RecordMemories():
            batch.write()
            keep_what_was_found(effect, run=run)
        case RecordMergeSuggestion(suggestion=suggestion):
            keep_suggestion(run.project_id, run_id=run.pk, suggestion=suggestion.model_dump(mode="json"))


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
