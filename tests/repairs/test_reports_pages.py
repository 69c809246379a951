"""The pages of reflection reports and of instructions."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.models import Project, Role
from reflection_app.loops.protocol.error_classes import (
    FailureFacts,
)
from reflection_app.loops.protocol.reports import RepairAction
from reflection_app.loops.protocol.stages import AntiPattern
from reflection_app.loops.verdicts import Issue
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report
from tests import given
from tests.repairs.reports import begun_run, kept_report

pytestmark = pytest.mark.django_db


def shown(client: Client, path: str, *, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


def page_of(report: Report) -> str:
    return f"/p/desk/reports/{report.reflection_id}/"


def correct(client: Client, report: Report, **typed: str) -> Any:
    return client.post(page_of(report) + "class/", {"before": "3.3.2"} | typed)


def test_a_reviewer_corrects_the_class(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    given.logged_in(client, project, Role.REVIEWER)
    answer = correct(client, report, type="3.3.1", reason="第四次了")
    assert (answer.status_code, answer["Location"]) == (302, page_of(report))
    text = shown(client, page_of(report))
    assert "3.3.1 Model capability" in text
    assert "Computed class: 3.3.2 Decision error." in text
    assert "第四次了" in text
    assert "过早停止搜索" in text.split("Lessons")[1]
    assert client.get(page_of(report) + "markdown/")["Location"] == page_of(report)


@pytest.mark.parametrize(
    ("typed", "said"),
    [({"type": "3.3.1", "reason": ""}, "Reason"), ({"type": "", "reason": "kept words"}, "This field is required.")],
)
def test_what_was_typed_comes_back_with_what_is_wrong(
    client: Client, project: Project, typed: dict[str, str], said: str
) -> None:
    report = kept_report(begun_run(project))
    answer = correct(given.logged_in(client, project), report, **typed)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert said in text
    assert typed["reason"] in text
    assert '<details class="raw" id="correct" open>' in text
    assert not ClassCorrection.objects.exists()


def proposed(report: Report, text: str = "至少 5 篇。") -> AgentInstruction:
    return AgentInstruction.objects.create(project=report.project, agent=report.agent, text=text, report=report)


@pytest.mark.parametrize("place", ["report", "instructions"])
def test_an_instruction_is_accepted_where_it_is_read(client: Client, project: Project, place: str) -> None:
    report = kept_report(begun_run(project))
    instruction = proposed(report)
    given.logged_in(client, project, Role.REVIEWER)
    at = page_of(report) if place == "report" else "/p/desk/instructions/"
    assert "至少 5 篇。" in shown(client, at)
    answer = client.post(
        f"/p/desk/instructions/{instruction.pk}/", {"decision": "accept", "text": "至少 6 篇。", "from": place}
    )
    assert (answer.status_code, answer["Location"]) == (302, at)
    instruction.refresh_from_db()
    assert (instruction.state, instruction.text) == ("accepted", "至少 6 篇。")
    assert 'value="withdraw"' in shown(client, at)


def test_hostile_text_is_shown_and_does_nothing(client: Client, project: Project) -> None:
    report = kept_report(
        begun_run(project),
        surface_issue=given.HOSTILE,
        occurrence_process=(given.HOSTILE,),
        root_cause=given.HOSTILE,
        description=given.HOSTILE,
        remediation=given.HOSTILE,
        repair_actions=(RepairAction(action=given.HOSTILE, expected_outcome=given.HOSTILE),),
        learning_notes=given.HOSTILE,
        hint=given.HOSTILE,
        remaining_issues=(given.HOSTILE,),
        issues=(Issue(description=given.HOSTILE, suggested_fix=given.HOSTILE),),
        anti_pattern=AntiPattern(pattern_name=given.HOSTILE, symptoms=(given.HOSTILE,), prevention=given.HOSTILE),
        facts=FailureFacts(
            is_completed=False, why_completed=given.HOSTILE, interruption=given.HOSTILE, quote=given.HOSTILE
        ),
    )
    proposed(report, given.HOSTILE)
    given.logged_in(client, project)
    for path in (page_of(report), "/p/desk/reports/", "/p/desk/instructions/"):
        text = shown(client, path)
        assert "<script>alert" not in text
        assert "<img src=x" not in text
        assert "<b onclick" not in text


def test_a_report_that_says_nothing_is_shown_all_the_same(client: Client, project: Project) -> None:
    report = kept_report(
        begun_run(project, agent=""),
        surface_issue="",
        occurrence_process=(),
        root_cause="",
        description="",
        remediation="",
        repair_actions=(),
        learning_notes="",
        anti_pattern=None,
        issues=(),
        is_fallback=True,
    )
    text = shown(given.logged_in(client, project), page_of(report))
    assert "Attempt below the threshold" in text
    assert "Not recorded." in text
    assert "fallback report: no usable model answer" in text
    assert "No revised attempt" in text
