"""Which verdicts wait for a person: the first rule that fits decides."""

from decimal import Decimal
from typing import Any

import pytest
from pydantic import ValidationError

from reflection_app.loops.attempt_effects import (
    AskReviewer,
    Decision,
    Draw,
    Drawn,
    RequestAudit,
    ReviewDecision,
    ReviewReason,
)
from reflection_app.loops.attempts import Waits
from reflection_app.loops.task_spec import (
    ReviewPolicy,
    ReviewRule,
    RuleAction,
)
from reflection_app.loops.verdicts import Judgement, Outcome, Referee, Verdict
from tests.loops.playing import Played, play, said, sequence, text_spec
from tests.loops.rule_playing import decided_by
from tests.runs.critiques import critique

LET_STAND = ReviewRule(action=RuleAction.STAND)
WAIT = ReviewRule()


def judged(verdict: Verdict, *, score: float = 60, confidence: float | None = 0.9) -> Judgement:
    return Judgement(attempt=1, referee=Referee.CRITIC, verdict=verdict, score=score, confidence=confidence)


@pytest.mark.parametrize(
    ("verdict", "more", "reason"),
    [
        (Verdict.REJECT, {"score": 10}, ReviewReason.REJECTED),
        (Verdict.REJECT, {"score": 10, "confidence": 0.1}, ReviewReason.REJECTED),
        (Verdict.PASS, {}, None),
        (Verdict.PASS, {"confidence": 0.59}, ReviewReason.LOW_CONFIDENCE),
        (Verdict.PASS, {"confidence": 0.6}, None),
        (Verdict.PASS, {"confidence": None}, None),
    ],
)
def test_by_default_rejections_and_unsure_verdicts_wait(
    verdict: Verdict, more: dict[str, Any], reason: ReviewReason | None
) -> None:
    waits = decided_by(ReviewPolicy(), judged(verdict, **more))
    assert (waits.reason if waits else None) == reason


@pytest.mark.parametrize(
    ("condition", "fitting", "other"),
    [
        ({"verdicts": [Verdict.PASS]}, {"verdict": Verdict.PASS}, {"verdict": Verdict.REVISE}),
        ({"score_from": 70}, {"score": 70}, {"score": 69.9}),
        ({"score_below": 70}, {"score": 69.9}, {"score": 70}),
        ({"confidence_below": 0.5}, {"confidence": 0.49}, {"confidence": 0.5}),
        ({"confidence_below": 0.5}, {"confidence": 0}, {"confidence": None}),
        ({"kinds": ["refunds", "退款"]}, {"kind": "退款"}, {"kind": "letters"}),
        ({"kinds": ["refunds"]}, {"kind": "refunds"}, {"kind": ""}),
        ({"agents": ["billing"]}, {"agent": "billing"}, {"agent": "Billing"}),
        ({"cost_from_usd": "0.25"}, {"cost_usd": Decimal("0.25")}, {"cost_usd": Decimal("0.249999")}),
        (
            {"verdicts": [Verdict.PASS], "score_below": 70, "agents": ["billing"]},
            {"verdict": Verdict.PASS, "score": 60, "agent": "billing"},
            {"verdict": Verdict.PASS, "score": 80, "agent": "billing"},
        ),
    ],
)
def test_a_rule_fits_what_meets_all_of_its_conditions(
    condition: dict[str, Any], fitting: dict[str, Any], other: dict[str, Any]
) -> None:
    policy = ReviewPolicy(rules=(ReviewRule.model_validate(condition),))
    for facts, waits in ((fitting, True), (other, False)):
        about = {name: facts[name] for name in ("kind", "agent", "cost_usd") if name in facts}
        verdict = Judgement(
            attempt=1,
            referee=Referee.CRITIC,
            verdict=facts.get("verdict", Verdict.REVISE),
            score=facts.get("score", 60),
            confidence=facts.get("confidence", 0.9),
        )
        assert bool(decided_by(policy, verdict, **about)) is waits


