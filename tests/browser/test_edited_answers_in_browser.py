"""Editing the answer by keyboard in headless Chromium: in place, and kept as a draft."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review, ReviewState
from tests import given
from tests.browser.conftest import Visitor
from tests.reviews.review_items import revised

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


def opened(visit: Visit, review: Review, *, scheme: str = "light") -> Page:
    """The page of a review that its visitor holds, ready for keys."""
    user = given.member(review.project)
    claim_review(review, actor=Actor(user=user))
    page = visit(user, scheme=scheme).go(f"/p/{review.project.slug}/reviews/{review.pk}/")
    page.wait_for_selector(f"body[data-keys=ready][data-painted='{review.pk}']")
    return page


def test_a_key_opens_the_answer_and_two_keys_decide_with_the_text(visit: Visit) -> None:
    review = revised("desk")
    page = opened(visit, review)
    field = page.get_by_label("Edited answer")
    expect(field).to_be_hidden()
    page.keyboard.press("e")
    expect(field).to_be_focused()
    expect(page.get_by_role("radio", name="Overrule")).to_be_hidden()
    page.keyboard.insert_text("A new first line.\n")
    page.keyboard.press("Control+Enter")
    expect(page.locator("body")).to_contain_text("You edited the answer")
    row = Review.objects.get(pk=review.pk)
    assert (row.state, row.edited_answer) == (ReviewState.DECIDED, f"A new first line.\n{review.attempt.content}")


def test_what_was_typed_outlives_a_reload_and_leaving_asks_first(visit: Visit) -> None:
    review = revised("desk")
    page = opened(visit, review)
    page.keyboard.press("e")
    page.keyboard.insert_text("Mine. ")
    asked: list[str] = []

    def leave(dialog: Dialog) -> None:
        asked.append(dialog.type)
        dialog.accept()

    page.on("dialog", leave)
    page.reload()
    assert asked == ["beforeunload"]
    expect(page.get_by_text("Draft restored")).to_be_visible()
    field = page.get_by_label("Edited answer")
    expect(field).to_be_visible()
    expect(field).to_have_value(f"Mine. {review.attempt.content}")
