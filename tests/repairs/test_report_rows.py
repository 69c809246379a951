"""Rows of reports, and the mistakes that are looked up among them."""

import json
from typing import Any

import pytest
from django.utils import timezone

from notebook_app.models import Entry
from reflection_app.core.models import Project
from reflection_app.loops.effects import FindSimilarIssues, RecordReport
from reflection_app.loops.protocol.error_classes import ErrorClass, SimilarIssues
from reflection_app.loops.protocol.reporting import instruction_for, proposals_for
from reflection_app.loops.protocol.reports import KeptReport, Proposal, ProposalKind
from reflection_app.loops.verdicts import Issue, IssueCategory
from reflection_app.repairs.models import AgentInstruction, Report
from reflection_app.repairs.rows import (
    MOST_REPORTS,
    find_similar_issues,
    is_ours,
    keep_instruction,
    keep_proposal,
    write_report,
)
from reflection_app.repairs.unknown import found_nothing, read_by_meaning
from reflection_app.runs.batch import Batch
from reflection_app.runs.following import StepCommit
from reflection_app.runs.models import Attempt, Run, Step, StepState
from reflection_app.runs.performing import value_of
from tests import given
from tests.repairs.reports import begun_run, kept_report, revised_run
from tests.runs.forking import forked

pytestmark = pytest.mark.django_db


AGAIN = (Issue(category=IssueCategory.COMPLETENESS, description="只收集了 2 篇论文，至少需要 5 篇"),)
OTHER = (Issue(category=IssueCategory.FORMAT, description="JSON 格式错误：缺少右括号"),)


def similar_to(run: Run, issues: tuple[Issue, ...] = AGAIN, *, attempt: int = 1) -> SimilarIssues:
    return find_similar_issues(FindSimilarIssues(key="similar", attempt=attempt, issues=issues), run_id=run.pk)


def test_the_same_mistake_of_the_agent_is_found_in_another_run(project: Project) -> None:
    earlier = kept_report(begun_run(project))
    found = similar_to(begun_run(project))
    assert found.looked_at == 1
    assert [one.reflection_id for one in found.found] == [earlier.reflection_id]


def test_another_agents_mistakes_and_another_projects_do_not_count(project: Project) -> None:
    kept_report(begun_run(project, agent="somebody-else"))
    kept_report(begun_run(given.project()))
    assert similar_to(begun_run(project)).looked_at == 0


def test_only_the_newest_reports_are_looked_at(project: Project) -> None:
    kept_report(begun_run(project))
    for _ in range(MOST_REPORTS):
        kept_report(begun_run(project), issues=OTHER)
    found = similar_to(begun_run(project))
    assert (found.looked_at, found.found) == (MOST_REPORTS, ())


def test_without_an_agent_only_the_run_itself_counts(project: Project) -> None:
    kept_report(begun_run(project, agent=""))
    run = begun_run(project, agent="")
    assert similar_to(run).looked_at == 0
    own = kept_report(run)
    assert [one.reflection_id for one in similar_to(run, attempt=2).found] == [own.reflection_id]


def test_a_report_on_the_very_attempt_is_no_earlier_mistake(project: Project) -> None:
    run = begun_run(project)
    kept_report(run)
    assert similar_to(run, attempt=1).looked_at == 0


def test_a_fork_knows_the_mistakes_of_its_own_beginning_and_not_what_its_parent_did_later(project: Project) -> None:
    parent = revised_run(project)
    before = kept_report(parent)
    later = kept_report(parent, attempt=2)
    fork = forked(parent, 2)
    # What the fork did not copy was reported after the place where it leaves its parent.
    assert similar_to(fork, attempt=2).looked_at == 0
    Run.objects.filter(pk=fork.pk).update(forked_from_step=before.step.seq + 1)
    found = similar_to(fork, attempt=2)
    assert [one.reflection_id for one in found.found] == [before.reflection_id]
    sibling = forked(parent, 2)
    assert similar_to(sibling, attempt=2).looked_at == 0
    assert later.reflection_id != before.reflection_id


def test_a_report_kept_again_takes_the_place_of_its_earlier_state(project: Project) -> None:
    run = revised_run(project)
    row = kept_report(run)
    value = row.get_value().model_copy(update={"revised_attempt": 2, "surface_issue": "newer"})
    kept = KeptReport(reflection_id=row.reflection_id, timestamp=row.updated_at)
    write_report(RecordReport(key=row.step.key, report=value), kept, StepCommit(run, row.step, Batch(), {}, []))
    row = Report.objects.get(run=run)
    assert (row.surface_issue, row.revised_attempt) == ("newer", Attempt.objects.get(run=run, number=2))


def test_a_fork_does_not_overwrite_its_parents_report(project: Project) -> None:
    parent = revised_run(project)
    row = kept_report(parent)
    fork = forked(parent, 2)
    assert is_ours(row.reflection_id, run_id=parent.pk)
    assert not is_ours(row.reflection_id, run_id=fork.pk)


