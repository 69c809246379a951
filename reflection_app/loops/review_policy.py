"""Which verdicts wait for a person."""

from dataclasses import dataclass

from reflection_app.loops.effects import ReviewReason
from reflection_app.loops.task_spec import ReviewPolicy
from reflection_app.loops.verdicts import Judgement, Verdict


@dataclass(frozen=True)
class Waits:
    """That a verdict waits, and what the person is told of why."""

    reason: ReviewReason
    why: tuple[str, ...] = ()


def why_it_waits(judgement: Judgement, *, policy: ReviewPolicy, kind: str = "") -> Waits | None:
    """Why this verdict on a task of `kind` waits for a person, or None where it stands at once.

    A critic that gave no confidence is not taken for an unsure one. A REJECT that need not wait is not made to by its
    score or confidence: that it is low is what it says.
    """
    if judgement.verdict is Verdict.REJECT and policy.reject_waits:
        return Waits(ReviewReason.REJECTED)
    is_unsure = judgement.confidence is not None and judgement.confidence < policy.confidence_below
    if is_unsure and judgement.verdict is not Verdict.REJECT:
        return Waits(ReviewReason.LOW_CONFIDENCE)
    rule = _rule(judgement, policy=policy, kind=kind)
    return Waits(ReviewReason.CHECKPOINT, (f"By the review policy of the project {rule}.",)) if rule else None


def _rule(judgement: Judgement, *, policy: ReviewPolicy, kind: str) -> str:
    """The rule of the policy by which it waits, in words; empty where none does."""
    if kind and kind in policy.kinds_wait:
        return f"every verdict on a task of the type {kind} waits"
    if judgement.verdict is Verdict.REJECT:
        return ""
    if policy.pass_waits if judgement.passed else policy.revise_waits:
        return f"every {judgement.verdict.value} waits"
    if judgement.score < policy.score_below:
        return f"a verdict with a score below {policy.score_below:g} waits, and this one has {judgement.score:g}"
    return ""
