"""Why an item is in the queue: the rule that asked, the draw that took it, and what the person who asked said."""

from dataclasses import dataclass

from reflection_app.loops.effects import Draw, ReviewReason
from reflection_app.loops.review_rules import ReviewPolicy, ReviewRule
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.views.rule_words import in_words
from reflection_app.runs.models import Step, StepState


@dataclass(frozen=True)
class Drawn:
    """The recorded draw that took it: a number below the share."""

    value: float
    share: float


@dataclass(frozen=True)
class WhyHere:
    """`rule` is None where no rule of the policy asked, and `draw` where nothing was drawn."""

    number: int | None
    rule: ReviewRule | None
    draw: Drawn | None

    @property
    def rule_words(self) -> str:
        return in_words(self.rule) if self.rule else ""


def why_here(review: Review) -> WhyHere:
    """What the run's own policy says, which is the one that asked; the project's may have changed since."""
    policy: ReviewPolicy = review.run.get_spec().review_policy
    number = review.rule
    rule = policy.rules[number - 1] if number and number <= len(policy.rules) else None
    return WhyHere(number=number, rule=rule, draw=_draw_of(review, rule))


def _draw_of(review: Review, rule: ReviewRule | None) -> Drawn | None:
    place = f"attempt-{review.attempt.number}"
    if rule is not None and rule.share < 1:
        key = f"{place}/rule-{review.rule}-draw"
    elif review.reason == ReviewReason.AUDIT or (review.panel and review.panel.reason == ReviewReason.AUDIT):
        key = f"{place}/audit-draw"
    else:
        return None
    made = Step.objects.filter(run=review.run_id, key=key, kind=Draw.kind, state=StepState.DONE)
    result = made.values_list("result", flat=True).first()
    if not isinstance(result, dict) or not {"value", "share"} <= result.keys():
        return None
    return Drawn(value=float(result["value"]), share=float(result["share"]))
