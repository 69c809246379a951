"""The page of one review in headless Chromium: accessible, fitting a phone and a zoomed screen, and without scripts."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.reviews.models import Review
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.reviews.review_items import handed_in, rejected, revised, seat, with_calls

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]
# A wide screen, one at 200 % zoom of 1400 px, and a phone.
WIDTHS = (1400, 700, 390)


def opened(visit: Visit, review: Review, *, scheme: str = "light", claimed: bool = True) -> Page:
    page = visit(given.member(review.project), scheme=scheme).go(f"/p/{review.project.slug}/reviews/{review.pk}/")
    if claimed:
        page.get_by_role("button", name="Claim and decide").click()
        expect(page.get_by_role("button", name="Release")).to_be_visible()
    return page


@pytest.mark.parametrize("made", [rejected, seat, with_calls, handed_in])
def test_every_kind_of_item_is_accessible_and_fits(visit: Visit, made: Callable[[str], Review]) -> None:
    page = opened(visit, made("desk"), claimed=False)
    page.evaluate("document.querySelectorAll('details').forEach(details => { details.open = true })")
    is_clean(page, getattr(made, "__name__", "item"), widths=WIDTHS)


def test_long_and_hostile_text_stays_in_its_place(visit: Visit) -> None:
    text = f"{given.HOSTILE}\n\n{'x' * 3_000}\n\n\u202ereversed\n\n" + "A paragraph of usual words. " * 2_000
    review = revised(
        "desk", first=f"{given.HOSTILE} {'y' * 2_000}", second=text[:60_000], limits={"token_budget": 10**7}
    )
    page = opened(visit, review)
    is_clean(page, "hostile", widths=WIDTHS)
    assert page.evaluate("document.querySelectorAll('#review-item script, #review-item img').length") == 0


def test_the_decision_stays_in_view_while_one_reads(visit: Visit) -> None:
    review = revised("desk", second="A paragraph of usual words.\n\n" * 60, limits={"token_budget": 10**7})
    page = opened(visit, review)
    page.set_viewport_size({"width": 1400, "height": 700})
    page.locator("#comments").scroll_into_view_if_needed()
    expect(page.get_by_role("heading", name="Decision", exact=True)).to_be_in_viewport()
    page.set_viewport_size({"width": 390, "height": 700})
    page.evaluate("scrollTo(0, 0)")
    page.get_by_role("link", name="Decision", exact=True).click()
    expect(page.get_by_role("heading", name="Decision", exact=True)).to_be_in_viewport()


def test_the_comparison_is_in_one_column_where_the_screen_is_narrow(visit: Visit) -> None:
    page = opened(visit, revised("desk"))
    page.set_viewport_size({"width": 1400, "height": 900})
    expect(page.get_by_role("region", name="Side by side")).to_be_hidden()
    page.get_by_role("heading", name="Earlier attempts").click()
    expect(page.get_by_role("region", name="Side by side")).to_be_visible()
    page.set_viewport_size({"width": 390, "height": 900})
    expect(page.get_by_role("region", name="Unified")).to_be_visible()
    expect(page.get_by_role("region", name="Side by side")).to_be_hidden()
