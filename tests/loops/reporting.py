"""The report of the third design seed, as a value."""

from typing import Any

from reflection_app.loops.protocol.error_classes import ErrorClass, FailureFacts
from reflection_app.loops.protocol.reports import RepairAction, Report
from reflection_app.loops.protocol.stages import AntiPattern
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity

AGENT = "academic-researcher"
ISSUE = Issue(
    category=IssueCategory.COMPLETENESS,
    severity=Severity.HIGH,
    description="仅收集了 3 篇论文，需要至少 5 篇",
)
PATTERN = AntiPattern(
    pattern_name="过早停止搜索",
    symptoms=("在未达标时停止", "搜索词过窄"),
    prevention="在搜索开始时设置明确的数量目标，并在过程中检查",
)


def seed_report(**fields: Any) -> Report:
    """The seed's "错误溯源报告格式", with other `fields` where they are given."""
    values: dict[str, Any] = {
        "reflection_id": "ref_001",
        "attempt": 1,
        "agent": AGENT,
        "trigger": Trigger.CRITIC_EVALUATION,
        "ticket_id": "rewind_20250220_143022",
        "issues": (ISSUE,),
        "surface_issue": "仅收集了 3 篇论文",
        "occurrence_process": (
            "1. 使用了过于狭窄的搜索词",
            "2. 仅搜索了 cs.AI 分类",
            "3. 在收集到 3 篇后过早停止",
        ),
        "root_cause": "搜索策略过于保守，没有充分利用时间预算",
        "type": ErrorClass.DECISION_ERROR,
        "description": "决策错误：过早停止搜索",
        "remediation": "修改 system prompt，强调必须满足最小要求",
        "repair_actions": (
            RepairAction(action="扩展搜索词", expected_outcome="获取更多候选论文"),
            RepairAction(action="增加搜索分类", expected_outcome="覆盖 cs.LG, cs.CL 等相关领域"),
        ),
        "learning_notes": "未来执行时，应在早期检查数量是否达标，避免后期时间不足",
        "anti_pattern": PATTERN,
        "facts": FailureFacts(is_completed=False, why_completed="1 of 1 minimum requirements are not met: papers"),
    }
    return Report.model_validate(values | fields)
