"""The design seeds' own examples through the running desk: the five papers and the repeated mistake, in Chinese."""

import json
from itertools import count
from typing import Any

import pytest

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback
from tests.end_to_end.thinking import Mind
from tests.runs.critiques import critique

_numbers = count(1)
ROOM = {"time_budget_s": 60, "token_budget": 200_000}
PAPERS = "收集至少 5 篇关于多智能体编排的论文，其中至少 3 篇为关键论文，以 JSON 返回。"
REQUIREMENTS: dict[str, Any] = {
    "required_fields": ["papers[].title"],
    "counts": [
        {"path": "papers", "min": 5, "name": "论文"},
        {"path": "papers", "where": {"key": True}, "min": 3, "name": "关键论文"},
    ],
}
ONLY_THREE = "仅收集了 3 篇论文，需要至少 5 篇"
REFLECTED: dict[str, Any] = {
    "expected": "5 篇以上论文，其中 3 篇关键论文",
    "actual": "3 篇论文，其中 2 篇关键论文",
    "gap": "缺少 2 篇论文，缺少 1 篇关键论文",
    "questions": ["搜索词是否足够广泛？", "是否充分利用了时间预算？"],
    "surface_issue": "仅收集了 3 篇论文",
    "occurrence_process": ["1. 使用了过于狭窄的搜索词", "2. 仅搜索了 cs.AI 分类", "3. 在收集到 3 篇后过早停止"],
    "root_cause": "搜索策略过于保守，没有充分利用时间预算",
}
PLANNED: dict[str, Any] = {
    "repair_steps": [
        {"action": "扩展搜索词", "kind": "model", "tool": "", "expected_outcome": "获取更多候选论文"},
        {"action": "增加搜索分类", "kind": "model", "tool": "", "expected_outcome": "覆盖 cs.LG, cs.CL 等相关领域"},
    ],
    "resources_needed": ["arXiv"],
    "estimated_effort": "medium",
    "remediation": "修改 system prompt，强调必须满足最小要求",
    "learning_notes": "未来执行时，应在早期检查数量是否达标，避免后期时间不足",
    "anti_pattern": {
        "pattern_name": "过早停止搜索",
        "symptoms": ["在未达标时停止", "搜索词过窄"],
        "prevention": "在搜索开始时设置明确的数量目标，并在过程中检查",
    },
    "instruction": "在结束之前检查论文数量是否达到最小要求。",
    "hint": "",
}


def papers(total: int, key: int) -> str:
    listed = [{"title": f"论文 {number}", "key": number <= key} for number in range(1, total + 1)]
    return json.dumps({"papers": listed}, ensure_ascii=False)


def too_few() -> str:
    issue = {"category": "completeness", "severity": "high", "description": ONLY_THREE, "suggested_fix": "扩展搜索词"}
    return critique(45, approved=False, issues=[issue])


@pytest.fixture
def told(desk: Desk, playback: Playback) -> Any:
    """Hands in a task that is answered by `mind`; its run once it has settled."""

    def hand_in(mind: Mind, objective: str, **task: Any) -> Any:
        first_line = playback.add(f"seed-{next(_numbers)}", mind)
        return desk.settled(desk.hand_in(objective=first_line + objective, limits=ROOM, **task))

    return hand_in


def researcher(agent: str) -> Mind:
    return Mind(
        answer=[papers(3, 2), "新的搜索词：agent coordination", "新的分类：cs.LG, cs.CL", papers(6, 3)],
        critic=[too_few(), critique(88, approved=True)],
        reflect=REFLECTED,
        repair_plan=PLANNED,
    )


