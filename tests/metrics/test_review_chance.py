"""The chance of a review is what a policy comes to, however its rules follow on each other."""

from decimal import Decimal
from random import Random

import pytest

from reflection_app.loops.task_spec import ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Judgement, Referee, Verdict
from reflection_app.metrics.critics import chance_of_review
from reflection_app.reviews.policy import Facts
from tests.loops.rule_playing import decided_by

SURE_PASS = Facts("PASS", 80.0, 0.9, "", "")
JUDGEMENT = Judgement(attempt=1, referee=Referee.CRITIC, verdict=Verdict.PASS, score=80, confidence=0.9)


@pytest.mark.parametrize(
    ("facts", "chance"),
    [
        (SURE_PASS, 0.1),
        (Facts("PASS", 80.0, None, "", ""), 0.1),
        (Facts("PASS", 80.0, 0.5, "", ""), 1.0),
        (Facts("REJECT", 10.0, 0.9, "", ""), 1.0),
    ],
)
def test_by_the_usual_policy_all_rejects_and_unsure_ones_are_reviewed_and_a_tenth_of_the_rest(
    facts: Facts, chance: float
) -> None:
    assert chance_of_review(ReviewPolicy(), facts) == pytest.approx(chance)


def test_who_escapes_one_draw_may_be_found_by_the_next() -> None:
    rules = (
        ReviewRule(share=0.3),
        ReviewRule(kinds=("other",)),
        ReviewRule(share=0.5, action=RuleAction.STAND),
        ReviewRule(share=0.2, cost_from_usd=Decimal("0.5")),
    )
    policy = ReviewPolicy(rules=rules, audit_share=0.1)
    assert chance_of_review(policy, SURE_PASS) == pytest.approx(0.3 + 0.7 * (0.5 * 0.1 + 0.5 * 0.1))
    dear = SURE_PASS._replace(cost_usd=Decimal(1))
    assert chance_of_review(policy, dear) == pytest.approx(0.3 + 0.7 * (0.5 * 0.1 + 0.5 * (0.2 + 0.8 * 0.1)))


def test_it_is_how_often_the_loops_own_rules_ask() -> None:
    rules = (
        ReviewRule(share=0.25),
        ReviewRule(share=0.4, action=RuleAction.STAND),
        ReviewRule(share=0.5),
    )
    policy = ReviewPolicy(rules=rules, audit_share=0.2)
    rng, rounds, asked = Random(5), 20_000, 0
    for _ in range(rounds):
        waits = decided_by(policy, JUDGEMENT, drawn=[rng.random() for _ in rules])
        asked += waits is not None or rng.random() < policy.audit_share
    assert asked / rounds == pytest.approx(chance_of_review(policy, SURE_PASS), abs=0.012)
