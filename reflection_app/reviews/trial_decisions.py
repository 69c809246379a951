"""What a review policy would do with a recorded verdict.

Pure: what a rule's share depends on is no chance but a hash of the verdict's id.
"""

from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from hashlib import blake2b
from typing import NamedTuple
from uuid import UUID

from reflection_app.loops.review_rules import ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Judgement, Referee, Verdict

# Verdicts that are alike to all rules are asked about once; scores with many digits are hardly ever alike.
MOST_REMEMBERED = 20_000


class Facts(NamedTuple):
    """All that rules look at."""

    verdict: str
    score: float
    confidence: float | None
    kind: str
    agent: str
    cost_usd: Decimal = Decimal(0)


def chance_of(verdict_id: UUID, draw: int) -> float:
    """A number in [0, 1) that is always the same for this verdict's draw of that number, from 0."""
    digest = blake2b(verdict_id.bytes, digest_size=8, salt=draw.to_bytes(2)).digest()
    return int.from_bytes(digest) / 2**64


def fitting(policy: ReviewPolicy) -> Callable[[Facts], tuple[int, ...]]:
    """A function to the indexes of those rules that fit, in order."""
    remembered: dict[Facts, tuple[int, ...]] = {}

    def find(facts: Facts) -> tuple[int, ...]:
        known = remembered.get(facts)
        if known is None:
            known = tuple(index for index, rule in enumerate(policy.rules) if _fits(rule, facts))
            if len(remembered) < MOST_REMEMBERED:
                remembered[facts] = known
        return known

    return find


def _fits(rule: ReviewRule, facts: Facts) -> bool:
    judgement = Judgement.model_construct(
        attempt=1,
        referee=Referee.CRITIC,
        verdict=Verdict(facts.verdict),
        score=facts.score,
        confidence=facts.confidence,
    )
    return rule.fits(judgement, kind=facts.kind, agent=facts.agent, cost_usd=facts.cost_usd)


@dataclass
class Counted:
    """What one policy would have done with the verdicts so far. `by_rule` are those that each rule decided about.

    `opinions` are the decisions asked of people; `audits` is how many of the others the audit is expected to draw.
    """

    policy: ReviewPolicy
    waiting: int = 0
    standing: int = 0
    opinions: int = 0
    by_rule: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.by_rule = [0] * len(self.policy.rules)
        self._fitting = fitting(self.policy)

    @property
    def audits(self) -> float:
        return self.standing * self.policy.audit_share

    def count(self, verdict_id: UUID, facts: Facts) -> bool:
        """Whether this verdict would have waited for a person."""
        index = self._deciding(verdict_id, facts)
        if index is not None:
            self.by_rule[index] += 1
            rule = self.policy.rules[index]
            if rule.action is RuleAction.WAIT:
                self.waiting += 1
                self.opinions += rule.reviewers
                return True
        self.standing += 1
        return False

    def _deciding(self, verdict_id: UUID, facts: Facts) -> int | None:
        """The rule that decides, of those that fit the first that is not kept from it by its share."""
        for drawn, index in enumerate(self._fitting(facts)):
            share = self.policy.rules[index].share
            if share == 1 or chance_of(verdict_id, drawn) < share:
                return index
        return None
