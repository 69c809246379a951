"""The six steps on the real engine: what is kept of them, and the runs that wait for people and agents in between."""

import json
from typing import Any

import pytest

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role, Scope
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.questions import Choice
from reflection_app.metrics.figuring import figure_due
from reflection_app.repairs.models import AgentInstruction, Report, Ticket, TicketState
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Question, Run, RunState, Step, Verdict
from reflection_app.runs.resuming import AnswerInput, answer_question
from tests import given
from tests.loops.protocol.playing import PLAN, REFLECTION
from tests.runs.critiques import critique
from tests.runs.forking import advanced

pytestmark = pytest.mark.django_db

GOOD = critique(90, approved=True)
PAPERS = {"counts": [{"path": "papers", "min": 5}]}


def papers(count: int) -> str:
    return json.dumps({"papers": [{"标题": f"论文 {number}"} for number in range(count)]}, ensure_ascii=False)


def protocol_run(answers: dict[str, str], *, project: Project | None = None, **fields: Any) -> Run:
    task = {"mode": "reflection_protocol", "agent": "academic-researcher", "limits": {"token_budget": 200_000}}
    project = project or given.project(review_policy={"audit_share": 0})
    return given.scripted_run(answers, project=project, **(task | fields))


def six_steps(number: int, *, work: str = "notes", **plan: Any) -> dict[str, str]:
    return {
        f"attempt-{number}/reflect": json.dumps(REFLECTION),
        f"attempt-{number}/plan": json.dumps(PLAN | plan),
        f"attempt-{number}/repair-1/work": work,
    }


def test_three_papers_of_five_are_sent_back_reflected_on_and_repaired_as_in_the_seed() -> None:
    analysis = {
        "expected": "至少 5 篇论文",
        "actual": "3 篇论文",
        "gap": "缺少 2 篇论文",
        "questions": ["搜索词是否足够广泛？"],
        "surface_issue": "仅收集了 3 篇论文",
        "occurrence_process": ["1. 使用了过于狭窄的搜索词", "2. 仅搜索了 cs.AI 分类", "3. 在收集到 3 篇后过早停止"],
        "root_cause": "搜索策略过于保守，没有充分利用时间预算",
    }
    plan = {
        "repair_steps": [
            {"action": "扩展搜索词", "kind": "model", "expected_outcome": "获取更多候选论文"},
            {"action": "增加搜索分类", "kind": "model", "expected_outcome": "覆盖 cs.LG, cs.CL 等相关领域"},
        ],
        "remediation": "修改 system prompt，强调必须满足最小要求",
        "learning_notes": "未来执行时，应在早期检查数量是否达标",
        "anti_pattern": {
            "pattern_name": "过早停止搜索",
            "symptoms": ["搜索词过窄"],
            "prevention": "设置明确的数量目标",
        },
        "instruction": "必须收集至少 5 篇论文后才能停止。",
    }
    run = advanced(
        protocol_run(
            {
                "attempt-1/answer": papers(3),
                "attempt-1/critique": critique(40),
                "attempt-1/reflect": json.dumps(analysis, ensure_ascii=False),
                "attempt-1/plan": json.dumps(plan, ensure_ascii=False),
                "attempt-1/repair-1/work": papers(4),
                "attempt-1/repair-2/work": papers(6),
                "attempt-2/answer": papers(6),
                "attempt-2/critique": GOOD,
            },
            objective="收集关于智能体的论文",
            requirements=PAPERS,
        )
    )
    assert (run.outcome, run.attempts_made) == ("succeeded", 2), run.error
    ticket = Ticket.objects.get(run=run)
    assert (ticket.state, ticket.resolved_by_id) == (TicketState.RESOLVED, run.best_attempt_id)
    report = Report.objects.get(run=run)
    assert (report.error_type, report.surface_issue) == ("3.3.2", "仅收集了 3 篇论文")
    assert report.revised_attempt_id == run.best_attempt_id
    assert [action["status"] for action in report.content["repair_actions"]] == ["written", "written"]
    assert AgentInstruction.objects.get(project_id=run.project_id).text == plan["instruction"]
    kept = Step.objects.filter(run=run, kind="record_stage").order_by("seq").values_list("result", flat=True)
    assert [stage["output"]["step"] for stage in kept if stage] == [
        *("explore", "reflect", "classify", "plan", "execute", "execute", "submit")
    ]


