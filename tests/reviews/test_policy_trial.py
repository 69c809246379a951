"""A policy tried on what referees said: the same decisions as a run's own, over everything that they really judged."""

from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID, uuid4

import pytest
from django.utils import timezone
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Judgement, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews import policy
from reflection_app.reviews.policy import Counted, Facts, chance_of, seen_lately, try_policy
from reflection_app.runs.models import Run, Step, Verdict
from reflection_app.tasks.models import Task
from tests.factories import make_project, submit
from tests.loops.rule_playing import decided_by
from tests.metrics.judged import judged_run

NOBODY = ReviewPolicy(rules=(), audit_share=0)
NAMES = st.sampled_from(["", "billing", "退款"])
RULES = st.builds(
    ReviewRule,
    action=st.sampled_from(RuleAction),
    verdicts=st.sets(st.sampled_from(VerdictName), max_size=2).map(tuple),
    score_from=st.sampled_from([None, 30.0]),
    score_below=st.sampled_from([None, 70.0]),
    confidence_below=st.sampled_from([None, 0.6]),
    kinds=st.sampled_from([(), ("退款",)]),
    agents=st.sampled_from([(), ("billing",), ("billing", "退款")]),
    cost_from_usd=st.sampled_from([None, Decimal("0.5")]),
    share=st.sampled_from([0.3, 0.7, 1.0]),
    reviewers=st.integers(1, 3),
)
FACTS = st.builds(
    Facts,
    verdict=st.sampled_from([verdict.value for verdict in VerdictName]),
    score=st.sampled_from([10.0, 30.0, 69.0, 70.0]),
    confidence=st.sampled_from([None, 0.2, 0.6]),
    kind=NAMES,
    agent=NAMES,
    cost_usd=st.sampled_from([Decimal(0), Decimal("0.5")]),
)


@given(rules=st.lists(RULES, max_size=4).map(tuple), facts=FACTS, verdict_id=st.uuids())
def test_a_trial_decides_as_a_run_does_with_the_same_draws(
    rules: tuple[ReviewRule, ...], facts: Facts, verdict_id: UUID
) -> None:
    policy = ReviewPolicy(rules=rules)
    judgement = Judgement(
        attempt=1,
        referee=Referee.CRITIC,
        verdict=VerdictName(facts.verdict),
        score=facts.score,
        confidence=facts.confidence,
    )
    about: dict[str, Any] = {"kind": facts.kind, "agent": facts.agent, "cost_usd": facts.cost_usd}
    draws = [chance_of(verdict_id, number) for number in range(4)]
    waits = decided_by(policy, judgement, drawn=draws, **about)
    counted = Counted(policy)
    assert counted.count(verdict_id, facts) is (waits is not None)
    assert (counted.waiting, counted.standing) == ((1, 0) if waits else (0, 1))
    if waits:
        assert waits.rule is not None
        assert (counted.by_rule[waits.rule - 1], counted.opinions) == (1, waits.reviewers)


def test_shares_are_what_they_say_and_the_same_at_every_trial() -> None:
    ids = [uuid4() for _ in range(4000)]
    policy = ReviewPolicy(rules=(ReviewRule(share=0.3), ReviewRule(share=0.5, action=RuleAction.STAND)))
    first, again = Counted(policy), Counted(policy)
    facts = Facts("PASS", 80, None, "", "")
    assert [first.count(one, facts) for one in ids] == [again.count(one, facts) for one in ids]
    assert 1080 <= first.by_rule[0] <= 1320
    assert 1260 <= first.by_rule[1] <= 1540
    assert first.audits == pytest.approx(0.1 * first.standing)


@pytest.fixture
def project(db: None) -> Project:
    return make_project("tried")


def waits_for(**conditions: Any) -> ReviewPolicy:
    return ReviewPolicy(rules=(ReviewRule.model_validate(conditions),), audit_share=0.5)


