"""The pages of reflection reports and of instructions."""

from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.protocol.error_classes import (
    ErrorClass,
    FailureFacts,
)
from reflection_app.loops.protocol.reports import RepairAction
from reflection_app.loops.protocol.stages import AntiPattern
from reflection_app.loops.verdicts import Issue
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report
from reflection_app.repairs.reports import CorrectionInput, correct_class
from tests import given
from tests.api.caller import Caller
from tests.loops.reporting import AGENT
from tests.repairs.reports import begun_run, kept_report, revised_run

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
    assert client.get(page_of(report) + "markdown/")["Location"] == page_of(report)


def test_what_was_typed_comes_back_with_what_is_wrong(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    given.logged_in(client, project)
    for typed in ({"type": "3.3.1", "reason": ""}, {"type": "", "reason": "kept words"}):
        answer = correct(client, report, **typed)
        assert (answer.status_code, typed["reason"] in answer.text) == (400, True)
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


KEYS = [
    "reflection_id",
    "timestamp",
    "agent",
    "trigger",
    "rewind_ticket_id",
    "error_analysis",
    "error_classification",
    "repair_actions",
    "learning_notes",
    "anti_pattern",
]


@pytest.fixture
def caller(project: Project) -> Caller:
    return given.caller(project)


def test_the_document_is_just_the_seeds_form_and_a_file(project: Project, caller: Caller) -> None:
    report = kept_report(revised_run(project))
    answer = caller.get(f"reports/{report.reflection_id}/document")
    assert answer.headers["content-type"] == "application/json"
    assert answer.headers["content-disposition"] == f'attachment; filename="reflection_{report.reflection_id}.json"'
    assert list(answer.body) == KEYS
    assert answer.body == report.get_document()


def test_an_anti_pattern_that_was_not_named_is_left_out_everywhere(project: Project, caller: Caller) -> None:
    report = kept_report(begun_run(project), anti_pattern=None)
    assert "anti_pattern" not in caller.get(f"reports/{report.reflection_id}/document").body
    assert "anti_pattern" not in caller.get(f"reports/{report.reflection_id}").body["document"]


def test_reports_are_listed_newest_first_and_found_by_run_agent_and_class(project: Project, caller: Caller) -> None:
    first = kept_report(begun_run(project, agent="somebody-else"), type="3.3.5")
    second = kept_report(begun_run(project))
    kept_report(begun_run(given.project()))

    def names(**query: str) -> list[str]:
        return [one["reflection_id"] for one in caller.get("reports", **query).body["results"]]

    assert names() == [second.reflection_id, first.reflection_id]
    assert names(run=str(first.run_id)) == [first.reflection_id]
    assert names(agent=AGENT) == [second.reflection_id]
    assert names(type="3.3.5") == [first.reflection_id]
    told = CorrectionInput(type=ErrorClass.MODEL_CAPABILITY, reason="第四次了")
    correct_class(second, told, actor=Actor(user=given.member(project)))
    assert (names(type="3.3.2"), names(type="3.3.1")) == ([], [second.reflection_id]), "by the class that holds"
