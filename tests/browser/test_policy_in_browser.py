"""The editor of the review policy and the audit trail in a browser: with and without scripts, narrow and dark."""

from collections.abc import Callable
from pathlib import Path

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.audit import Actor, AuditEntry, audit
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


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_rules_are_added_moved_tried_and_saved(visit: Visit, scheme: str, tmp_path: Path) -> None:
    project = given.project("desk")
    for score in (20, 55, 60, 90):
        judged_run(project, score=score, agent="billing")
    page = visit(given.member(project, Role.ADMIN), scheme=scheme).go(PAGE)
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
    expect(page.get_by_text("Would have asked for 0 of 4.")).to_be_visible()
    page.locator('[name="rules.1.agents"]').first.fill("billing")
    page.locator("#rule-1 summary").click()
    page.get_by_label("Random sample, %").first.fill("0")
    page.get_by_role("button", name="Test on last 30 days").click()
    expect(page.get_by_text("Enter a number above 0 and at most 100.")).to_be_visible()
    page.get_by_label("Random sample, %").first.fill("100")
    page.get_by_label("Score below").nth(1).press("Enter")
    expect(page.get_by_text("Would have asked for 3 of 4.")).to_be_visible()
    assert len(saved().rules) == 2
    assert AuditEntry.objects.count() == 0
    page.screenshot(path=tmp_path / f"policy-{scheme}.png", full_page=True)
    assert problems_of(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.screenshot(path=tmp_path / f"policy-{scheme}-narrow.png", full_page=True)
    page.get_by_role("button", name="Save", exact=True).click()
    expect(page.get_by_text("Saved. Runs that are under way")).to_be_visible()
    assert [rule.name for rule in saved().rules] == ["", "Low scores", ""]
    assert saved().rules[1].agents == ("billing",)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_audit_trail_is_filtered_without_reloading_and_fits(visit: Visit, scheme: str, tmp_path: Path) -> None:
    project = given.project("desk")
    user = given.member(project, Role.ADMIN)
    actor = Actor(user=user, address="203.0.113.7")
    for number in range(3):
        before, after = {"limits": {"max_iterations": number}}, {"limits": {"max_iterations": number + 1}}
        audit(project.pk, actor, "settings.changed", target=project, before=before, after=after)
    audit(project.pk, Actor(), "policy.changed", target=project, after=ReviewPolicy().model_dump(mode="json"))
    page = visit(user, scheme=scheme).go("/p/desk/audit/")
    rows = page.locator(".audit-row")
    expect(rows).to_have_count(4)
    page.screenshot(path=tmp_path / f"audit-{scheme}.png", full_page=True)
    assert problems_of(page) == []
    page.set_viewport_size({"width": 390, "height": 800})
    page.screenshot(path=tmp_path / f"audit-{scheme}-narrow.png", full_page=True)
    page.get_by_label("Action").select_option("policy.changed")
    expect(rows).to_have_count(1)
    assert "action=policy.changed" in page.url
    with page.expect_download() as download:
        page.get_by_role("link", name="CSV").click()
    assert download.value.path().read_text().count("policy.changed") == 1
