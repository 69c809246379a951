import json
from datetime import UTC, datetime
from typing import Any

import pytest

from reflection_app.loops.protocol.checklists import CheckItem, report_checklist, revised_output_checklist
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import RepairAction, corrected, document_of
from reflection_app.loops.requirements import RequirementResult, RequirementsReport
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee, Verdict
from tests.loops.reporting import ISSUE, seed_report


def checked(is_fallback: bool = False, **fields: Any) -> dict[str, bool | None]:
    document = document_of(seed_report(**fields), timestamp=datetime(2025, 2, 20, tzinfo=UTC))
    return {item.name: item.ok for item in report_checklist(document, is_fallback=is_fallback)}


def test_the_seeds_report_passes_its_own_checklist() -> None:
    items = checked()
    assert len(items) == 10
    assert set(items.values()) == {True}


@pytest.mark.parametrize(
    ("fields", "failed"),
    [
        ({"agent": ""}, "Names the agent"),
        ({"ticket_id": ""}, "Names the rewind ticket"),
        ({"reflection_id": ""}, "Has a reflection_id"),
        ({"root_cause": "…"}, "The error analysis is concrete"),
        ({"occurrence_process": (" ",)}, "The error analysis is concrete"),
        ({"is_fallback": True}, "The error analysis is concrete"),
        ({"description": ""}, "The classification has a valid code"),
        ({"repair_actions": ()}, "The repair actions are concrete steps"),
        ({"repair_actions": (RepairAction(action="x"),)}, "The repair actions are concrete steps"),
        ({"learning_notes": ""}, "The learning notes can be used again"),
        ({"anti_pattern": None}, "Has an anti-pattern"),
    ],
)
def test_what_a_report_lacks_is_told(fields: dict[str, Any], failed: str) -> None:
    items = checked(**fields)
    assert [name for name, ok in items.items() if not ok] == [failed]


def test_a_normal_iteration_needs_no_repair() -> None:
    items = checked(type=ErrorClass.NORMAL_ITERATION, repair_actions=())
    assert items["The repair actions are concrete steps"] is None


MET = RequirementsReport(results=(RequirementResult(name="papers", met=True),))
UNMET = RequirementsReport(results=(RequirementResult(name="papers", met=False), RequirementResult(name="t", met=True)))


def judged(verdict: Verdict = Verdict.PASS, *issues: Issue) -> Judgement:
    return Judgement(attempt=2, referee=Referee.CRITIC, verdict=verdict, score=60, issues=issues)


def revised(**fields: Any) -> dict[str, CheckItem]:
    values: dict[str, Any] = {
        "issues": [ISSUE],
        "attempt": 1,
        "revised_attempt": 2,
        "requirements": MET,
        "judgement": judged(),
    }
    return {item.name: item for item in revised_output_checklist(**values | fields)}


def test_an_accepted_revision_passes_all_four() -> None:
    assert [item.ok for item in revised().values()] == [True] * 4


def test_without_a_revision_there_is_nothing_to_check() -> None:
    (item,) = revised(revised_attempt=None).values()
    assert (item.ok, item.why) == (None, "none was submitted yet")


def test_unmet_requirements_are_named() -> None:
    item = revised(requirements=UNMET)["Meets the minimum requirements"]
    assert (item.ok, item.why) == (False, "not met: papers")
    assert revised(requirements=None)["Meets the minimum requirements"].ok is None


def test_an_issue_that_is_named_again_was_not_fixed() -> None:
    still = ISSUE.model_copy(update={"description": "只收集了 4 篇论文，至少需要 5 篇"})
    item = revised(judgement=judged(Verdict.REVISE, still))["Fixes every issue of the ticket"]
    assert (item.ok, item.why) == (False, f"still there (compared by words): {ISSUE.description}")


def test_another_issue_does_not_stand_for_the_old_one() -> None:
    other = Issue(category=IssueCategory.CORRECTNESS, description="发表日期与来源不一致")
    item = revised(judgement=judged(Verdict.REVISE, other))["Fixes every issue of the ticket"]
    assert (item.ok, item.why) == (True, "none of 1 is named again (compared by words); the verdict has others")


def test_a_ticket_without_issues_is_decided_by_the_verdict() -> None:
    assert revised(issues=[])["Fixes every issue of the ticket"].ok is True
    assert revised(issues=[], judgement=judged(Verdict.REVISE))["Fixes every issue of the ticket"].ok is False


def test_what_was_not_judged_yet_is_left_open() -> None:
    items = revised(judgement=None)
    assert items["Fixes every issue of the ticket"].ok is None
    assert items["The format is right"].ok is None


def test_a_wrong_format_is_told_in_the_words_of_the_judge() -> None:
    wrong = Issue(category=IssueCategory.FORMAT, description="JSON 格式错误：缺少右括号")
    item = revised(judgement=judged(Verdict.REVISE, wrong))["The format is right"]
    assert (item.ok, item.why) == (False, wrong.description)


AT = datetime(2025, 2, 20, 14, 30, 22, 123456, tzinfo=UTC)
# "错误溯源报告格式 / Error Trace Report Format" of the seed, but for the zone of its time, which the seed leaves out.
SEED = """{
  "reflection_id": "ref_001",
  "timestamp": "2025-02-20T14:30:22.123456Z",
  "agent": "academic-researcher",
  "trigger": "critic_evaluation",
  "rewind_ticket_id": "rewind_20250220_143022",
  "error_analysis": {
    "surface_issue": "仅收集了 3 篇论文",
    "occurrence_process": [
      "1. 使用了过于狭窄的搜索词",
      "2. 仅搜索了 cs.AI 分类",
      "3. 在收集到 3 篇后过早停止"
    ],
    "root_cause": "搜索策略过于保守，没有充分利用时间预算"
  },
  "error_classification": {
    "type": "3.3.2",
    "description": "决策错误：过早停止搜索",
    "remediation": "修改 system prompt，强调必须满足最小要求"
  },
  "repair_actions": [
    {
      "action": "扩展搜索词",
      "status": "pending",
      "expected_outcome": "获取更多候选论文"
    },
    {
      "action": "增加搜索分类",
      "status": "pending",
      "expected_outcome": "覆盖 cs.LG, cs.CL 等相关领域"
    }
  ],
  "learning_notes": "未来执行时，应在早期检查数量是否达标，避免后期时间不足",
  "anti_pattern": {
    "pattern_name": "过早停止搜索",
    "symptoms": [
      "在未达标时停止",
      "搜索词过窄"
    ],
    "prevention": "在搜索开始时设置明确的数量目标，并在过程中检查"
  }
}"""


def test_the_document_is_the_seeds_example_to_the_letter() -> None:
    written = json.dumps(document_of(seed_report(), timestamp=AT), ensure_ascii=False, indent=2)
    assert written == SEED


def test_an_anti_pattern_is_optional() -> None:
    assert "anti_pattern" not in document_of(seed_report(anti_pattern=None), timestamp=AT)


def test_a_corrected_class_is_in_the_document_with_the_persons_reason() -> None:
    report = corrected(seed_report(), to=ErrorClass.MODEL_CAPABILITY, reason=" 第四次了 ")
    classed = document_of(report, timestamp=AT)["error_classification"]
    assert (classed["type"], classed["description"]) == ("3.3.1", "Model capability: 第四次了")
