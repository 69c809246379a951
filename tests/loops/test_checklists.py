from datetime import UTC, datetime
from typing import Any

import pytest

from reflection_app.loops.protocol.checklists import CheckItem, report_checklist, revised_output_checklist
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import RepairAction, document_of
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


def test_only_the_anti_pattern_is_optional() -> None:
    document = document_of(seed_report(), timestamp=datetime(2025, 2, 20, tzinfo=UTC))
    assert [item.name for item in report_checklist(document) if item.is_optional] == ["Has an anti-pattern"]


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
