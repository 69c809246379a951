"""How a run's first attempt went, as it is told to the lessons that were drawn for it."""

from notebook_app.public import settle, was_drawn_for
from reflection_app.loops.ends import Outcome
from reflection_app.loops.first_attempt import first_attempt_succeeded
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models.attempt import VOID, Verdict
from reflection_app.runs.models.run import Run


def settle_first_attempt(run: Run) -> None:
    """Records how the run's first attempt went for the lessons drawn for it, as its rows tell it now.

    Of a run that goes on again, what was recorded is taken back. Call it where the caller's transaction locked `run`.
    """
    subject = str(run.pk)
    if was_drawn_for(run.project_id, subject=subject):
        settle(run.project_id, subject=subject, succeeded=_succeeded(run))


def can_still_count(run: Run) -> bool:
    """Whether a lesson given to this run now can show its worth.

    Not where its first attempt is made, nor where it was scripted, nor in a fork or a redo: they begin with more than
    a task, and their like with no lesson does not exist.
    """
    return not (run.is_scripted or run.parent_id or run.attempts_made or run.is_finished)


def _succeeded(run: Run) -> bool | None:
    rows = Verdict.objects.filter(attempt__run=run, attempt__number=1).exclude(VOID).order_by("created_at", "id")
    judgements = [
        Judgement(attempt=1, referee=Referee(referee), verdict=VerdictName(verdict), score=score)
        for referee, verdict, score in rows.values_list("referee", "verdict", "score")
    ]
    kept = run.best_attempt.number if run.best_attempt else None
    outcome = Outcome(run.outcome) if run.outcome else None
    return first_attempt_succeeded(judgements, outcome=outcome, kept=kept, made=run.attempts_made)