def test_the_first_rule_that_fits_decides() -> None:
    two_people = ReviewRule(verdicts=(Verdict.PASS,), reviewers=2)
    trusted = ReviewRule(action=RuleAction.STAND, agents=("billing",))
    ordered = ReviewPolicy(rules=(trusted, two_people, WAIT))
    passed = judged(Verdict.PASS)
    assert decided_by(ordered, passed) == Waits(ReviewReason.POLICY, rule=2, reviewers=2)
    assert decided_by(ordered, judged(Verdict.REVISE)) == Waits(ReviewReason.POLICY, rule=3)
    assert decided_by(ordered, judged(Verdict.REJECT), agent="billing") is None
    assert decided_by(ReviewPolicy(rules=(WAIT, trusted)), passed, agent="billing") == Waits(
        ReviewReason.POLICY, rule=1
    )
    assert decided_by(ReviewPolicy(rules=()), judged(Verdict.REJECT)) is None


def test_a_share_is_drawn_under_a_name_of_its_rule_and_the_rest_goes_on_to_the_next() -> None:
    policy = ReviewPolicy(rules=(ReviewRule(share=0.3), ReviewRule(share=0.5, reviewers=3)))
    draws: list[Draw] = []
    passed = judged(Verdict.PASS)
    assert decided_by(policy, passed, drawn=[0.29], draws=draws) == Waits(ReviewReason.POLICY, rule=1)
    assert decided_by(policy, passed, drawn=[0.3, 0.49], draws=draws) == Waits(ReviewReason.POLICY, rule=2, reviewers=3)
    assert decided_by(policy, passed, drawn=[0.3, 0.5], draws=draws) is None
    first, second = Draw(key="attempt-1/rule-1-draw", share=0.3), Draw(key="attempt-1/rule-2-draw", share=0.5)
    assert draws == [first, first, second, first, second]


def test_what_does_not_fit_a_rule_is_not_drawn_for_it() -> None:
    draws: list[Draw] = []
    policy = ReviewPolicy(rules=(ReviewRule(verdicts=(Verdict.REJECT,), share=0.5),))
    assert decided_by(policy, judged(Verdict.PASS), drawn=[], draws=draws) is None
    assert draws == []


def with_draws(policy: ReviewPolicy, *, value: float) -> Played:
    """A text that the critic passes, with this draw for every share."""
    made = sequence([said("one"), said(critique(90, approved=True))])
    return play(
        text_spec(policy=policy),
        lambda effect: Drawn(value=value, share=effect.share) if isinstance(effect, Draw) else made(effect),
    )


def test_the_audit_still_draws_from_what_a_rule_let_stand() -> None:
    played = with_draws(ReviewPolicy(rules=(LET_STAND, WAIT), audit_share=0.2, audit_reviewers=2), value=0.1)
    assert not played.of(AskReviewer)
    [audit] = played.of(RequestAudit)
    assert (audit.key, audit.reviewers) == ("attempt-1/audit", 2)
    assert "attempt-1/audit-draw" in played.keys
    assert played.ended.outcome is Outcome.SUCCEEDED

    missed = with_draws(ReviewPolicy(rules=(LET_STAND,), audit_share=0.2), value=0.2)
    assert not missed.of(RequestAudit)


def test_a_rule_can_ask_by_what_the_run_has_cost_so_far() -> None:
    policy = ReviewPolicy(audit_share=0, rules=(ReviewRule(cost_from_usd=Decimal("0.30")),))
    approved = ReviewDecision(decision=Decision.APPROVE, verdict=Verdict.PASS, score=90)
    cheap, dear = critique(40), critique(90, approved=True)
    answers = [said("one", cost_usd="0.1"), said(cheap), said("two", cost_usd="0.2"), said(dear), approved]
    played = play(text_spec(policy=policy), sequence(answers))
    [asked] = played.of(AskReviewer)
    assert asked.key == "attempt-2/review"


@pytest.mark.parametrize(
    "wrong",
    [
        {"share": 0},
        {"reviewers": 0},
        {"score_below": 101},
        {"agents": [""]},
        {"colour": "red"},
    ],
)
def test_a_rule_that_makes_no_sense_is_refused(wrong: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        ReviewPolicy.model_validate({"rules": [{}, wrong]})
    assert refused.value.errors()[0]["loc"][:3] == ("rules", 1, next(iter(wrong)))
