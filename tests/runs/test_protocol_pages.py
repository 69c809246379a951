"""The six steps, tickets and orders to redo as the pages show them, of runs that really went through them."""

import json
import re

import pytest
from django.test import Client

from reflection_app.core.models import Role
from reflection_app.runs.models import Run, Step
from reflection_app.runs.views.protocol import rounds_of
from tests import given
from tests.repairs.tickets import external_run, handed_in, ticket_of
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

REFLECTED = {
    "expected": "五篇以上的论文",
    "actual": "仅收集了 3 篇论文",
    "gap": "缺少 2 篇",
    "questions": ["搜索词是否足够广泛？"],
    "surface_issue": "仅收集了 3 篇论文",
    "occurrence_process": ["1. 搜索词过于狭窄", given.HOSTILE],
    "root_cause": "搜索策略过于保守",
}
PLANNED = {
    "repair_steps": [
        {"action": "扩展搜索词", "kind": "model", "expected_outcome": "更多候选论文", "deliverable": "Terms"},
        {"action": f"Add categories {given.HOSTILE}", "kind": "model"},
    ],
    "resources_needed": ["arXiv"],
    "estimated_effort": "low",
    "learning_notes": "尽早检查数量",
}
ANSWERS = {
    "attempt-1/answer": "三篇论文",
    "attempt-1/critique": critique(40, issues=[{"description": f"Too few {given.HOSTILE}", "severity": "high"}]),
    "attempt-1/reflect": json.dumps(REFLECTED, ensure_ascii=False),
    "attempt-1/plan": json.dumps(PLANNED, ensure_ascii=False),
    "attempt-1/repair-1/work": "## Terms\nmulti-agent OR orchestration",
    "attempt-1/repair-2/work": given.HOSTILE,
    "attempt-2/answer": "五篇论文",
    "attempt-2/critique": critique(90, approved=True),
}


@pytest.fixture(scope="module")
def six_steps(module_transaction: None) -> Run:
    return given.advanced_run(
        given.scripted_project("six", ANSWERS), mode="reflection_protocol", agent="academic-researcher"
    )


@pytest.fixture
def run(six_steps: Run) -> Run:
    """A run that went through the six steps once, the same for all tests."""
    return Run.objects.get(pk=six_steps.pk)


def words(page: str) -> str:
    """The page's text on one line, without its tags."""
    return re.sub(r"\s+", " ", re.sub(r"<[^>]*>", " ", page))


def states(run: Run) -> list[list[str]]:
    return [[stage.state for stage in one.stages] for one in rounds_of(run)]


def test_the_six_steps_stand_on_the_runs_page_and_hostile_text_in_them_is_inert(client: Client, run: Run) -> None:
    assert run.outcome == "succeeded", run.error
    assert states(run) == [["done"] * 6]
    given.logged_in(client, run.project)
    page = client.get(f"/p/six/runs/{run.pk}/").text
    assert f"/p/six/tickets/{ticket_of(run).ticket_id}/" in page
    assert '<li class="prewrap">搜索词过于狭窄</li>' in page, "the list numbers its items itself"
    assert given.HOSTILE not in page
    assert "<script>alert" not in page


def test_every_step_of_the_timeline_has_words(client: Client, run: Run) -> None:
    given.logged_in(client, run.project)
    for step in Step.objects.filter(run=run):
        page = client.get(f"/p/six/runs/{run.pk}/steps/{step.seq}/").text
        title = words(page[page.index("<h1>") : page.index("</h1>")]).strip()
        assert title, step.key
        assert title not in {step.kind, step.role, "Added to the audit sample"}, (step.key, title)
        assert "<script>alert" not in page


def test_what_is_missing_is_now_or_to_come_and_after_the_end_not_reached(run: Run) -> None:
    recorded = {step.key: step for step in Step.objects.filter(run=run, kind="record_stage")}
    recorded["attempt-1/submit"].delete()
    recorded["attempt-1/repair-2/kept"].delete()
    assert states(run) == [["done", "done", "done", "done", "stopped", "not_reached"]]
    Run.objects.filter(pk=run.pk).update(state="running", outcome=None)
    run.refresh_from_db()
    assert states(run) == [["done", "done", "done", "done", "now", "to_come"]]
    assert [one.state for one in rounds_of(run)[0].stages[4].repairs] == ["written", "now"]


def test_the_list_of_tickets_is_filtered(client: Client) -> None:
    project = given.project("listed")
    given.logged_in(client, project)
    run = handed_in(external_run(project=project), "second")
    old, new = ticket_of(run), ticket_of(run, 2)
    for query, shown in (
        ("state=superseded", {old}),
        ("agent=nobody", set()),
        ("trigger=critic_evaluation", {old, new}),
        (f"before={new.ticket_id}", {old}),
        ("state=nonsense&run=none", {old, new}),
    ):
        text = client.get(f"/p/listed/tickets/?{query}", headers={"HX-Request": "true"}).text
        assert {one for one in (old, new) if one.ticket_id in text} == shown, query
        assert "<html" not in text


def test_closing_asks_why_and_keeps_what_was_typed(client: Client) -> None:
    run = external_run(project=given.project("closing"))
    ticket = ticket_of(run)
    given.logged_in(client, run.project, Role.REVIEWER)
    at = f"/p/closing/tickets/{ticket.ticket_id}/close/"
    long = client.post(at, {"reason": "x" * 10_001})
    assert (long.status_code, "x" * 10_001 in long.text) == (400, True)
    done = client.post(at, {"reason": f"Withdrawn {given.HOSTILE}"}, follow=True).text
    assert "Withdrawn" in done
    assert "<script>alert" not in done
    assert client.post(at, {"reason": "Once more"}).status_code == 409


def test_a_finished_run_is_ordered_again_from_its_page(client: Client, run: Run) -> None:
    given.logged_in(client, run.project, Role.REVIEWER)
    at = f"/p/six/runs/{run.pk}/redo/"
    missing = client.post(at, {"instructions": "Kürzer 更短", "attempt": "9"})
    assert missing.status_code == 400
    assert "Kürzer 更短" in missing.text
    done = client.post(at, {"instructions": f"更短 {given.HOSTILE}", "attempt": "1"}, follow=True)
    child = Run.objects.get(parent=run)
    assert done.redirect_chain[-1][0] == f"/p/six/runs/{child.pk}/"
    assert "<script>alert" not in done.text
    of_parent = client.get(f"/p/six/runs/{run.pk}/").text
    assert f'/p/six/runs/{child.pk}/">Redo requested</a>' in of_parent
    assert "Forked" not in of_parent
