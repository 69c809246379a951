"""A policy tried on what referees said: the same decisions as a run's own, over everything that they really judged."""

from collections import Counter
from datetime import timedelta
from decimal import Decimal
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import ReviewPolicy, ReviewRule, RuleAction
from reflection_app.loops.verdicts import Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews import policy
from reflection_app.reviews.policy import Facts, chances, counted, try_policy
from reflection_app.runs.models import Run, Step, Verdict
from tests import given
from tests.metrics.judged import judged_run

NOBODY = ReviewPolicy(rules=(), audit_share=0)
SURE = Facts("PASS", 80, None, "", "")


@pytest.mark.parametrize("fits", [True, False])
def test_a_random_share_goes_on_to_the_next_rule(fits: bool) -> None:
    rules = (ReviewRule(share=0.3, agents=() if fits else ("x",)), ReviewRule(share=0.5, action=RuleAction.STAND))
    policy = ReviewPolicy(rules=rules)
    assert chances(policy, SURE) == pytest.approx([0.3, 0.35] if fits else [0, 0.5])
    found = counted(policy, Counter({SURE: 1_000}))
    waiting = 300 if fits else 0
    assert (found.waiting, found.standing, found.opinions) == (waiting, 1_000 - waiting, waiting)
    assert (found.by_rule, found.audits) == ([waiting, 350 if fits else 500], (1_000 - waiting) / 10)


@pytest.fixture
def project(db: None) -> Project:
    return given.project("tried")


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
    judged_run(given.project("another"))
    assert tried() == 3


def test_what_is_beyond_the_bound_is_said(project: Project, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(policy, "MOST_VERDICTS", 2)
    for score in (10, 20, 30):
        judged_run(project, score=score)
    trial = try_policy(project.pk, waits_for(score_below=15), saved=NOBODY)
    assert (trial.verdicts, trial.left_out, trial.typed.waiting) == (2, 1, 0)
