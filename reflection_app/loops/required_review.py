"""Required reviews at the end of a run, for tasks that demand a review.

A loop calls `confirm` for a verdict that would end the run, so that another attempt can follow one sent back. This
module covers the rest: limits, errors, and attempts without a judgement.
"""

from reflection_app.loops.attempt_effects import RecordVerdict, ReviewDecision, ReviewReason
from reflection_app.loops.attempts import Waits, ask_reviewer
from reflection_app.loops.progress import AnsweredByPerson, Progress, strongest_judgements
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Ended, Issue, Judgement, Outcome, Referee, Verdict

# Key of the step at which the end of a run waits; no attempt can follow it.
END_REVIEW = "end/review"


async def reviewed_end(spec: TaskSpec, run: Progress, ended: Ended) -> Ended:
    """Return the run's end, after a review if the task requires one and the last attempts had none."""
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
    """Return the number of the attempt to review, or None.

    None means that a reviewer has decided already, or that no complete attempt remains.
    """
    if run.reviewed == len(run.attempts):
        return None
    judged = strongest_judgements(run.judgements)
    by_people = {number for number, judgement in judged.items() if judgement.referee is Referee.PERSON}
    remaining = [number for number in run.attempts if number not in run.unfinished and number not in by_people]
    if not remaining or ended.best_attempt in remaining:
        return ended.best_attempt if remaining else None
    return remaining[-1]


async def ask_unjudged(run: Progress, *, number: int, key: str = "") -> ReviewDecision:
    """Request a review of an attempt without a judgement and return the decision."""
    why = f"Nothing has judged attempt {number}."
    if not any(judgement.attempt == number for judgement in run.judgements):
        # A void judgement, ignored everywhere else. A review refers to a verdict, so a record is required.
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
