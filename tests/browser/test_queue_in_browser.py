"""The queue in headless Chromium: what others do appears without reload, and disturbs nobody who is at work in it."""

from collections.abc import Callable

import pytest
from playwright.sync_api import Page, expect

from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Project
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review, ReviewState
from tests import given
from tests.browser.conftest import Visitor
from tests.reviews.waiting_rows import waiting_rows

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
QUEUE = "/p/desk/reviews/"


def listening(page: Page) -> Page:
    """The page once its bell is joined."""
    page.wait_for_selector("[data-bell-state=open]")
    return page


def row(page: Page, review: Review) -> str:
    return f"#row-{review.pk}"


def test_a_claim_of_one_is_seen_by_the_other_without_reload(visit: Visit, project: Project) -> None:
    reviews = waiting_rows(project, 3)
    first, second = given.member(project), given.member(project)
    claiming = visit(first).go(QUEUE)
    watching = listening(visit(second).go(QUEUE))
    watching.evaluate("window.sameDocument = true")
    claiming.get_by_role("button", name="Review next").click()
    claiming.wait_for_url(f"**{QUEUE}{reviews[0].pk}/")
    expect(watching.locator(row(watching, reviews[0]))).to_contain_text(f"{first.username}, ")
    expect(watching.locator("#view-unclaimed .count")).to_have_text("2")

    claiming.get_by_role("button", name="Release").click()
    expect(watching.locator(row(watching, reviews[0]))).not_to_contain_text(first.username)
    expect(watching.locator("#view-unclaimed .count")).to_have_text("3")
    assert watching.evaluate("window.sameDocument")


def test_selection_focus_and_filters_outlast_what_others_do(visit: Visit, project: Project) -> None:
    reviews = waiting_rows(project, 6, audits_every=2)
    visitor = visit(given.member(project))
    page = listening(visitor.go(f"{QUEUE}?reason=rejected"))
    page.locator(f"#pick-{reviews[1].pk}").check()
    page.locator(f"#open-{reviews[3].pk}").focus()
    other = Actor(user=given.member(project))
    Review.objects.filter(pk=reviews[5].pk).update(state=ReviewState.WITHDRAWN)
    claim_review(reviews[1], actor=other)
    expect(page.locator(row(page, reviews[1]))).to_contain_text(f"{other.label}, ")
    expect(page.locator(".queue > .row")).to_have_count(2)
    assert page.locator(f"#pick-{reviews[1].pk}").is_checked()
    assert page.evaluate("document.activeElement.id") == f"open-{reviews[3].pk}"
    assert page.url.endswith("?reason=rejected")


def test_filters_change_the_address_and_the_next_one_comes_from_them(visit: Visit, project: Project) -> None:
    reviews = waiting_rows(project, 6)
    page = listening(visit(given.member(project)).go(QUEUE))
    page.get_by_text("More filters").click()
    page.get_by_label("Minimum score").fill("4")
    page.get_by_label("Minimum score").press("Tab")
    expect(page.locator(".queue > .row")).to_have_count(2)
    assert "min_score=4" in page.url
    page.get_by_role("link", name="Unclaimed").click()
    page.wait_for_url("**view=unclaimed*")
    expect(page.locator(".queue > .row")).to_have_count(2)
    page.get_by_role("button", name="Review next").click()
    page.wait_for_url(f"**{QUEUE}{reviews[4].pk}/?queue=*")
    assert Review.objects.get(state=ReviewState.CLAIMED).pk == reviews[4].pk


def test_who_is_removed_from_the_project_hears_no_more(visit: Visit, project: Project) -> None:
    waiting_rows(project, 1)
    user = given.member(project)
    visitor = visit(user, has_clock=True)
    sockets: list[str] = []
    visitor.page.on("websocket", lambda socket: sockets.append(socket.url))
    page = listening(visitor.go(QUEUE))
    Membership.objects.filter(user=user).delete()
    page.wait_for_selector("[data-bell-state=closed]")
    page.clock.run_for(10_000)
    assert page.get_attribute("body", "data-bell-state") == "closed"
    assert len(sockets) == 1
    # What the page asked for meanwhile was refused.
    visitor.complaints[:] = [said for said in visitor.complaints if "Error Code 404" not in said]


def test_news_from_others_do_not_dim_what_is_being_read(visit: Visit, project: Project) -> None:
    waiting_rows(project, 1)
    page = listening(visit(given.member(project)).go(QUEUE))
    rows = page.locator("#queue-rows")
    rows.evaluate("rows => rows.classList.add('htmx-request')")
    expect(rows).to_have_css("opacity", "1")
    page.locator(".queue-filters").evaluate("filters => filters.classList.add('htmx-request')")
    expect(rows).to_have_css("opacity", "0.6")
