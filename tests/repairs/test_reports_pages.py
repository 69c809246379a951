"""The pages of reflection reports and of instructions."""

import json
from typing import Any

import pytest
from django.test import Client

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.loops.protocol.error_classes import (
    ErrorClass,
    FailureFacts,
    SimilarIssue,
    SimilarIssues,
    UnknownBy,
)
from reflection_app.loops.protocol.reports import RepairAction
from reflection_app.loops.protocol.stages import AntiPattern
from reflection_app.loops.verdicts import Issue, IssueCategory
from reflection_app.repairs.models import AgentInstruction, ClassCorrection, Report
from reflection_app.repairs.reports import CorrectionInput, correct_class
from tests.loops.reporting import AGENT
from tests.repairs.reports import begun_run, kept_report, revised_run
from tests.web.stories import HOSTILE, logged_in

pytestmark = pytest.mark.django_db(transaction=True)


def shown(client: Client, path: str, *, status: int = 200) -> str:
    answer = client.get(path)
    assert answer.status_code == status
    return answer.content.decode()


def page_of(report: Report) -> str:
    return f"/p/desk/reports/{report.reflection_id}/"


def test_the_empty_list_says_what_makes_reports(client: Client, project: Project) -> None:
    text = shown(logged_in(client, project), "/p/desk/reports/")
    assert "No reports yet" in text
    assert "A task with minimum requirements runs it by itself" in text