def test_a_proposal_made_twice_counts_once_and_of_another_run_again(project: Project) -> None:
    first, second = begun_run(project), begun_run(project)
    for run in (first, first, second):
        report = kept_report(run) if not Report.objects.filter(run=run).exists() else Report.objects.get(run=run)
        capability = report.get_value().model_copy(update={"type": ErrorClass.MODEL_CAPABILITY})
        for proposal in proposals_for(capability, agent=report.agent):
            keep_proposal(run, proposal)
    entry = Entry.objects.get(project_id=project.pk, kind="anti_pattern")
    assert (entry.kind, entry.name, entry.occurrences) == ("anti_pattern", "过早停止搜索", 2)
    reports = [Report.objects.get(run=run).reflection_id for run in (first, second)]
    assert [one.refs for one in entry.evidence.all()] == [
        {"run": str(run.pk), "report": name} for run, name in zip((first, second), reports, strict=True)
    ]


def test_an_anti_pattern_has_its_symptoms_and_its_prevention_in_fields_of_its_own(project: Project) -> None:
    run = begun_run(project)
    report = kept_report(run, type=ErrorClass.MODEL_CAPABILITY)
    pattern = report.get_value().anti_pattern
    assert pattern is not None
    for proposal in proposals_for(report.get_value(), agent=report.agent):
        keep_proposal(run, proposal)
    entry = Entry.objects.get(project_id=project.pk, kind="anti_pattern")
    assert entry.details == {"symptoms": list(pattern.symptoms), "prevention": pattern.prevention}
    assert pattern.prevention not in entry.content


def test_one_anti_pattern_of_several_agents_is_one_entry_and_its_opposite_another(project: Project) -> None:
    kept = []
    for agent, case, prevention in (
        ("one", "Only three rivals.", "Stop if score >= 50"),
        ("two", "Only two papers.", "Stop if score >= 50"),
        ("two", "Only two papers.", "Stop if score <= 50"),
    ):
        proposal = Proposal(
            kind=ProposalKind.ANTI_PATTERN,
            name="Stopping early",
            description=case,
            content="Error type: 3.3.2",
            details={"symptoms": ["one search"], "prevention": prevention},
            agent=agent,
            source="the same",
        )
        keep_proposal(begun_run(project), proposal)
        kept.append(Entry.objects.filter(project_id=project.pk).count())
    assert kept == [1, 1, 2]
    first = Entry.objects.filter(project_id=project.pk).earliest("created_at")
    assert (first.occurrences, first.agents) == (2, ["one", "two"])
    assert first.evidence.exclude(wordings=[]).get().wordings == [{"description": "Only two papers.", "agent": "two"}]


def test_the_same_instruction_is_proposed_to_an_agent_once(project: Project) -> None:
    run = begun_run(project)
    report = kept_report(run)
    for _ in range(2):
        instruction = instruction_for(report.get_value(), agent=report.agent)
        assert instruction is not None
        keep_instruction(run, instruction)
    kept = AgentInstruction.objects.get(project=project)
    assert (kept.agent, kept.report, kept.state) == (report.agent, report, "proposed")


@pytest.fixture
def run() -> Run:
    project: Project = given.project(review_policy={"audit_share": 0})
    return begun_run(project)


def called(run: Run, tool: str, content: str, *, ok: bool = True) -> None:
    last = Step.objects.filter(run=run).order_by("-seq").values_list("seq", flat=True).first() or 0
    result: dict[str, Any] = {"ok": ok, "content": content}
    Step.objects.create(
        run=run,
        seq=last + 1,
        key=f"call-{last}",
        kind="call_tool",
        state=StepState.DONE,
        request={"tool": tool, "arguments": {}},
        result=result,
        started_at=timezone.now(),
    )


def test_the_last_call_of_each_tool_says_whether_it_found_nothing(run: Run) -> None:
    called(run, "search", "[]")
    called(run, "archive", json.dumps({"results": []}))
    called(run, "delete", "")
    called(run, "broken", "[]", ok=False)
    assert found_nothing(run.pk) == ("archive", "search")
    called(run, "search", json.dumps([{"title": "AutoGen"}]))
    assert found_nothing(run.pk) == ("archive",)


def test_an_attempt_is_read_with_its_issues(run: Run) -> None:
    effect = FindSimilarIssues(
        key="similar", attempt=1, issues=(), task="Who signed the lease?", written=("I have no idea who signed it.",)
    )
    found: SimilarIssues = value_of(effect, run_id=run.pk)
    assert found.unknown is not None
    assert found.unknown.quote == "I have no idea who signed it."


def test_without_a_model_nothing_is_read(settings: Any) -> None:
    settings.EMBEDDING_MODEL = "none"
    assert read_by_meaning(["I don't know."], task="Who signed the lease?") is None


def test_a_blank_attempt_is_not_read() -> None:
    assert read_by_meaning([" ", ""], task="Who signed the lease?") is None
