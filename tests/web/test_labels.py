"""What is kept in English is read in one's own language, and nobody else's words are touched."""

import re
from enum import Enum
from typing import Any

import pytest
from django.utils import translation

from reflection_app.core.models import Role
from reflection_app.loops.diagnosis.diagnoses import FailureSeverity
from reflection_app.loops.graph_words import ASKED_FOR, OUTCOMES, REFEREES, EdgeKind, end_words
from reflection_app.loops.protocol.checklists import report_checklist, revised_output_checklist
from reflection_app.loops.protocol.classification import NAMES, classify
from reflection_app.loops.protocol.error_classes import FailureFacts, SimilarIssues
from reflection_app.loops.protocol.stages import Effort, RepairStatus
from reflection_app.loops.requirement_checks import check_requirements, requirement_issues
from reflection_app.loops.requirements import Requirements
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Outcome, Referee, Severity, Verdict
from reflection_app.repairs.models import TicketState
from reflection_app.runs.models import RunState, StepState
from reflection_app.teams.projects import ROLES
from reflection_app.web.labels import LABELS, in_words
from reflection_app.web.template_filters import duration, shortened

VALUES: list[type[Enum]] = [IssueCategory, Severity, FailureSeverity, Effort, RepairStatus, EdgeKind]


def test_every_state_and_kind_that_pages_show_has_a_label() -> None:
    shown = {str(one.value).replace("_", " ") for values in VALUES for one in values}
    shown |= {str(one.label) for states in (RunState, StepState, TicketState, Role) for one in states}
    shown |= {role.capitalize() for role in ROLES} | set(NAMES.values()) | {end_words(one.value) for one in Outcome}
    shown |= set(REFEREES.values()) | set(OUTCOMES.values()) | {label for _, label in ASKED_FOR.values()}
    assert shown - LABELS == set()


@pytest.mark.parametrize("said", ["Attempt 3", "3 of 5 tests", "score 40", "failed: rejected", "led_to", "%s"])
def test_english_stays_to_the_letter(said: str) -> None:
    assert in_words(said) == said


@pytest.mark.parametrize(
    ("said", "read"),
    [
        ("Attempt 3", "第 3 次尝试"),
        ("failed: all 5 passed", "失败：5 项全部通过"),
        ("high", "高"),
        ("led_to", "引出"),
        ("Attempt three", "Attempt three"),
        ("%(number)s", "%(number)s"),
        ("x" * 5000, "x" * 5000),
    ],
)
def test_chinese_readers_read_chinese_and_others_words_as_they_are(said: str, read: str) -> None:
    with translation.override("zh-hans"):
        assert in_words(said) == read


EMPTY_REPORT: dict[str, Any] = {
    "reflection_id": "",
    "timestamp": "",
    "agent": "",
    "trigger": "",
    "rewind_ticket_id": "",
    "error_analysis": {"surface_issue": "", "occurrence_process": [], "root_cause": ""},
    "error_classification": {"type": "E9", "description": ""},
    "repair_actions": [{"action": ""}],
    "learning_notes": "",
}


def report_sentences() -> list[str]:
    """The sentences that code writes into reports, requirements and reviews of a pick."""
    items = [*report_checklist(EMPTY_REPORT), *revised_output_checklist(
        issues=[Issue(description="甲")], attempt=1, revised_attempt=2, requirements=None,
        judgement=Judgement(
            attempt=2, referee=Referee.CRITIC, verdict=Verdict.REVISE, score=20, issues=(Issue(description="甲"),)
        ),
    )]  # fmt: skip
    said = [item.name for item in items] + [item.why for item in items if not item.ok and item.why]
    for facts in (
        FailureFacts(
            is_completed=True, why_completed="its score is 50, at or above 40, and nothing essential is missing"
        ),
        FailureFacts(is_completed=False, why_completed="its completeness is 20, below 40"),
        FailureFacts(is_completed=False, why_completed="the output is empty", similar=SimilarIssues(looked_at=2)),
    ):
        found = classify(facts)
        said += [found.description]
        for line in found.path:
            question, _mark, rest = line.partition("? ")
            answer, _colon, because = rest.partition(": ")
            said += [f"{question}?", answer, because]
    wanted = Requirements.model_validate(
        {
            "schema": {"type": "object"},
            "required_fields": ["标题"],
            "counts": [
                {"of": "words", "min": 5},
                {"of": "items", "path": "论文", "min": 2, "max": 3, "where": {"关键": "是"}},
                {"of": "characters", "max": 9},
            ],
        }
    )
    report = check_requirements(wanted, '{"论文": []}')
    said += [result.expected for result in report.results]
    for issue in requirement_issues(report):
        said += [issue.description, issue.suggested_fix]
    return said


def test_what_code_writes_into_reports_has_no_english_sentence_for_chinese_readers() -> None:
    with translation.override("zh-hans"):
        read = {said: in_words(said) for said in report_sentences() if said}
    left = {said: words for said, words in read.items() if re.search(r"[A-Za-z]+ [A-Za-z]+", words)}
    assert left == {}
    assert len(read) > 40


def test_times_are_told_in_the_readers_units() -> None:
    with translation.override("zh-hans"):
        assert (duration(125), duration(0.41)) == ("2 分钟 5 秒", "0.4 秒")
        assert shortened("abcdef", 3) == "abc… （还有 3 个字符）"
