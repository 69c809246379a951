"""The lift of lessons in headless Chromium: readable at any width, and a harmful lesson retired by its form."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.core.models import Role
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project
from tests.notebook.exposed import approved_lesson, fill, row_of

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
LIFT = "/p/desk/notebook/lift/"


def test_a_lesson_that_harms_is_seen_and_retired(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    harmful = approved_lesson(project.pk, "Always answer in one word, whatever was asked")
    fill(harmful, given=(20, 90), withheld=(19, 20))
    helpful = approved_lesson(project.pk, "Check the units of what is measured before you compare")
    fill(helpful, given=(85, 90), withheld=(4, 20))
    unsure = approved_lesson(project.pk, "先读文件再回答")
    fill(unsure, given=(30, 50), withheld=(3, 6))
    approved_lesson(project.pk, "Nobody was given this one yet")
    visitor = visit(make_member(project, Role.CURATOR))
    page = visitor.go(LIFT)
    expect(page.get_by_role("heading", name="Suggested to retire")).to_be_visible()
    expect(page.get_by_role("cell", name="Cannot be told yet").first).to_be_visible()
    is_clean(page, "notebook_lift_wide")
    page.emulate_media(color_scheme="dark")
    # Loaded again: what changes its colour step by step would be looked at halfway.
    page.goto(page.url)
    page.locator("summary", has_text="How this is counted").click()
    is_clean(page, "notebook_lift_dark")
    page.set_viewport_size({"width": 390, "height": 844})
    is_clean(page, "notebook_lift_narrow_dark")
    page.emulate_media(color_scheme="light")
    page.goto(page.url)
    is_clean(page, "notebook_lift_narrow")
    page.set_viewport_size({"width": 1280, "height": 900})
    page.get_by_role("link", name=helpful.name).click()
    expect(page.locator("#lift")).to_contain_text("Helps")
    page.get_by_text("Who was given it").click()
    page.get_by_text("The looks").click()
    is_clean(page, "notebook_lift_entry")
    page.go_back()
    page.get_by_role("button", name="Retire Always answer in one word").click()
    expect(page.get_by_text("Retired:")).to_be_visible()
    row = row_of(harmful)
    assert row.state == "retired"
    assert row.reason.startswith("First attempts succeeded less often with it")


def test_the_empty_page_explains_what_it_takes(visit: Callable[..., Visitor]) -> None:
    page = visit(make_member(make_project("desk"))).go(LIFT)
    expect(page.get_by_role("heading", name="Nothing can be told yet")).to_be_visible()
    is_clean(page, "notebook_lift_empty")
