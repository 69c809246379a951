"""The editor of the review policy and the audit trail in a browser: with and without scripts, narrow and dark."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project, Role
from reflection_app.loops.task_spec import ReviewPolicy
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import problems_of
from tests.metrics.judged import judged_run

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
PAGE = "/p/desk/settings/policy/"


def names_in(page: Page) -> list[str]:
    return [field.input_value() for field in page.get_by_label("Name (optional)").all()]


def saved() -> ReviewPolicy:
    return Project.objects.get(slug="desk").get_review_policy()


def test_rules_are_added_moved_tried_and_saved(visit: Visit) -> None:
    project = given.project("desk")
    for score in (20, 55, 60, 90):
        judged_run(project, score=score, agent="billing")
    page = visit(given.member(project, Role.ADMIN)).go(PAGE)
    page.get_by_role("button", name="Add rule").click()
    new = page.get_by_label("Name (optional)").nth(2)
    expect(new).to_be_focused()
    new.fill("Low scores")
    rule = page.locator("#rule-3")
    rule.get_by_label("Score below").fill("70")
    rule.get_by_label("Agents, rule 3, another name").fill("biling")
    expect(rule.locator('[name="rules.2.agents"]')).to_have_count(2)
    rule.get_by_role("button", name="Up").click()
    expect(page.locator("#rule-2").get_by_role("button", name="Up")).to_be_focused()
    assert names_in(page) == ["", "Low scores", ""]
    page.get_by_role("button", name="Test on last 30 days").click()
    expect(page.get_by_text("0 of 4")).to_be_visible()
    page.locator('[name="rules.1.agents"]').first.fill("billing")
    page.locator("#rule-1 summary").click()
    page.get_by_label("Random sample, %").first.fill("0")
    page.get_by_role("button", name="Test on last 30 days").click()
    expect(page.get_by_text("Enter a number above 0 and at most 100.")).to_be_visible()
    page.get_by_label("Random sample, %").first.fill("100")
    page.get_by_label("Score below").nth(1).press("Enter")
    expect(page.get_by_text("3 of 4")).to_be_visible()
    assert len(saved().rules) == 2
    assert AuditEntry.objects.count() == 0
    assert problems_of(page) == []
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    assert [rule.name for rule in saved().rules] == ["", "Low scores", ""]
    assert saved().rules[1].agents == ("billing",)
