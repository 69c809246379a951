"""Pictures of an attempt in headless Chromium: shown, enlarged, and marked with a box that becomes an issue."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.reviews.models import Review
from tests import given
from tests.attachments.samples import part, pdf, png, wav
from tests.browser.conftest import Visitor
from tests.browser.looks import problems
from tests.reviews.review_items import handed_in

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
LINK = {"type": "image_url", "image_url": {"url": "https://a.example/b.png"}}


@pytest.fixture
def review(transactional_db: None) -> Review:
    files = [part(png(800, 600), name="chart.png"), part(wav(), name="said.wav"), part(pdf(2), name="a.pdf"), LINK]
    return handed_in("desk", content=["Look at it.", *files])


def drawn(page: Page) -> None:
    """Draws a box over the middle of the enlarged picture."""
    around = page.locator("dialog[open] img").bounding_box()
    assert around is not None
    x, y, width, height = around["x"], around["y"], around["width"], around["height"]
    page.mouse.move(x + width * 0.25, y + height * 0.25)
    page.mouse.down()
    page.mouse.move(x + width * 0.5, y + height * 0.5, steps=3)
    page.mouse.move(x + width * 0.75, y + height * 0.75)
    page.mouse.up()


def test_a_picture_is_shown_and_enlarged(visit: Visit, review: Review) -> None:
    visitor = visit(given.member(review.project))
    page = visitor.go(f"/p/desk/runs/{review.run_id}/")
    picture = page.get_by_role("img", name="chart.png")
    # Scrolls there, and tries again when the live page replaces it.
    picture.hover()
    page.wait_for_function("document.querySelector('.attached-picture img').naturalWidth === 800")
    picture.click()
    expect(page.get_by_role("dialog", name="chart.png")).to_be_visible()
    page.keyboard.press("Escape")
    expect(page.get_by_role("dialog")).to_have_count(0)
    expect(page.locator("audio[controls]")).to_have_attribute("preload", "none")
    expect(page.get_by_text(f"2 pages · {len(pdf(2))} bytes")).to_be_visible()
    assert problems(page) == []


def test_a_box_that_is_drawn_becomes_an_issue_about_the_picture(visit: Visit, review: Review) -> None:
    page = visit(given.member(review.project)).go(f"/p/desk/reviews/{review.pk}/")
    page.wait_for_selector("[data-keys=ready]")
    expect(page.get_by_role("button", name="Mark area")).to_have_count(0)
    page.get_by_role("button", name="Claim and decide").click()
    page.get_by_role("button", name="Mark area").click()
    expect(page.get_by_text("Draw a box around the problem.")).to_be_visible()
    drawn(page)
    expect(page.get_by_role("dialog")).to_have_count(0)
    row = page.locator("[data-issue-row]").last
    expect(row.locator("[name=issue_description]")).to_be_focused()
    expect(row.locator("[name=issue_region_part]")).to_have_value("xywh=percent:25,25,50,50")
    expect(page.get_by_label("Overrule", exact=False).first).to_be_checked()
    expect(page.locator(".attached-picture [data-drafts] rect")).to_have_count(1)
    page.keyboard.type("The axis is cut off.")
    page.locator("[name=verdict][value=REVISE]").check()
    assert problems(page) == []
    page.locator("[data-submit]").click()
    page.wait_for_function("!location.pathname.includes('/decision/')")
    expect(page.get_by_text("You overruled", exact=False).first).to_be_visible()
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert review.decided_verdict.issues[-1]["region"]["fragment"] == "xywh=percent:25,25,50,50"
    page.goto(page.url.partition("/p/")[0] + f"/p/desk/runs/{review.run_id}/")
    expect(page.locator(".attached-picture .box-text")).to_have_text("1")
    expect(page.locator(".regions")).to_contain_text("The axis is cut off.")
