"""What trying a policy found, as its page tells it."""

from dataclasses import dataclass

from reflection_app.core.models import Project
from reflection_app.loops.review_rules import ReviewPolicy, RuleAction
from reflection_app.reviews.policy_trial import MOST_VERDICTS, TRIED_DAYS, PolicyTrial, try_policy
from reflection_app.reviews.trial_decisions import Counted
from reflection_app.reviews.views.rule_words import in_words


@dataclass(frozen=True)
class RuleLine:
    """How many verdicts a rule decided about."""

    number: int
    words: str
    many: int
    lets_stand: bool


@dataclass(frozen=True)
class Column:
    """What one policy would have done."""

    counted: Counted

    @property
    def audits(self) -> int:
        return round(self.counted.audits)

    @property
    def rules(self) -> list[RuleLine]:
        return [
            RuleLine(number, in_words(rule), many, rule.action is RuleAction.STAND)
            for number, (rule, many) in enumerate(
                zip(self.counted.policy.rules, self.counted.by_rule, strict=True), start=1
            )
        ]


@dataclass(frozen=True)
class TrialView:
    trial: PolicyTrial
    days: int = TRIED_DAYS
    most: int = MOST_VERDICTS

    @property
    def typed(self) -> Column:
        return Column(self.trial.typed)

    @property
    def saved(self) -> Column:
        return Column(self.trial.saved)

    @property
    def draws(self) -> bool:
        """Whether a random share was part of it."""
        policies = (self.trial.typed.policy, self.trial.saved.policy)
        return any(rule.share < 1 for policy in policies for rule in policy.rules)


def tried(project: Project, policy: ReviewPolicy, *, saved: ReviewPolicy) -> TrialView:
    """The typed policy tried beside the one that holds."""
    return TrialView(try_policy(project.pk, policy, saved=saved))