def test_it_says_how_many_would_have_waited_beside_what_the_saved_policy_asked_for(project: Project) -> None:
    for score in (20, 55, 60, 90):
        judged_run(project, score=score, verdict=VerdictName.PASS if score >= 50 else VerdictName.REJECT)
    trial = try_policy(project.pk, waits_for(score_below=70, verdicts=["PASS"], reviewers=2), saved=ReviewPolicy())
    assert (trial.verdicts, trial.left_out) == (4, 0)
    assert (trial.typed.waiting, trial.typed.by_rule, trial.typed.opinions, trial.typed.audits) == (2, [2], 4, 1.0)
    assert (trial.saved.waiting, trial.saved.by_rule, trial.saved.standing) == (1, [1, 0], 3)
    assert (trial.newly, trial.no_longer) == (2, 1)
    assert [example.verdict.score for example in trial.newly_waiting] == [60, 55]
    assert [example.verdict.verdict for example in trial.no_longer_waiting] == ["REJECT"]
    assert trial.newly_waiting[0].title


@pytest.mark.parametrize(
    ("conditions", "fitting"),
    [
        ({"agents": ["billing"]}, 1),
        ({"kinds": ["letters"]}, 1),
        ({"agents": ["billing"], "kinds": ["letters"]}, 0),
        ({"confidence_below": 0.5}, 1),
    ],
)
def test_rules_by_agent_type_and_confidence_are_tried(
    project: Project, conditions: dict[str, Any], fitting: int
) -> None:
    judged_run(project, agent="billing", confidence=0.9)
    judged_run(project, kind="letters", confidence=None)
    judged_run(project, confidence=0.4)
    assert try_policy(project.pk, waits_for(**conditions), saved=NOBODY).typed.waiting == fitting


def test_the_cost_is_what_the_run_had_cost_when_the_verdict_was_given(project: Project) -> None:
    verdict = judged_run(project, cost_usd="0.20")
    Step.objects.create(
        run=verdict.attempt.run,
        seq=90,
        key="later",
        kind="generate",
        request={},
        cost_usd=Decimal(5),
        started_at=timezone.now(),
    )
    assert try_policy(project.pk, waits_for(cost_from_usd="0.20"), saved=NOBODY).typed.waiting == 1
    assert try_policy(project.pk, waits_for(cost_from_usd="0.21"), saved=NOBODY).typed.waiting == 0


def test_only_what_a_policy_decides_about_counts(project: Project) -> None:
    anything = waits_for()

    def tried() -> int:
        return try_policy(project.pk, anything, saved=NOBODY).verdicts

    judged_run(project)
    judged_run(project, referee=Referee.SELF)
    judged_run(project, referee=Referee.TESTS, mode="reflection_protocol", requirements={"results": []})
    assert tried() == 3
    judged_run(project, referee=Referee.SELF, mode="reflection_protocol")
    for referee in (Referee.TESTS, Referee.GENERATED_TESTS, Referee.TOOL, Referee.PERSON):
        judged_run(project, referee=referee)
    copied = judged_run(project)
    Step.objects.filter(made_verdict=copied).update(is_inherited=True)
    scripted = judged_run(project)
    Run.objects.filter(pk=scripted.attempt.run_id).update(is_scripted=True)
    old = judged_run(project)
    Verdict.objects.filter(pk=old.pk).update(created_at=timezone.now() - timedelta(days=31))
    judged_run(make_project("another"))
    assert tried() == 3


def test_what_is_beyond_the_bound_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MOST_VERDICTS", 2)
    for score in (10, 20, 30):
        judged_run(project, score=score)
    trial = try_policy(project.pk, waits_for(score_below=15), saved=NOBODY)
    assert (trial.verdicts, trial.left_out, trial.typed.waiting) == (2, 1, 0)


def test_agents_and_types_that_were_seen_lately_are_suggested(project: Project) -> None:
    submit(project, agent="billing", kind="letters", mode="reflexion")
    old = submit(project, agent="gone", kind="letters", mode="reflexion")
    Task.objects.filter(pk=old.task_id).update(created_at=timezone.now() - timedelta(days=31))
    submit(make_project("others"), agent="theirs", mode="reflexion")
    seen = seen_lately(project.pk)
    assert (seen.agents, seen.kinds) == (("billing",), ("letters",))