def test_three_papers_of_five_go_back_and_come_again_complete(told: Any, desk: Desk) -> None:
    mind = researcher("seed-researcher")
    run = told(mind, PAPERS, agent="seed-researcher", requirements=REQUIREMENTS, phase="Phase 1.2")

    assert (run["mode"], run["outcome"], run["best_attempt"]["number"]) == ("reflection_protocol", "succeeded", 2), run
    assert len(json.loads(run["best_attempt"]["content"])["papers"]) == 6
    (ticket,) = desk.all_of("tickets", run=run["id"])
    assert (ticket["verdict"], ticket["target_agent"], ticket["target_phase"], ticket["state"]) == (
        "REVISE",
        "seed-researcher",
        "Phase 1.2",
        "resolved",
    )
    assert ONLY_THREE in [issue["description"] for issue in ticket["issues"]]
    assert "扩展搜索词" in ticket["repair_plan"]

    (report,) = desk.all_of("reports", run=run["id"])
    document = desk.get(f"reports/{report['reflection_id']}/document")
    assert list(document)[:5] == ["reflection_id", "timestamp", "agent", "trigger", "rewind_ticket_id"]
    assert document["rewind_ticket_id"] == ticket["ticket_id"]
    assert document["error_analysis"] == {
        "surface_issue": REFLECTED["surface_issue"],
        "occurrence_process": REFLECTED["occurrence_process"],
        "root_cause": REFLECTED["root_cause"],
    }
    assert document["error_classification"]["type"] == "3.3.2"
    assert [(action["action"], action["status"]) for action in document["repair_actions"]] == [
        ("扩展搜索词", "written"),
        ("增加搜索分类", "written"),
    ]
    assert document["learning_notes"] == PLANNED["learning_notes"]
    assert document["anti_pattern"]["pattern_name"] == "过早停止搜索"
    assert (mind.times("critic"), mind.times("reflect"), mind.times("repair_plan")) == (2, 1, 1)


def test_an_accepted_instruction_stands_in_the_agents_next_run(told: Any, desk: Desk) -> None:
    agent = "academic-researcher-2"
    told(researcher(agent), PAPERS, agent=agent, requirements=REQUIREMENTS)
    (proposed,) = [one for one in desk.all_of("instructions") if one["agent"] == agent]
    desk.decide(f"instructions/{proposed['id']}/decision", {"decision": "accept"})

    mind = Mind(answer=papers(5, 3), critic=critique(90, approved=True))
    run = told(mind, PAPERS, agent=agent, requirements=REQUIREMENTS)
    assert run["outcome"] == "succeeded"
    kind, prompt = mind.asked[0]
    assert kind == "answer"
    assert PLANNED["instruction"] in prompt


def test_the_same_mistake_again_is_a_matter_of_the_model_and_of_a_person(told: Any, desk: Desk) -> None:
    agent = "community-listener"
    objective = "收集社区讨论，并提炼共识点。"
    issue = {
        "category": "completeness",
        "severity": "high",
        "description": "只收集讨论，没有提炼共识点",
        "suggested_fix": "每 5 个帖子后提炼一次共识点",
    }
    plan = PLANNED | {
        "repair_steps": [{"action": "提炼共识点", "kind": "model", "tool": "", "expected_outcome": "列出共识"}],
        "anti_pattern": {
            "pattern_name": "共识点识别不足",
            "symptoms": ["只收集讨论，不提炼共识", "缺少跨帖子的模式识别"],
            "prevention": "明确要求在每 5 个帖子后提炼一次共识点",
        },
    }

    def listener() -> Mind:
        return Mind(
            answer=["讨论一；讨论二；讨论三", "共识：需要更好的编排", "讨论三则。共识：需要更好的编排。"],
            critic=[critique(40, approved=False, issues=[issue]), critique(85, approved=True)],
            reflect=REFLECTED | {"surface_issue": "没有提炼共识点"},
            repair_plan=plan,
        )

    first = told(listener(), objective, agent=agent, mode="reflection_protocol")
    again = told(listener(), objective, agent=agent, mode="reflection_protocol")
    (one,), (two,) = (desk.all_of("reports", run=run["id"]) for run in (first, again))
    assert (first["outcome"], one["type"], two["type"]) == ("succeeded", "3.3.2", "3.3.1")

    whole = desk.get(f"reports/{two['reflection_id']}")
    assert whole["facts"]["is_repeated"] is True
    assert whole["facts"]["similar"]["found"][0]["reflection_id"] == one["reflection_id"]
    assert [entry["name"] for entry in whole["proposals"] if entry["kind"] == "anti_pattern"] == ["共识点识别不足"]

    # The next verdict is put before a person, although the critic approves of it.
    assert (again["state"], again["waiting_for"]) == ("waiting_review", "checkpoint")
    claim = desk.decide("reviews/claim", {"review_id": desk.all_of("reviews", run=again["id"])[0]["id"]})
    desk.decide(
        f"reviews/{claim['review']['id']}/decision", {"lease_token": claim["lease_token"], "decision": "approve"}
    )
    assert desk.settled(again["id"])["outcome"] == "succeeded"
