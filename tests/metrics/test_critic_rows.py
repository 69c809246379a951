"""Which verdicts calibration is of, and what each weighs: by the journal's own draws, and nothing that was chosen."""

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.calibration import Compared, JudgementSource
from reflection_app.metrics.critics import compared_verdicts, still_to_come
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figuring import figure_due
from reflection_app.metrics.models import RunFigure
from reflection_app.reviews.asking import AskInput, ask_for_review
from reflection_app.reviews.models import Panel, Review
from reflection_app.runs.advance import advance
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run, Step
from reflection_app.tasks.models import Task
from tests import given
from tests.reviews.panels import adjudication, people, say
from tests.reviews.reviewed import criticised, decide, review_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def project() -> Project:
    return given.project()


def judging(**more: Any) -> Chosen:
    today = timezone.now().date()
    return Chosen(today - timedelta(days=1), today + timedelta(days=1), **more)


def compared(project: Project) -> list[Compared]:
    return compared_verdicts(project.pk, judging())


def test_an_audited_verdict_weighs_one_by_the_share_of_its_own_draw(project: Project) -> None:
    for _try in range(60):
        run = criticised(project, policy={"rules": [], "audit_share": 0.25})
        if review := Review.objects.filter(run=run).first():
            break
    assert review is not None
    drawn = Step.objects.get(run=run, key="attempt-1/audit-draw").result
    assert isinstance(drawn, dict)
    decide(review, VerdictName.REVISE)
    [row] = compared(project)
    assert (row.judged.critic, row.judged.people, row.behind) == ("PASS", "REVISE", review.pk)
    assert row.judged.weight == pytest.approx(1 / drawn["share"]) == 4
    assert (row.judged.confidence, row.judged.cluster) == (0.9, run.pk)


def test_what_always_waits_weighs_one_and_a_rules_draw_its_own_chance(project: Project) -> None:
    decide(review_of(criticised(project, score=10, policy={})))
    decide(review_of(criticised(project, confidence=0.2, policy={})))
    rules = [{"share": 0.999999}, {"share": 0.5, "action": "stand"}]
    decide(review_of(criticised(project, policy={"rules": rules, "audit_share": 0.1})))
    weights = [row.judged.weight for row in compared(project)]
    assert weights[1:] == [1, 1]
    assert weights[0] == pytest.approx(1 / (0.999999 + 0.000001 * 0.1))
    assert [row.judged.critic for row in compared(project)] == ["PASS", "PASS", "REJECT"]


def test_a_critic_is_its_model_and_the_version_of_its_prompts(project: Project) -> None:
    run = criticised(project)
    decide(review_of(run))
    [row] = compared(project)
    critique = Step.objects.get(run=run, key="attempt-1/critique")
    assert (row.critic.source, row.critic.model) == (JudgementSource.DESK, critique.model)
    assert critique.model
    expected = "-".join(
        run.prompt_versions[name][:6] for name in ("critic_system", "critic_evaluate", "critic_requirements")
    )
    assert row.critic.version == expected


def test_what_was_asked_for_by_hand_is_left_out_whatever_was_said(project: Project) -> None:
    run = criticised(project, policy={"rules": [], "audit_share": 0})
    [asked] = ask_for_review(run, AskInput(note="Is it right?"), actor=Actor())
    decide(asked, VerdictName.REVISE)
    assert compared(project) == []
    panel_run = criticised(project, policy={"rules": [], "audit_share": 0})
    asked_of_two = ask_for_review(panel_run, AskInput(note="And this?", reviewers=2), actor=Actor())
    panel = asked_of_two[0].panel
    assert panel is not None
    for person in people(project, 2):
        say(panel, person)
    assert compared(project) == []


def test_copies_scripts_and_what_is_done_again_are_left_out(project: Project) -> None:
    run = criticised(project)
    decide(review_of(run), VerdictName.REVISE)
    again = Run.objects.get(parent=run)
    advance(again.pk)
    last = Step.objects.filter(run=run).count()
    advance(fork_run(run, ForkInput(from_step=last + 1), actor=Actor()).pk)
    for review in Review.objects.filter(run__parent__isnull=False, state="waiting"):
        decide(review)
    assert len(compared(project)) == 1
    Run.objects.filter(pk=run.pk).update(is_scripted=True)
    assert compared(project) == []


def test_nothing_is_told_of_an_open_panel_and_of_a_settled_one_what_it_came_to(project: Project) -> None:
    run = criticised(project, policy={"rules": [{"reviewers": 2}]})
    panel = Panel.objects.get(run=run)
    first, second, third = people(project, 3)
    say(panel, first)
    assert compared(project) == []
    assert still_to_come(project.pk, judging()).waiting == 1
    say(panel, second, VerdictName.REJECT)
    assert compared(project) == []
    assert still_to_come(project.pk, judging()).waiting == 1
    settling = adjudication(panel)
    decide(settling, VerdictName.REJECT)
    [row] = compared(project)
    assert (row.judged.critic, row.judged.people, row.behind) == ("PASS", "REJECT", settling.pk)
    assert still_to_come(project.pk, judging()).waiting == 0
    agreeing = Panel.objects.get(run=criticised(project, policy={"rules": [{"reviewers": 2}]}))
    for person in (second, third):
        say(agreeing, person)
    assert [row.judged.people for row in compared(project)] == ["PASS", "REJECT"]


def test_what_is_undecided_is_counted_and_other_days_agents_and_projects_are_not(project: Project) -> None:
    decided, waiting = criticised(project), criticised(project)
    decide(review_of(decided))
    assert review_of(waiting).state == "waiting"
    assert still_to_come(project.pk, judging()).waiting == 1
    assert still_to_come(project.pk, judging()).withdrawn == 0
    assert len(compared(project)) == 1
    assert compared(given.project()) == []
    before = timezone.now().date() - timedelta(days=2)
    assert compared_verdicts(project.pk, Chosen(before, before)) == []
    for narrowed in (judging(agent="nobody"), judging(mode="reflexion"), judging(kind="reasoning")):
        assert compared_verdicts(project.pk, narrowed) == []
    decided.refresh_from_db()
    assert len(compared_verdicts(project.pk, judging(kind="creative_writing", mode=decided.mode))) == 1


def test_a_type_that_was_found_out_narrows_down_as_one_that_was_told(project: Project) -> None:
    run = criticised(project)
    decide(review_of(run))
    while figure_due():
        pass
    Task.objects.filter(project=project).update(kind="")
    RunFigure.objects.filter(run=run).update(kind="poetry")
    assert len(compared_verdicts(project.pk, judging(kind="poetry"))) == 1
    assert compared_verdicts(project.pk, judging(kind="prose")) == []
