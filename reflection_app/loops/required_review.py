"""Reviews that the task itself requires: where no verdict of the loop waited, its end does.

A loop asks by `confirm` where a verdict would end the run, so that an attempt that is sent back is followed by another.
Here is what remains: limits, errors, and attempts that nothing has judged.
"""

from reflection_app.loops.attempt_effects import RecordVerdict, ReviewDecision, ReviewReason
from reflection_app.loops.attempts import Waits, ask_reviewer
from reflection_app.loops.progress import AnsweredByPerson, Progress, strongest_judgements
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Ended, Issue, Judgement, Outcome, Referee, Verdict

# The step at which the end of a run waits: no attempt can follow it.
END_REVIEW = "end/review"


async def reviewed_end(spec: TaskSpec, run: Progress, ended: Ended) -> Ended:
    """Return the end, by a reviewer's decision where the task requires one and none was made on the last attempts."""
    number = unreviewed_attempt(run, ended) if spec.requires_review else None
    if number is None:
        return ended
    judged = strongest_judgements(run.judgements).get(number)
    try:
        if judged is None or judged.is_void:
            decision = await ask_unjudged(run, number=number, key=END_REVIEW)
        else:
            why = (ended.error,) if ended.error else ()
            decision = await ask_reviewer(run, judged, Waits(ReviewReason.REQUIRED, why=why), key=END_REVIEW)
    except AnsweredByPerson as answered:
        return Ended(outcome=Outcome.SUCCEEDED, best_attempt=answered.attempt)
    if decision.verdict is Verdict.REVISE:
        return run.ended(ended.outcome, error=ended.error)
    return run.ended(Outcome.SUCCEEDED if decision.verdict is Verdict.PASS else Outcome.REJECTED)


def unreviewed_attempt(run: Progress, ended: Ended) -> int | None:
    """Return the number of the attempt to decide on, or None where a person has decided or no attempt is whole."""
    if run.reviewed == len(run.attempts):
        return None
    judged = strongest_judgements(run.judgements)
    by_people = {number for number, judgement in judged.items() if judgement.referee is Referee.PERSON}
    remaining = [number for number in run.attempts if number not in run.unfinished and number not in by_people]
    if not remaining or ended.best_attempt in remaining:
        return ended.best_attempt if remaining else None
    return remaining[-1]


async def ask_unjudged(run: Progress, *, number: int, key: str = "") -> ReviewDecision:
    """Return what a reviewer decides on an attempt that nothing has judged."""
    why = f"Nothing has judged attempt {number}."
    if not any(judgement.attempt == number for judgement in run.judgements):
        # No verdict, and read as none everywhere: a review is of a verdict, so there has to be a row.
        void = Judgement(
            attempt=number,
            referee=Referee.TESTS,
            verdict=Verdict.REVISE,
            score=0,
            confidence=0,
            issues=(Issue(description=why),),
        )
        run.judgements.append(await run.perform(RecordVerdict(key=f"attempt-{number}/unjudged", judgement=void)))
    judgement = next(judged for judged in reversed(run.judgements) if judged.attempt == number)
    return await ask_reviewer(run, judgement, Waits(ReviewReason.UNSETTLED_PICK, why=(why,)), key=key)