def test_reports_are_listed_with_their_class_and_found_by_it(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    kept_report(begun_run(project, agent="somebody-else"), type="3.3.5", surface_issue="Another one")
    logged_in(client, project)
    text = shown(client, "/p/desk/reports/")
    assert page_of(report) in text
    assert "3.3.2 Decision error" in text
    assert "Another one" in text
    for query in (f"agent={AGENT}", "type=3.3.2", f"run={report.run_id}"):
        text = shown(client, f"/p/desk/reports/?{query}")
        assert report.surface_issue in text
        assert "Another one" not in text
    assert "No report matches" in shown(client, "/p/desk/reports/?type=3.3.1")
    assert "Another one" in shown(client, "/p/desk/reports/?type=nonsense&run=nonsense&before=nonsense")


def test_the_classes_of_errors_are_shown_in_the_readers_language(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    logged_in(client, project)
    client.cookies["django_language"] = "zh-hans"
    for path in ("/p/desk/reports/", page_of(report)):
        text = shown(client, path)
        assert "流水线崩溃" in text
        assert "Pipeline crash" not in text
    assert "运行中断。将从最后一个正常步骤恢复。" in text


def test_a_report_reads_like_a_post_mortem(client: Client, project: Project) -> None:
    run = revised_run(project)
    done = (RepairAction(action="扩展搜索词", status="completed", expected_outcome="获取更多候选论文"),)
    report = kept_report(run, revised_attempt=2, repair_actions=done, hint="先检查数量")
    text = shown(logged_in(client, project), page_of(report))
    order = [
        "仅收集了 3 篇论文</h1>",
        "Attempt 1</a> of",
        "1 repair planned: 1 completed.",
        "What was wrong",
        "What happened",
        "使用了过于狭窄的搜索词",
        "Root cause",
        "搜索策略过于保守，没有充分利用时间预算",
        "Repairs",
        "扩展搜索词",
        "Expected: 获取更多候选论文",
        "What was learned",
        "For the next start:",
        "Anti-pattern",
        "过早停止搜索",
        "Class of error",
        "Was the task completed?",
        "The recorded facts",
        "Quality of the report",
        "Quality of the revised output",
    ]
    places = [text.find(part) for part in order]
    assert -1 not in places, order[places.index(-1)]
    assert places == sorted(places)
    assert "1. 使用了" not in text
    assert f'href="/p/desk/runs/{run.pk}/#attempt-2"' in text
    assert report.ticket is not None
    assert f"/p/desk/tickets/{report.ticket.ticket_id}/" in text


def test_the_facts_stand_beside_the_code(client: Client, project: Project) -> None:
    earlier = kept_report(begun_run(project))
    found = SimilarIssue(
        reflection_id=earlier.reflection_id,
        category=IssueCategory.COMPLETENESS,
        description="只收集讨论，不提炼共识",
        now="没有提炼共识",
        similarity=0.81,
    )
    facts = FailureFacts(
        is_completed=False,
        why_completed="its score is 20, below 30",
        is_repeated=True,
        similar=SimilarIssues(looked_at=4, found=(found,)),
        score=20,
    )
    report = kept_report(begun_run(project), type=ErrorClass.MODEL_CAPABILITY, facts=facts)
    text = shown(logged_in(client, project), page_of(report))
    assert "81 % alike: 只收集讨论，不提炼共识" in text
    assert f'<a href="{page_of(earlier)}">{earlier.reflection_id}</a>' in text
    assert "4 earlier reports looked at" in text
    assert "its score is 20, below 30" in text


@pytest.mark.parametrize(
    ("by", "said"),
    [
        (UnknownBy.AGENT, "the agent&#x27;s own field"),
        (UnknownBy.REFLECTOR, "named by the reflector"),
        (UnknownBy.MEANING, "read by its meaning"),
        (UnknownBy.WORDS, "by plain words alone"),
    ],
)
def test_the_page_says_how_it_was_found_that_the_agent_does_not_know(
    client: Client, project: Project, by: UnknownBy, said: str
) -> None:
    facts = FailureFacts(
        is_completed=False, said_unknown=True, quote="no idea", unknown_by=by, found_nothing=("search",), score=20
    )
    report = kept_report(begun_run(project), type=ErrorClass.MISSING_KNOWLEDGE, facts=facts)
    text = shown(logged_in(client, project), page_of(report))
    assert said in text.replace("&#39;", "&#x27;").replace("agent's", "agent&#x27;s")
    assert "Calls that found nothing: search." in text


def test_both_files_can_be_fetched(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    logged_in(client, project, Role.VIEWER)
    document = client.get(page_of(report) + "document/")
    assert json.loads(document.content) == report.get_document()
    assert "仅收集了" in document.content.decode()
    assert document["Content-Disposition"] == f'attachment; filename="reflection_{report.reflection_id}.json"'
    markdown = client.get(page_of(report) + "markdown/")
    assert markdown["Content-Type"] == "text/markdown; charset=utf-8"
    assert markdown.content.decode().startswith("# 仅收集了 3 篇论文\n")


def correct(client: Client, report: Report, **typed: str) -> Any:
    return client.post(page_of(report) + "class/", {"before": "3.3.2"} | typed)


def test_a_reviewer_corrects_the_class(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    logged_in(client, project, Role.REVIEWER)
    answer = correct(client, report, type="3.3.1", reason="第四次了")
    assert (answer.status_code, answer["Location"]) == (302, page_of(report))
    text = shown(client, page_of(report))
    assert "3.3.1 Model capability" in text
    assert "The tree said 3.3.2 Decision error." in text
    assert "第四次了" in text
    assert "过早停止搜索" in text.split("Proposed to the notebook")[1]
    assert "corrected" in shown(client, "/p/desk/reports/?type=3.3.1")


@pytest.mark.parametrize(
    ("typed", "said"),
    [
        ({"type": "3.3.1", "reason": ""}, "Say why"),
        ({"type": "", "reason": "kept words"}, "This is missing"),
        ({"type": "3.3.1", "reason": "x" * 2001}, "At most 2,000 characters."),
    ],
)
def test_what_was_typed_comes_back_with_what_is_wrong(
    client: Client, project: Project, typed: dict[str, str], said: str
) -> None:
    report = kept_report(begun_run(project))
    answer = correct(logged_in(client, project), report, **typed)
    text = answer.content.decode()
    assert answer.status_code == 400
    assert said in text
    assert typed["reason"] in text
    assert '<details class="raw" id="correct" open>' in text
    assert not ClassCorrection.objects.exists()


def test_a_class_that_somebody_else_corrected_is_told(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    told = CorrectionInput(type=ErrorClass.NORMAL_ITERATION, reason="It was fine.")
    correct_class(report, told, actor=Actor())
    answer = correct(logged_in(client, project), report, type="3.3.1", reason="my words")
    text = answer.content.decode()
    assert answer.status_code == 409
    assert "The class is 3.3.5 by now." in text
    assert "my words" in text


def test_a_viewer_reads_and_decides_nothing(client: Client, project: Project) -> None:
    report = kept_report(begun_run(project))
    instruction = proposed(report)
    logged_in(client, project, Role.VIEWER)
    text = shown(client, page_of(report)) + shown(client, "/p/desk/instructions/")
    assert "Another class?" not in text
    assert 'value="accept"' not in text
    assert correct(client, report, type="3.3.1", reason="why").status_code == 403
    assert client.post(f"/p/desk/instructions/{instruction.pk}/", {"decision": "accept"}).status_code == 403


def proposed(report: Report, text: str = "至少 5 篇。") -> AgentInstruction:
    return AgentInstruction.objects.create(project=report.project, agent=report.agent, text=text, report=report)


@pytest.mark.parametrize("place", ["report", "instructions"])
def test_an_instruction_is_accepted_where_it_is_read(client: Client, project: Project, place: str) -> None:
    report = kept_report(begun_run(project))
    instruction = proposed(report)
    logged_in(client, project, Role.REVIEWER)
    at = page_of(report) if place == "report" else "/p/desk/instructions/"
    assert "至少 5 篇。" in shown(client, at)
    answer = client.post(
        f"/p/desk/instructions/{instruction.pk}/", {"decision": "accept", "text": "至少 6 篇。", "from": place}
    )
    assert (answer.status_code, answer["Location"]) == (302, at)
    instruction.refresh_from_db()
    assert (instruction.state, instruction.text) == ("accepted", "至少 6 篇。")
    assert 'value="withdraw"' in shown(client, at)


def test_a_refused_decision_keeps_what_was_typed(client: Client, project: Project) -> None:
    instruction = proposed(kept_report(begun_run(project)))
    logged_in(client, project)
    address = f"/p/desk/instructions/{instruction.pk}/"
    answer = client.post(address, {"decision": "accept", "text": "y" * 2001})
    assert answer.status_code == 400
    assert "y" * 2001 in answer.content.decode()
    assert client.post(address, {"decision": "decline"}).status_code == 302
    answer = client.post(address, {"decision": "accept", "text": "late"})
    assert answer.status_code == 409
    assert "has decided: declined" in answer.content.decode()
    assert client.get(address)["Location"] == "/p/desk/instructions/"
    assert client.put(address).status_code == 405


def test_hostile_text_is_shown_and_does_nothing(client: Client, project: Project) -> None:
    report = kept_report(
        begun_run(project),
        surface_issue=HOSTILE,
        occurrence_process=(HOSTILE,),
        root_cause=HOSTILE,
        description=HOSTILE,
        remediation=HOSTILE,
        repair_actions=(RepairAction(action=HOSTILE, expected_outcome=HOSTILE),),
        learning_notes=HOSTILE,
        hint=HOSTILE,
        remaining_issues=(HOSTILE,),
        issues=(Issue(description=HOSTILE, suggested_fix=HOSTILE),),
        anti_pattern=AntiPattern(pattern_name=HOSTILE, symptoms=(HOSTILE,), prevention=HOSTILE),
        facts=FailureFacts(is_completed=False, why_completed=HOSTILE, interruption=HOSTILE, quote=HOSTILE),
    )
    proposed(report, HOSTILE)
    logged_in(client, project)
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
    text = shown(logged_in(client, project), page_of(report))
    assert "An attempt that fell short" in text
    assert "Nothing was recorded." in text
    assert "written by code" in text
    assert "No revised attempt was made from it" in text
