"""Which verdicts wait for a person."""

from dataclasses import dataclass

from reflection_app.loops.progress import Progress
from reflection_app.loops.review_effects import Draw, ReviewReason
from reflection_app.loops.review_rules import ReviewRule, RuleAction
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.verdicts import Judgement, Verdict


@dataclass(frozen=True)
class Waits:
    """That a verdict waits: why, by which rule of the policy (counted from 1), and for how many people."""

    reason: ReviewReason
    rule: int | None = None
    reviewers: int = 1
    why: tuple[str, ...] = ()


async def why_it_waits(spec: TaskSpec, run: Progress, judgement: Judgement) -> Waits | None:
    """Why this verdict waits for a person, or None where it stands at once.

    The first rule that fits decides. A rule for a share of what fits draws; the draw is kept in the journal.
    """
    for number, rule in enumerate(spec.review_policy.rules, start=1):
        if not rule.fits(judgement, kind=spec.kind, agent=spec.agent, cost_usd=run.cost_usd):
            continue
        if rule.share < 1 and not await _is_drawn(run, judgement, number=number, share=rule.share):
            continue
        if rule.action is RuleAction.STAND:
            return None
        return Waits(reason_of(rule, judgement.verdict), rule=number, reviewers=rule.reviewers)
    return None


def reason_of(rule: ReviewRule, verdict: Verdict) -> ReviewReason:
    """What the queue calls it: a rejection is one whatever rule found it."""
    if verdict is Verdict.REJECT:
        return ReviewReason.REJECTED
    return ReviewReason.LOW_CONFIDENCE if rule.confidence_below is not None else ReviewReason.POLICY


async def _is_drawn(run: Progress, judgement: Judgement, *, number: int, share: float) -> bool:
    drawn = await run.perform(Draw(key=f"attempt-{judgement.attempt}/rule-{number}-draw", share=share))
    return drawn.hit
