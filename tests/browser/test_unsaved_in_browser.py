"""Forms that fill a page: saved by a key, and not lost by leaving."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, expect

from reflection_app.core.models import Role
from tests import given
from tests.browser.conftest import Visitor
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db(transaction=True)


def test_ctrl_enter_saves_an_entry_and_leaving_with_unsaved_words_asks_first(visit: Callable[..., Visitor]) -> None:
    project = given.project("desk")
    entry = make_entry(project, content="As it was.", description="What it is about.")
    page = visit(given.member(project, Role.CURATOR)).go(f"/p/desk/notebook/entries/{entry.pk}/edit/")
    asked: list[str] = []

    def stay(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.dismiss()

    page.on("dialog", stay)
    content = page.locator("textarea[name=content]")
    content.click()
    content.fill("As it should be.")
    with page.expect_event("dialog"):
        page.get_by_role("link", name="Overview").click(no_wait_after=True)
    assert asked == ["beforeunload"]
    expect(content).to_have_value("As it should be.")
    content.press("Control+Enter")
    page.wait_for_url(f"**/notebook/entries/{entry.pk}/")
    entry.refresh_from_db()
    assert entry.content == "As it should be."
    page.get_by_role("link", name="Overview").click()
    page.wait_for_url("**/p/desk/")
    assert asked == ["beforeunload"]
