"""Whether a judgement stands, or a person is asked first."""

from reflection_app.loops.ends import Outcome
from reflection_app.loops.progress import Progress
from reflection_app.loops.review_effects import AskReviewer, Draw, RequestAudit, ReviewReason
from reflection_app.loops.review_policy import Waits, why_it_waits
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Judgement, Referee, Verdict


def end_by(judgement: Judgement, run: Progress, *, counted: Referee | None = None) -> Outcome | None:
    """The run's end where the judgement that holds means one, or None where another attempt should follow.

    A person who sends an attempt back wants another one, whatever the scores say. With `counted`, only that referee's
    scores say anything.
    """
    if judgement.verdict is Verdict.PASS:
        return Outcome.SUCCEEDED
    if judgement.verdict is Verdict.REJECT:
        return Outcome.REJECTED
    is_worse = judgement.referee is not Referee.PERSON and run.over_corrected(counted=counted)
    return Outcome.OVER_CORRECTED if is_worse else None


async def settle(spec: TaskSpec, run: Progress, judgement: Judgement, *, checkpoint: tuple[str, ...] = ()) -> Judgement:
    """The judgement that holds: the referee's own, or a person's where the policy makes the run wait for one.

    A `checkpoint` makes it wait whatever the policy, and is why.
    """
    if judgement.referee is Referee.PERSON:  # a person edited it, in a fork; nobody needs to be asked again
        return judgement
    number = judgement.attempt
    waits = Waits(ReviewReason.CHECKPOINT, why=checkpoint) if checkpoint else await why_it_waits(spec, run, judgement)
    if waits is None:
        await draw_audit(spec, run, judgement)
        return judgement
    review = AskReviewer(
        key=f"attempt-{number}/review",
        judgement=judgement,
        reason=waits.reason,
        why=waits.why,
        rule=waits.rule,
        reviewers=waits.reviewers,
    )
    decision = await run.perform(review)
    decided = decision.judgement_of(number)
    run.judgements.append(decided)
    return decided


async def draw_audit(spec: TaskSpec, run: Progress, judgement: Judgement) -> None:
    """Puts a share of the judgements that stand before people, without waiting."""
    policy = spec.review_policy
    if policy.audit_share <= 0:
        return
    drawn = await run.perform(Draw(key=f"attempt-{judgement.attempt}/audit-draw", share=policy.audit_share))
    if drawn.hit:
        key = f"attempt-{judgement.attempt}/audit"
        await run.perform(RequestAudit(key=key, judgement=judgement, reviewers=policy.audit_reviewers))
