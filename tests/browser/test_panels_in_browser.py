"""Three people judge the same verdict blindly, each in a browser of their own; they differ, and a fourth decides."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.reviews.models import Panel, PanelState, Review
from tests import given
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.reviews.panels import SECRET_REASON, adjudication, fresh, open_panel, panel_project

pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
Visit = Callable[..., Visitor]


def claimed(page: Page) -> Page:
    """The queue's next review, claimed and open."""
    page.goto(page.url.split("/p/desk/")[0] + "/p/desk/reviews/")
    page.get_by_role("button", name="Review next").click()
    expect(page.get_by_role("button", name="Decide", exact=False).first).to_be_visible()
    return page


def decide(page: Page, *, overrule: bool, reason: str) -> None:
    if overrule:
        page.locator('input[name="decision"][value="overrule"]').check()
        page.locator('input[name="verdict"][value="REVISE"]').check()
    else:
        page.locator('input[name="decision"][value="approve"]').check()
    page.locator('textarea[name="reason"]').fill(reason)
    page.locator("[data-submit]").click()


def looked_at(page: Page) -> None:
    """The page is accessible and fits a phone and a wide screen."""
    is_clean(page, widths=(1400, 390))
    page.set_viewport_size({"width": 1280, "height": 900})


def test_three_judge_blindly_and_a_fourth_settles_it(visit: Visit) -> None:
    panel = open_panel(panel_project("desk"))
    names = [given.member(panel.project) for _ in range(4)]
    anna, bob, cem, dora = [visit(user) for user in names]
    for visitor in (anna, bob, cem):
        visitor.go("/p/desk/reviews/")
        claimed(visitor.page)
        expect(visitor.page.get_by_text("0 of 3 have decided.")).to_be_visible()
    seats = set(Review.objects.filter(panel=panel).values_list("holder", flat=True))
    assert seats == {user.pk for user in names[:3]}

    decide(anna.page, overrule=True, reason=SECRET_REASON)
    expect(anna.page.get_by_text("It is kept with what the others say.")).to_be_visible()
    bob.page.reload()
    expect(bob.page.get_by_text("1 of 3 have decided.")).to_be_visible()
    assert SECRET_REASON not in bob.page.content()
    assert SECRET_REASON not in dora.go(f"/p/desk/runs/{panel.run_id}/").content()

    decide(bob.page, overrule=False, reason="Fine by me.")
    expect(bob.page.get_by_text("It is kept with what the others say.")).to_be_visible()
    decide(cem.page, overrule=True, reason="Shorter.")
    expect(cem.page.get_by_text("It is kept with what the others say.")).to_be_visible()
    assert fresh(panel).state == PanelState.DISPUTED

    settling = claimed(dora.page)
    assert str(adjudication(panel).pk) in settling.url
    for said in (SECRET_REASON, "Fine by me.", "Shorter."):
        expect(settling.get_by_text(said).first).to_be_visible()
    expect(settling.locator('input[name="verdict"][value="REVISE"]')).to_be_checked()
    looked_at(settling)
    decide(settling, overrule=False, reason="It will do.")
    expect(settling.get_by_text("You agreed with the critic: Pass. The run succeeds.")).to_be_visible()
    assert fresh(panel).state == PanelState.SETTLED

    anna.go(f"/p/desk/reviews/{Review.objects.filter(panel=panel).first().pk}/")  # type: ignore[union-attr]
    expect(anna.page.get_by_text("The verdicts differ.")).to_be_visible()
    looked_at(anna.page)
    anna.go("/p/desk/reviews/agreement/")
    expect(anna.page.get_by_role("heading", name="All reviewers")).to_be_visible()
    looked_at(anna.page)
    anna.go(f"/p/desk/runs/{panel.run_id}/ask/")
    looked_at(anna.page)
    assert Panel.objects.count() == 1
