"""Reports and instructions in headless Chromium: accessible, fitting a phone, and decided on by ordinary forms."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.repairs.models import AgentInstruction, Report
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.repairs.reports import begun_run, kept_report

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
WIDTHS = (1400, 390)


def check(page: Page) -> None:
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    is_clean(page, widths=WIDTHS)


def proposed(report: Report, text: str = "至少收集 5 篇论文。") -> AgentInstruction:
    return AgentInstruction.objects.create(project=report.project, agent=report.agent, text=text, report=report)


def test_a_person_corrects_the_class_and_accepts_an_instruction(visit: Visit) -> None:
    project = given.project("desk")
    report = kept_report(begun_run(project))
    instruction = proposed(report)
    page = visit(given.member(project)).go(f"/p/desk/reports/{report.reflection_id}/")
    page.get_by_role("button", name="Accept").click()
    expect(page.get_by_text("Accepted", exact=True)).to_be_visible()
    page.get_by_text("Correct class").click()
    page.get_by_role("button", name="Save correction").click()
    expect(page.get_by_text("This field is required.")).to_be_visible()
    page.get_by_label("3.3.1 Model capability").check()
    page.get_by_label("Why", exact=True).fill("第四次了")
    page.get_by_role("button", name="Save correction").click()
    expect(page.get_by_text("Computed class: 3.3.2 Decision error.")).to_be_visible()
    instruction.refresh_from_db()
    assert instruction.state == "accepted"
    assert Report.objects.get().corrected_type == "3.3.1"


def test_the_list_is_filtered_without_a_reload(visit: Visit) -> None:
    project = given.project("desk")
    kept_report(begun_run(project))
    kept_report(begun_run(project), type="3.3.5", surface_issue="Another one")
    page = visit(given.member(project)).go("/p/desk/reports/")
    page.get_by_label("Error class").select_option("3.3.5")
    expect(page.get_by_text("仅收集了 3 篇论文")).to_have_count(0)
    expect(page.get_by_text("Another one")).to_be_visible()
    assert page.url.endswith("type=3.3.5") or "type=3.3.5" in page.url