def test_the_same_mistake_in_a_second_run_is_one_of_capability_and_waits_for_a_person() -> None:
    project = given.project(review_policy={"audit_share": 0})
    issue = {"category": "completeness", "severity": "high", "description": "two papers are missing from the list"}
    answers = {
        "attempt-1/answer": "draft",
        "attempt-1/critique": critique(40, issues=[issue]),
        **six_steps(1),
        "attempt-2/answer": "revised",
        "attempt-2/critique": GOOD,
    }
    assert advanced(protocol_run(answers, project=project)).outcome == "succeeded"
    again = advanced(protocol_run(answers, project=project))

    assert (again.state, again.waiting_for) == (RunState.WAITING_REVIEW, "checkpoint")
    assert Report.objects.get(run=again).error_type == "3.3.1"
    assert Review.objects.get(run=again).reason == "checkpoint"
    kept = Entry.objects.filter(project_id=project.pk).order_by("kind").values_list("kind", "occurrences")
    assert list(kept) == [("anti_pattern", 2), ("lesson", 2)], "what both runs learned is counted, not listed twice"


def test_what_the_agent_does_not_know_waits_for_a_person_whose_answer_is_kept_as_a_fact() -> None:
    run = advanced(
        protocol_run(
            {
                "attempt-1/answer": "我不知道哪些会议算数。",
                "attempt-1/critique": critique(35),
                "attempt-1/reflect": json.dumps(REFLECTION),
                "attempt-1/plan": json.dumps(PLAN | {"repair_steps": []}),
                "attempt-1/repair-2/work": "notes",
                "attempt-2/answer": "ACL、EMNLP",
                "attempt-2/critique": GOOD,
            }
        )
    )
    assert (run.state, run.waiting_for) == (RunState.WAITING_REVIEW, "knowledge"), run.error
    answer_question(
        Question.objects.get(run=run), AnswerInput(choice=Choice.ANSWER, text="ACL 和 EMNLP"), actor=Actor()
    )
    assert advanced(run).outcome == "succeeded", run.error
    fact = Entry.objects.get(project_id=run.project_id, kind="project_fact")
    assert fact.content == "ACL 和 EMNLP"
    asked = Step.objects.get(run=run, key="attempt-2/answer").request
    assert asked is not None
    assert "ACL 和 EMNLP" in asked["messages"][-1]["content"]


def test_a_pass_against_a_lowered_expectation_is_told_apart_over_rest_and_in_the_metrics() -> None:
    project = given.project(review_policy={"audit_share": 0})
    issue = {"category": "completeness", "severity": "high", "description": "two papers are missing from the list"}
    plan = six_steps(1, lowered=[{"requirement": "items in papers", "min": 3}])
    answers = {
        "attempt-1/answer": papers(2),
        "attempt-1/critique": critique(40, issues=[issue]),
        **plan,
        "attempt-2/answer": papers(3),
        "attempt-2/critique": GOOD,
    }
    # The first run is where the mistake is made before: a decision error, whose plan lowers nothing.
    first = advanced(protocol_run(answers, project=project, requirements=PAPERS, limits={"max_iterations": 2}))
    assert (first.outcome, Verdict.objects.filter(attempt__run=first, lowered__isnull=False).count()) == (
        "exhausted",
        0,
    )
    run = advanced(protocol_run(answers, project=project, requirements=PAPERS, limits={"max_iterations": 2}))
    assert (run.state, run.waiting_for) == (RunState.WAITING_REVIEW, "checkpoint"), run.error

    review = Review.objects.get(run=run)
    actor = Actor(user=given.member(project, Role.REVIEWER))
    held = claim_review(review, actor=actor)
    assert held.lease_token is not None
    decide_review(held, DecisionInput(lease_token=held.lease_token, decision=Decision.APPROVE), actor=actor)
    run = advanced(run)
    assert run.outcome == "succeeded", run.error
    caller = given.caller(project)
    told = caller.get(f"runs/{run.pk}").body["best_attempt"]
    assert (told["number"], told["referee"], told["passed_lowered"]) == (2, "person", True)
    verdicts = caller.get(f"runs/{run.pk}/attempts").body["results"][1]["verdicts"]
    lowered = verdicts[0]["lowered"]
    assert (lowered["score"], lowered["requirements"]) == (40, [{"requirement": "items in papers", "min": 3}])
    assert verdicts[0]["requirements"]["results"][0]["lowered_from"] == "at least 5 items in papers"
    while figure_due():
        pass
    figured = given.caller(project, scopes=[Scope.METRICS_READ.value]).get("metrics", scripted="true").body
    figure = figured["figures"]["passed_lowered_rate"]
    assert (figure["value"], figure["of"]) == (1, 1)
