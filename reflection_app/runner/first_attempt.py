"""Whether a run's first attempt was good enough: what the worth of lessons is measured by, and nothing else.

A run that stopped early still tells, as far as its first attempt was judged: one that is good ends its run, so leaving
out what stopped later would leave out failures alone. Where only a weak referee's word stands in a run that ended
unverified, nothing is known.
"""

from collections.abc import Iterable

from notebook_app.public import settle, was_drawn_for
from reflection_app.loops.best_attempt import strongest_judgements
from reflection_app.loops.ends import Outcome
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.models import Run, Verdict


def first_attempt_succeeded(
    judgements: Iterable[Judgement], *, outcome: Outcome | None, kept: int | None, made: int
) -> bool | None:
    """Whether attempt 1 was accepted; None where nothing can tell, as of a run that has not ended.

    `kept` is the number of the attempt that the run keeps, `made` how many there are. The strongest referee's word on
    attempt 1 holds. What it let pass has failed all the same where the run went on and kept another.
    """
    if outcome is None or not made:
        return None
    judged = strongest_judgements(judgements).get(1)
    if judged is not None and judged.referee is Referee.PERSON:
        return judged.passed
    if outcome is Outcome.UNVERIFIED and (judged is None or judged.referee.is_weak):
        return None
    if judged is None:
        return False if made > 1 else None
    return judged.passed and kept == 1


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
    rows = Verdict.objects.filter(attempt__run=run, attempt__number=1).order_by("created_at", "id")
    judgements = [
        Judgement(attempt=1, referee=Referee(referee), verdict=VerdictName(verdict), score=score)
        for referee, verdict, score in rows.values_list("referee", "verdict", "score")
    ]
    kept = run.best_attempt.number if run.best_attempt else None
    outcome = Outcome(run.outcome) if run.outcome else None
    return first_attempt_succeeded(judgements, outcome=outcome, kept=kept, made=run.attempts_made)
