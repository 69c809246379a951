"""Whoever handed something in reads why they may not decide, and an admin finds where to allow it, wide and narrow."""

from collections.abc import Callable

import pytest
from playwright.sync_api import expect

from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.reviews.test_own_work import AUTHORS, story

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("pages with no script of their own; their views are tested without a browser"),
]
WIDTHS = (1280, 390)


def test_why_one_may_not_decide_leads_to_where_it_is_allowed(visit: Callable[..., Visitor]) -> None:
    told = story(author=AUTHORS["its own key"])
    base = f"/p/{told.project.slug}"
    page = visit(told.maker).go(f"{base}/reviews/{told.review.pk}/")
    expect(page.get_by_text("You handed this in, or a key that you made did.")).to_be_visible()
    is_clean(page, "own-work-review", widths=WIDTHS)
    page.locator("#review-decision").get_by_role("link", name="Review policy").click()
    page.get_by_label("People may decide on what they handed in").check()
    is_clean(page, "own-work-policy", widths=WIDTHS)
    page.get_by_role("button", name="Save Own work").click()
    expect(page.get_by_text("It holds from now on")).to_be_visible()
    page.goto(f"{page.url.split('/p/')[0]}{base}/reviews/{told.review.pk}/")
    expect(page.get_by_role("button", name="Claim and decide")).to_be_visible()
    page.goto(f"{page.url.split('/p/')[0]}{base}/settings/keys/")
    is_clean(page, "own-work-keys", widths=WIDTHS)
