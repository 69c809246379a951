"""Reflection reports and instructions over REST."""

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.repairs.reports import CorrectionInput, correct_class
from tests import given
from tests.api.caller import Caller
from tests.loops.reporting import AGENT
from tests.repairs.reports import begun_run, kept_report, revised_run

pytestmark = pytest.mark.django_db

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
    assert answer.body["error_analysis"]["surface_issue"] == "仅收集了 3 篇论文"
    assert answer.body["rewind_ticket_id"].startswith("rewind_")


def test_an_anti_pattern_that_was_not_named_is_left_out_everywhere(project: Project, caller: Caller) -> None:
    report = kept_report(begun_run(project), anti_pattern=None)
    assert "anti_pattern" not in caller.get(f"reports/{report.reflection_id}/document").body
    assert "anti_pattern" not in caller.get(f"reports/{report.reflection_id}").body["document"]


def test_one_report_tells_all_that_is_known_of_it(project: Project, caller: Caller) -> None:
    run = revised_run(project)
    report = kept_report(run, revised_attempt=2, hint="先检查数量", instruction="至少 5 篇。")
    answer = caller.get(f"reports/{report.reflection_id}")
    assert answer.status == 200
    body = answer.body
    assert (body["run_id"], body["attempt"], body["revised_attempt"]) == (str(run.pk), 1, 2)
    assert (body["type"], body["computed_type"], body["agent"]) == ("3.3.2", "3.3.2", AGENT)
    assert body["rewind_ticket_id"] == body["document"]["rewind_ticket_id"]
    assert body["facts"]["why_completed"] == "1 of 1 minimum requirements are not met: papers"
    assert body["path"][0] == "Was the task completed? No: 1 of 1 minimum requirements are not met: papers"
    assert {item["ok"] for item in body["checklists"]["report"]} == {True}
    assert [item["ok"] for item in body["checklists"]["revised_output"]] == [None, True, True, True]
    assert (body["corrections"], body["instructions"], body["proposals"]) == ([], [], [])


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
