"""Settling conflicts by keyboard in headless Chromium, and what is on the screen."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from notebook_app.models import Conflict, Entry
from reflection_app.core.models import Project, Role
from tests import given
from tests.browser.conftest import Visitor
from tests.notebook.test_conflicts import open_conflict

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]


def opened(visit: Visit, project: Project, conflict: Conflict, *, scheme: str = "light") -> Page:
    user = given.member(project, Role.CURATOR)
    return ready(visit(user, scheme=scheme).go(f"/p/desk/notebook/conflicts/{conflict.pk}/"), conflict)


def ready(page: Page, conflict: Conflict) -> Page:
    page.wait_for_selector(f"body[data-keys=ready][data-painted='{conflict.pk}']")
    return page


def press(page: Page, *keys: str) -> None:
    for key in keys:
        page.keyboard.press(key)


def settlement_of(conflict: Conflict) -> tuple[str, str]:
    conflict.refresh_from_db()
    return conflict.state, conflict.settlement


def test_conflicts_are_settled_one_after_the_other_by_keys(visit: Visit, project: Project) -> None:
    oldest = open_conflict(project, "报告以 JSON 格式返回给客户。", "报告以 YAML 格式返回给客户。")
    middle = open_conflict(project, "Enable the response cache for reports.", "Disable the response cache for reports.")
    newest = open_conflict(project)
    page = opened(visit, project, newest)

    press(page, "j")
    ready(page, middle)
    press(page, "k")
    ready(page, newest)

    press(page, "2")
    expect(page.locator("[name=stays][data-key='2']")).to_be_checked()
    press(page, "Enter")
    ready(page, middle)
    assert settlement_of(newest) == ("settled", "superseded")
    assert Entry.objects.get(pk=newest.first_id).state == "retired"

    press(page, "b")
    page.keyboard.type("Two services.")
    press(page, "Enter")
    ready(page, oldest)
    assert settlement_of(middle) == ("settled", "kept_both")

    press(page, "m")
    expect(page.locator("#merge-name")).to_be_focused()
    page.fill("#merge-content", "客户要求什么格式,就用什么格式返回。")
    page.get_by_role("button", name="Merge with this text").click()
    expect(page.get_by_role("heading", name="No open conflicts")).to_be_visible()
    assert settlement_of(oldest) == ("settled", "merged")

    page.goto(page.url + f"{oldest.pk}/")
    ready(page, oldest)
    press(page, "u")
    expect(page.get_by_role("heading", name="Resolve")).to_be_visible()
    assert settlement_of(oldest) == ("open", "")

    ready(page, oldest)
    press(page, "?")
    expect(page.locator("dialog[open]")).to_contain_text("Keep both")
