"""Which verdicts wait for a person."""

from reflection_app.loops.effects import ReviewReason
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Judgement, Verdict


def reason_to_wait(judgement: Judgement, *, policy: ReviewPolicy) -> ReviewReason | None:
    """Why this verdict waits for a person, or None where it stands at once.

    A critic that gave no confidence is not taken for an unsure one.
    """
    if judgement.verdict is Verdict.REJECT:
        return ReviewReason.REJECTED if policy.reject_waits else None
    if judgement.confidence is not None and judgement.confidence < policy.confidence_below:
        return ReviewReason.LOW_CONFIDENCE
    return None
