"""Failed calls and the cheat sheet in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Role
from tests.browser.conftest import Visitor
from tests.browser.test_desk_in_browser import problems_of
from tests.factories import make_member, make_project
from tests.repairs.test_tool_failures_pages import LIST, SHEET, hostile
from tests.repairs.tool_failures import report, tell

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_are_accessible_and_fit_a_narrow_screen(visit: Callable[..., Visitor], scheme: str) -> None:
    project = make_project("desk")
    tell(report(project, params={"查询": "多智能体" * 40}), worked=True, params={"查询": "多智能体"}, fix="简化查询")
    odd = hostile(project)
    waiting = report(project, tool="averylongtoolnamewithoutanybreak" * 6, error_message="403 " + "e" * 900, status=403)
    visitor = visit(make_member(project, Role.ADMIN), scheme=scheme)
    paths = [LIST, SHEET, f"{LIST}{odd.pk}/", f"{LIST}{waiting.pk}/", f"{SHEET}?tool=none", f"{LIST}?q=none"]
    assert {path: found for path in paths if (found := problems_of(visitor.go(path)))} == {}


def test_how_a_fix_went_is_told_by_form_and_the_sheet_is_searched(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    failure = report(project)
    report(project, tool="fetch", error_message="403 Forbidden", status=403)
    page = visit(make_member(project, Role.REVIEWER)).go(f"{LIST}{failure.pk}/")
    page.get_by_label("Yes").check()
    page.get_by_role("button", name="Keep it").click()
    expect(page.locator("#outcome")).to_contain_text("fix worked")
    page.get_by_role("link", name="Tools", exact=True).first.click()
    page.get_by_role("link", name="Cheat sheet").click()
    expect(page.locator(".cheat-tool")).to_have_count(2)
    page.get_by_label("Search tool").fill("search")
    expect(page.locator(".cheat-tool")).to_have_count(1)
    expect(page.locator(".cheat-worked").last).to_contain_text("1 of 1")
