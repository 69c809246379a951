"""Picking an attempt by keyboard, in headless Chromium."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.reviews.models import Review, ReviewState
from tests import given
from tests.browser.conftest import Visitor
from tests.reviews.picks import unsettled_pick

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]


def opened(visit: Visit, *, scheme: str = "light") -> tuple[Page, Review]:
    """The page of a pick, claimed by its reviewer."""
    review = unsettled_pick(given.project("desk"))
    page = visit(given.member(review.project), scheme=scheme).go(f"/p/desk/reviews/{review.pk}/")
    page.wait_for_selector("[data-keys=ready]")
    page.keyboard.press("n")
    expect(page.get_by_role("button", name="Select attempt 1")).to_be_visible()
    page.wait_for_selector("[data-keys=ready]")
    return page, review


def test_a_digit_goes_to_an_attempt_and_enter_keeps_it(visit: Visit) -> None:
    page, review = opened(visit)
    page.keyboard.press("2")
    expect(page.get_by_role("button", name="Select attempt 2")).to_have_attribute("data-chosen", "")
    expect(page.get_by_label("Reason")).to_be_focused()
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED
    page.keyboard.press("Enter")
    expect(page.get_by_text("You selected attempt 2. The run succeeds.")).to_be_visible()
    decided = Review.objects.select_related("decided_verdict__attempt").get(pk=review.pk)
    assert decided.decided_verdict is not None
    assert decided.decided_verdict.attempt.number == 2


def test_enter_in_an_issue_and_a_stray_ctrl_enter_decide_nothing(visit: Visit) -> None:
    page, review = opened(visit)
    page.get_by_role("button", name="Add issue").click()
    page.get_by_label("Description of issue 1").fill("Square every number")
    page.keyboard.press("Enter")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_label("Description of issue 1")).to_have_value("Square every number")
    assert Review.objects.get(pk=review.pk).state == ReviewState.CLAIMED
    page.get_by_role("button", name="Send back with issues").click()
    expect(page.get_by_text("You sent the task back. The run continues.")).to_be_visible()
