"""Editing the answer by keyboard in headless Chromium: in place, and kept as a draft."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Dialog, Page, expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.advance import advance
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member
from tests.reviews.editing import BETTER, edited
from tests.reviews.review_items import rejected, revised

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
WIDTHS = (1400, 390)


def opened(visit: Visit, review: Review, *, scheme: str = "light") -> Page:
    """The page of a review that its visitor holds, ready for keys."""
    user = make_member(review.project)
    claim_review(review, actor=Actor(user=user))
    page = visit(user, scheme=scheme).go(f"/p/{review.project.slug}/reviews/{review.pk}/")
    page.wait_for_selector(f"body[data-keys=ready][data-painted='{review.pk}']")
    return page


def test_a_key_opens_the_answer_and_two_keys_decide_with_the_text(visit: Visit) -> None:
    review = revised("desk")
    page = opened(visit, review)
    field = page.get_by_label("The answer as it is to be")
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
    page.get_by_role("button", name="Put it back").click()
    field = page.get_by_label("The answer as it is to be")
    expect(field).to_be_visible()
    expect(field).to_have_value(f"Mine. {review.attempt.content}")


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_an_edited_answer_are_accessible_and_fit(visit: Visit, scheme: str) -> None:
    review = revised("desk", objective="Summarise the customs tariffs of seven harbours.")
    page = opened(visit, review, scheme=scheme)
    page.keyboard.press("e")
    page.keyboard.insert_text("A new first line, written by the reviewer.\n")
    is_clean(page, f"editing-{scheme}", widths=WIDTHS)
    page.on("dialog", lambda dialog: dialog.accept())

    director = rejected("director")
    of_director = opened(visit, director, scheme=scheme)
    of_director.keyboard.press("e")
    is_clean(of_director, f"editing-director-{scheme}", widths=WIDTHS)
    of_director.on("dialog", lambda dialog: dialog.accept())

    done = revised("decided")
    edited(done, BETTER, reason="Each number needs its source.")
    advance(done.run_id)
    visitor = visit(make_member(done.project), scheme=scheme)
    is_clean(visitor.go(f"/p/decided/reviews/{done.pk}/"), f"edited-{scheme}", widths=WIDTHS)
    is_clean(visitor.go(f"/p/decided/runs/{done.run_id}/"), f"edited-run-{scheme}", widths=WIDTHS)
