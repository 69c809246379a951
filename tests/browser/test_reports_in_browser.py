"""Reports and instructions in headless Chromium: accessible, fitting a phone, and decided on by ordinary forms."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.loops.protocol.error_classes import FailureFacts
from reflection_app.loops.protocol.reports import RepairAction
from reflection_app.loops.protocol.stages import AntiPattern, RepairStatus
from reflection_app.loops.verdicts import Issue
from reflection_app.repairs.models import AgentInstruction, Report
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.repairs.reports import begun_run, kept_report, revised_run
from tests.web.stories import HOSTILE

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
WIDTHS = (1400, 390)
LONG = HOSTILE + "W" * 300 + "很长的文字" * 60


def check(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    is_clean(page, widths=WIDTHS)


def long_report() -> Report:
    return kept_report(
        begun_run(make_project("long"), agent="a" * 100),
        surface_issue=LONG,
        occurrence_process=(LONG,),
        root_cause=LONG,
        description=LONG,
        repair_actions=(RepairAction(action=LONG, expected_outcome=LONG, status=RepairStatus.FAILED),),
        remaining_issues=(LONG,),
        learning_notes=LONG,
        hint=LONG,
        issues=(Issue(description=LONG, suggested_fix=LONG),),
        anti_pattern=AntiPattern(pattern_name=LONG, symptoms=(LONG,), prevention=LONG),
        facts=FailureFacts(is_completed=False, why_completed=LONG, quote=LONG),
    )


def proposed(report: Report, text: str = "至少收集 5 篇论文。") -> AgentInstruction:
    return AgentInstruction.objects.create(project=report.project, agent=report.agent, text=text, report=report)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_reports_are_accessible_and_fit_a_phone(visit: Visit, scheme: str) -> None:
    project = make_project("desk", review_policy={"audit_share": 0})
    report = kept_report(revised_run(project), revised_attempt=2)
    proposed(report)
    long = long_report()
    proposed(long, LONG)
    user = make_member(project)
    make_member(long.project, user=user)
    make_member(make_project("empty"), user=user)
    visitor = visit(user, scheme=scheme)
    for path in ("empty/reports/", "empty/instructions/", "desk/reports/", "long/reports/", "long/instructions/"):
        check(visitor.go(f"/p/{path}"))
    check(visitor.go(f"/p/desk/reports/{report.reflection_id}/"))
    check(visitor.go(f"/p/long/reports/{long.reflection_id}/"))


def test_a_person_corrects_the_class_and_accepts_an_instruction(visit: Visit) -> None:
    project = make_project("desk")
    report = kept_report(begun_run(project))
    instruction = proposed(report)
    page = visit(make_member(project)).go(f"/p/desk/reports/{report.reflection_id}/")
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Accepted", exact=True)).to_be_visible()
    page.get_by_text("Another class?").click()
    page.get_by_role("button", name="Correct the class").click()
    expect(page.get_by_text("This is missing.")).to_be_visible()
    page.get_by_label("3.3.1 Model capability").check()
    page.get_by_label("Why", exact=True).fill("第四次了")
    page.get_by_role("button", name="Correct the class").click()
    expect(page.get_by_text("The tree said 3.3.2 Decision error.")).to_be_visible()
    instruction.refresh_from_db()
    assert instruction.state == "accepted"
    assert Report.objects.get().corrected_type == "3.3.1"


def test_the_list_is_filtered_without_a_reload(visit: Visit) -> None:
    project = make_project("desk")
    kept_report(begun_run(project))
    kept_report(begun_run(project), type="3.3.5", surface_issue="Another one")
    page = visit(make_member(project)).go("/p/desk/reports/")
    page.get_by_label("Class of error").select_option("3.3.5")
    expect(page.get_by_text("仅收集了 3 篇论文")).to_have_count(0)
    expect(page.get_by_text("Another one")).to_be_visible()
    assert page.url.endswith("type=3.3.5") or "type=3.3.5" in page.url
