"""How likely a verdict was to be put before people by the policy that its run began with. Pure."""

from reflection_app.loops.review_rules import ReviewPolicy, RuleAction
from reflection_app.reviews.policy import Facts, fitting


def chance_of_review(policy: ReviewPolicy, facts: Facts) -> float:
    """The probability with which rules, or the audit of what they let stand, ask people about such a verdict.

    The first rule that fits and is not kept from it by its share s decides: Σ_k s_k · Π_{j<k}(1 − s_j) · a_k, plus
    Π_k(1 − s_k) · a for what no rule takes. a_k is 1 where rule k waits and the audit's share a where it lets stand.
    """
    chance, left = 0.0, 1.0
    for index in fitting(policy)(facts):
        rule = policy.rules[index]
        asked = 1.0 if rule.action is RuleAction.WAIT else policy.audit_share
        chance += left * rule.share * asked
        left *= 1 - rule.share
    return chance + left * policy.audit_share
