"""Which verdicts wait for a person: by verdict, score, confidence and type of task."""

import pytest

from reflection_app.loops.effects import AskReviewer, Decision, IssueTicket, ReviewDecision, ReviewReason
from reflection_app.loops.ends import Outcome
from reflection_app.loops.review_policy import why_it_waits
from reflection_app.loops.review_rules import ReviewPolicy
from reflection_app.loops.verdicts import Judgement, Referee, Verdict
from tests.critiques import critique
from tests.loops.playing import play, said, sequence, text_spec

NOTHING = {"reject_waits": False, "confidence_below": 0}


def judged(verdict: Verdict, *, score: float = 60, confidence: float | None = 0.9) -> Judgement:
    return Judgement(attempt=1, referee=Referee.CRITIC, verdict=verdict, score=score, confidence=confidence)


@pytest.mark.parametrize(
    ("policy", "judgement", "reason"),
    [
        ({}, judged(Verdict.REJECT, score=10), ReviewReason.REJECTED),
        ({}, judged(Verdict.PASS), None),
        ({}, judged(Verdict.REVISE), None),
        ({}, judged(Verdict.REVISE, confidence=0.59), ReviewReason.LOW_CONFIDENCE),
        ({}, judged(Verdict.PASS, confidence=0.59), ReviewReason.LOW_CONFIDENCE),
        ({}, judged(Verdict.PASS, confidence=None), None),
        (NOTHING, judged(Verdict.REJECT, score=0), None),
        (NOTHING | {"pass_waits": True}, judged(Verdict.PASS), ReviewReason.CHECKPOINT),
        (NOTHING | {"pass_waits": True}, judged(Verdict.REVISE), None),
        (NOTHING | {"revise_waits": True}, judged(Verdict.REVISE), ReviewReason.CHECKPOINT),
        (NOTHING | {"score_below": 70}, judged(Verdict.PASS, score=69), ReviewReason.CHECKPOINT),
        (NOTHING | {"score_below": 70}, judged(Verdict.PASS, score=70), None),
        (NOTHING | {"score_below": 70}, judged(Verdict.REJECT, score=0), None),
        (NOTHING | {"kinds_wait": ("refunds",)}, judged(Verdict.PASS, score=99), ReviewReason.CHECKPOINT),
        (NOTHING | {"kinds_wait": ("refunds",)}, judged(Verdict.REJECT, score=0), ReviewReason.CHECKPOINT),
        (NOTHING | {"kinds_wait": ("letters",)}, judged(Verdict.PASS), None),
    ],
)
def test_the_policy_says_which_verdicts_wait(policy: dict[str, object], judgement: Judgement, reason: object) -> None:
    waits = why_it_waits(judgement, policy=ReviewPolicy.model_validate(policy), kind="refunds")
    assert (waits.reason if waits else None) == reason
    if waits and waits.reason is ReviewReason.CHECKPOINT:
        assert "review policy" in waits.why[0]


def test_a_pass_that_waits_by_policy_is_overruled_and_sent_back() -> None:
    policy = ReviewPolicy(audit_share=0, pass_waits=True)
    sent_back = ReviewDecision(decision=Decision.OVERRULE, verdict=Verdict.REVISE, score=40, reason="No sources.")
    approved = ReviewDecision(decision=Decision.APPROVE, verdict=Verdict.PASS, score=90)
    passes = said(critique(90, approved=True))
    played = play(text_spec(policy=policy), sequence([said("one"), passes, sent_back, said("two"), passes, approved]))
    asked = [effect for effect in played.effects if isinstance(effect, AskReviewer)]
    assert [effect.reason for effect in asked] == [ReviewReason.CHECKPOINT] * 2
    assert "every PASS waits" in asked[0].why[0]
    [ticket] = [effect.draft for effect in played.effects if isinstance(effect, IssueTicket)]
    assert (ticket.trigger, ticket.repair_plan) == ("persons_review", ("No sources.",))
    assert played.ended.outcome is Outcome.SUCCEEDED
