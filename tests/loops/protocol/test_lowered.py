"""A lowered expectation: what passes by it alone says so, and less than the plan lowered never passes."""

import json
from typing import Any

import pytest

from reflection_app.loops.actor_critic import CriticAnswer, judge
from reflection_app.loops.attempt_effects import AskReviewer, RecordVerdict, ReviewReason
from reflection_app.loops.requirement_checks import check_requirements, judge_requirements
from reflection_app.loops.requirements import Lowered, LoweredRequirement, Requirements
from reflection_app.loops.task_spec import Thresholds
from reflection_app.loops.verdicts import Outcome, Verdict
from tests.loops.playing import decided, play
from tests.loops.protocol.playing import (
    PAPERS,
    PLAN,
    Desk,
    asked_in,
    missing,
    papers,
    passing,
    plan_of,
    protocol_spec,
)
from tests.runs.critiques import critique

FEWER = LoweredRequirement(requirement="items in papers", min=3)
MANY = Requirements.model_validate(
    {"schema": {"type": "object"}, "required_fields": ["summary"], "counts": [{"path": "papers", "min": 5, "max": 9}]}
)


def lowering(*lowered: dict[str, Any]) -> str:
    return json.dumps(PLAN | {"lowered": list(lowered)})


def judged(played: Any, attempt: int) -> Any:
    return [e.judgement for e in played.of(RecordVerdict) if e.judgement.attempt == attempt][-1]


def played_with(second: str, *, plan: str, critic: Any = None, alike: bool = True, **spec: Any) -> Any:
    actor = [papers(2), "notes", second]
    desk = Desk(
        actor=actor,
        critic=critic or [missing(), passing()],
        plan=plan,
        alike=alike,
        reviewer=decided(Verdict.PASS),
    )
    return play(protocol_spec(requirements=PAPERS, limits={"max_iterations": 2}, **spec), desk)


def test_fewer_pass_where_the_plan_lowered_the_number_and_a_person_sees_by_how_much() -> None:
    played = played_with(papers(3), plan=lowering({"requirement": "items in papers", "min": 3}))
    judgement = judged(played, 2)
    assert judgement.passed_lowered
    assert judgement.lowered.in_words == ("a score from 40", "items in papers: at least 3")
    [result] = judgement.requirements.results
    assert (result.met, result.expected, result.lowered_from) == (
        True,
        "at least 3 items in papers",
        "at least 5 items in papers",
    )
    [asked] = played.of(AskReviewer)
    assert (asked.reason, asked.judgement.passed_lowered) == (ReviewReason.CHECKPOINT, True)
    assert "items in papers: at least 3" in asked.why[-1]
    assert "items in papers: at least 3" in asked_in(played, "attempt-2/critique")
    assert "items in papers: at least 3" in asked_in(played, "attempt-2/answer")
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_less_than_the_plan_lowered_does_not_pass() -> None:
    plan = lowering({"requirement": "items in papers", "min": 4})
    assert judged(played_with(papers(3), plan=plan), 2).verdict is Verdict.REVISE
    assert judged(played_with(papers(3), plan=json.dumps(PLAN)), 2).verdict is Verdict.REVISE


def test_a_number_is_lowered_at_most_by_half_and_what_is_no_requirement_not_at_all() -> None:
    plan = lowering(
        {"requirement": "items in papers", "min": 1},
        {"requirement": "items in papers with key = 1", "min": 1},
        {"requirement": "schema", "min": None},
        {"requirement": "", "min": 1},
    )
    assert plan_of(played_with(papers(3), plan=plan)).lowered == (FEWER,)
    for nothing in (5, 9, 0, -1, True, "3", None):
        higher = lowering({"requirement": "items in papers", "min": nothing})
        assert plan_of(played_with(papers(3), plan=higher)).lowered == ()


def test_only_a_mistake_that_came_again_lowers_anything() -> None:
    plan = lowering({"requirement": "items in papers", "min": 3})
    played = played_with(papers(3), plan=plan, alike=False)
    assert plan_of(played).lowered == ()
    assert judged(played, 2).verdict is Verdict.REVISE
    assert judged(played, 2).lowered is None


def test_the_attempt_after_the_lowered_one_is_judged_by_the_task_again() -> None:
    desk = Desk(
        actor=[papers(2), "notes", papers(1), "notes", papers(3)],
        critic=[missing(), passing()],
        plan=[lowering({"requirement": "items in papers", "min": 3}), json.dumps(PLAN)],
        alike=True,
        reviewer=decided(Verdict.REVISE),
    )
    played = play(protocol_spec(requirements=PAPERS, limits={"max_iterations": 3}), desk)
    assert judged(played, 3).verdict is Verdict.REVISE


@pytest.mark.parametrize(
    ("score", "approved", "verdict", "is_lowered"),
    [
        (45, True, Verdict.PASS, True),
        (40, True, Verdict.PASS, True),
        (39, True, Verdict.REVISE, True),
        (45, False, Verdict.REVISE, True),
        (50, True, Verdict.PASS, False),
        (29, True, Verdict.REJECT, True),
    ],
)
def test_the_score_alone_passes_from_the_lowered_one(
    score: float, approved: bool, verdict: Verdict, is_lowered: bool
) -> None:
    answer = CriticAnswer.model_validate_json(critique(score, approved=approved))
    judgement = judge(answer, attempt=2, thresholds=Thresholds(), lowered=Lowered(score=40))
    assert (judgement.verdict, judgement.lowered is not None) == (verdict, is_lowered)
    higher = judge(answer, attempt=2, thresholds=Thresholds(), lowered=Lowered(score=90))
    assert higher.passed == (approved and score >= 50), "nothing is raised by it"


def test_fields_may_be_left_out_and_the_form_and_the_most_stay() -> None:
    lowered = Lowered(
        score=40,
        requirements=(
            LoweredRequirement(requirement="summary"),
            LoweredRequirement(requirement="schema"),
            LoweredRequirement(requirement="items in papers", min=3),
        ),
    )
    fewer = check_requirements(MANY, papers(3), lowered=lowered)
    assert fewer.all_met
    assert [result.lowered_from != "" for result in fewer.results] == [False, True, True]
    assert judge_requirements(fewer, attempt=2, lowered=lowered).passed_lowered
    assert not check_requirements(MANY, papers(10), lowered=lowered).all_met, "more than the most"
    assert not check_requirements(MANY, "[1]", lowered=lowered).all_met, "another form"
    whole = check_requirements(MANY, json.dumps({"papers": [1] * 5, "summary": "s"}), lowered=lowered)
    assert whole.all_met
    assert not whole.is_lowered
    assert judge_requirements(whole, attempt=2, lowered=lowered).lowered is None
