"""The review policy of a project: rules; the first that fits a verdict says whether a person is asked."""

from decimal import Decimal
from enum import StrEnum
from typing import Annotated, Any

from pydantic import Field, model_validator

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Confidence, Judgement, Score, Verdict

MOST_RULES = 30
MOST_REVIEWERS = 5
Name = Annotated[Text, Field(min_length=1, max_length=120)]
Names = Annotated[tuple[Name, ...], Field(max_length=50)]


class RuleAction(StrEnum):
    """WAIT: the run waits for a person. STAND: the verdict stands at once; only the audit may still draw it."""

    WAIT = "wait"
    STAND = "stand"


class ReviewRule(Value):
    """Fits a verdict that meets every condition given; what is empty or None is no condition.

    Of those that fit, a random `share` is taken, and the rest goes on to the next rule. `reviewers` judge it blindly.
    """

    name: Text = Field(default="", max_length=80)
    action: RuleAction = RuleAction.WAIT
    verdicts: tuple[Verdict, ...] = Field(default=(), max_length=3)
    score_from: Score | None = None
    score_below: Score | None = None
    confidence_below: Confidence | None = None
    kinds: Names = ()
    agents: Names = ()
    cost_from_usd: Annotated[Decimal, Field(ge=0, max_digits=12, decimal_places=6)] | None = None
    share: float = Field(default=1.0, gt=0, le=1)
    reviewers: int = Field(default=1, ge=1, le=MOST_REVIEWERS)

    def fits(self, judgement: Judgement, *, kind: str = "", agent: str = "", cost_usd: Decimal = Decimal(0)) -> bool:
        """Whether every condition holds. A critic that gave no confidence is not taken for an unsure one."""
        confidence = judgement.confidence
        return (
            (not self.verdicts or judgement.verdict in self.verdicts)
            and (self.score_from is None or judgement.score >= self.score_from)
            and (self.score_below is None or judgement.score < self.score_below)
            and (self.confidence_below is None or (confidence is not None and confidence < self.confidence_below))
            and (not self.kinds or kind in self.kinds)
            and (not self.agents or agent in self.agents)
            and (self.cost_from_usd is None or cost_usd >= self.cost_from_usd)
        )


EVERY_REJECT = ReviewRule(verdicts=(Verdict.REJECT,))
UNSURE = ReviewRule(verdicts=(Verdict.PASS, Verdict.REVISE), confidence_below=0.6)
FORMER_NAMES = frozenset(
    {"reject_waits", "revise_waits", "pass_waits", "confidence_below", "score_below", "kinds_wait"}
)


class ReviewPolicy(Value):
    """Which verdicts wait for a person, and what share of all others is looked at without waiting.

    `audit_share` is drawn from every verdict that no rule made wait, those that a rule let stand among them.
    `unsettled_waits`: where the evidence does not settle which attempt to keep, a person picks.
    """

    rules: tuple[ReviewRule, ...] = Field(default=(EVERY_REJECT, UNSURE), max_length=MOST_RULES)
    unsettled_waits: bool = True
    audit_share: float = Field(default=0.1, ge=0, le=1)
    audit_reviewers: int = Field(default=1, ge=1, le=MOST_REVIEWERS)

    @model_validator(mode="before")
    @classmethod
    def _from_former_form(cls, given: Any) -> Any:
        """Policies that were kept, or that runs began with, before there were rules."""
        if not isinstance(given, dict) or not FORMER_NAMES & given.keys() or "rules" in given:
            return given
        kept = {name: value for name, value in given.items() if name not in FORMER_NAMES}
        return kept | {"rules": _rules_of_former(given)}


def _rules_of_former(given: dict[str, Any]) -> tuple[ReviewRule, ...]:
    """The rules that say what the switches of a former policy said, in the order in which they were looked at."""
    not_rejected = (Verdict.PASS, Verdict.REVISE)
    waiting = {
        Verdict.REVISE: given.get("revise_waits", False),
        Verdict.PASS: given.get("pass_waits", False),
    }
    rules = []
    if given.get("reject_waits", True):
        rules.append(EVERY_REJECT)
    if confidence := given.get("confidence_below", 0.6):
        rules.append(ReviewRule(verdicts=not_rejected, confidence_below=confidence))
    if kinds := given.get("kinds_wait"):
        rules.append(ReviewRule(kinds=tuple(kinds)))
    rules += [ReviewRule(verdicts=(verdict,)) for verdict, waits in waiting.items() if waits]
    if score := given.get("score_below"):
        rules.append(ReviewRule(verdicts=not_rejected, score_below=score))
    return tuple(rules)
