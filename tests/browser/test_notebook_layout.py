"""What is where on the notebook's pages in headless Chromium: nothing covers anything, and the open tab is in view."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Role
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.notebook.exposed import approved_lesson

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def test_on_a_phone_the_open_tab_is_in_view_and_a_task_can_be_tried(visit: Callable[..., Visitor]) -> None:
    project = given.project("desk")
    approved_lesson(project.pk, "State the currency of every refund")
    page = visit(given.member(project, Role.CURATOR)).go("/p/desk/notebook/import/")
    page.set_viewport_size({"width": 390, "height": 800})
    for path, tab in (("import/", "Import and export"), ("lift/", "Lift"), ("recall/", "Test retrieval")):
        page.goto(page.url.split("/notebook/")[0] + "/notebook/" + path)
        expect(page.get_by_role("navigation", name="Notebook").get_by_role("link", name=tab)).to_be_in_viewport(
            ratio=0.9
        )
        assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
    page.get_by_label("Task or question").fill("How do I tell a customer of a refund?")
    page.get_by_role("button", name="Test retrieval").click()
    expect(page.get_by_role("list").filter(has_text="State the currency")).to_contain_text("Shared words: refund")
    is_clean(page)
