"""Tickets, the six steps and a director's decision, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.repairs.tickets import external_run, ticket_of
from tests.runs.critiques import critique

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]


def rejected() -> Review:
    answers = {
        "attempt-1/answer": "A first text.",
        "attempt-1/critique": critique(10, issues=[{"description": "Three papers only"}]),
        "attempt-2/answer": "A second text.",
        "attempt-2/critique": critique(95, approved=True),
    }
    project: Project = given.project(
        "directed",
        models_by_role={"default": register_script("directed", answers)},
        review_policy={"audit_share": 0},
    )
    return given.waiting_review(project)


def test_a_director_decides_by_keyboard(visit: Callable[..., Visitor]) -> None:
    review = rejected()
    visitor = visit(given.member(review.project))
    page = visitor.go(f"/p/directed/reviews/{review.pk}/")
    page.locator("body[data-keys=ready]").wait_for()
    page.keyboard.press("n")
    expect(page.get_by_role("button", name="Redo with instructions")).to_be_visible()
    is_clean(page)
    page.locator("body[data-keys=ready]").wait_for()
    page.keyboard.press("1")
    expect(page.get_by_label("Instructions or reason")).to_be_focused()
    page.keyboard.press("Enter")
    expect(page.locator("#error-reason")).to_contain_text("Say what is to be done differently")
    is_clean(page)
    page.get_by_label("Instructions or reason").fill("Find five papers.")
    page.get_by_role("button", name="Redo with instructions").click()
    expect(page.get_by_text("You ordered a redo.")).to_be_visible()
    advance(review.run_id)
    assert ticket_of(review.run).repair_plan[0] == "Find five papers."


def test_a_ticket_is_closed_with_a_reason(visit: Callable[..., Visitor]) -> None:
    run = external_run(project=given.project("closing"))
    page = visit(given.member(run.project)).go(f"/p/closing/tickets/{ticket_of(run).ticket_id}/")
    page.get_by_role("button", name="Close ticket").click()
    expect(page.locator("#error-reason")).to_contain_text("Say why it is closed")
    is_clean(page)
    page.get_by_label("Why").fill("Withdrawn.")
    page.get_by_role("button", name="Close ticket").click()
    expect(page.get_by_text("was cancelled")).to_be_visible()
