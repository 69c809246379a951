import json
from datetime import UTC, datetime, timedelta, timezone

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import corrected, document_of
from tests.loops.reporting import seed_report

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


def test_times_are_told_in_utc() -> None:
    there = AT.astimezone(timezone(timedelta(hours=8)))
    assert document_of(seed_report(), timestamp=there)["timestamp"] == "2025-02-20T14:30:22.123456Z"


def test_an_anti_pattern_is_optional() -> None:
    assert "anti_pattern" not in document_of(seed_report(anti_pattern=None), timestamp=AT)


def test_a_corrected_class_is_in_the_document_with_the_persons_reason() -> None:
    report = corrected(seed_report(), to=ErrorClass.MODEL_CAPABILITY, reason=" 第四次了 ")
    classed = document_of(report, timestamp=AT)["error_classification"]
    assert (classed["type"], classed["description"]) == ("3.3.1", "Model capability: 第四次了")
