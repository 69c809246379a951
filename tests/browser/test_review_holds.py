"""Holding an item, losing it and deciding it, with two browsers at once; and what becomes of what was typed."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, Request, expect

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.claiming import claim_review, release_review
from reflection_app.reviews.deciding import decide_review
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from tests import given
from tests.browser.conftest import Visitor

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]


@pytest.fixture
def project() -> Project:
    return given.unsure_project("desk")


def painted(page: Page, review: Review) -> Page:
    page.wait_for_selector(f"body[data-keys=ready][data-painted='{review.pk}']")
    return page


def opened(visit: Visit, review: Review, user: User) -> Page:
    """The page of a review that `user` holds, ready for keys."""
    claim_review(review, actor=Actor(user=user))
    return painted(visit(user).go(f"/p/desk/reviews/{review.pk}/"), review)


def taken_over(review: Review, user: User) -> Review:
    """The review, whose lease ran out and which `user` claimed then."""
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    return claim_review(review, actor=Actor(user=user))


# Whether words are on the screen, as text or in a field that shows them.
SHOWN = """words => document.body.innerText.includes(words)
  || [...document.querySelectorAll("textarea")].some(one => one.checkVisibility() && one.value === words)"""


def keeps(request: Request) -> bool:
    return "heartbeat" in request.url and "look=1" not in (request.post_data or "")


def left(review: Review, seconds: float) -> None:
    Review.objects.filter(pk=review.pk).update(lease_until=timezone.now() + timedelta(seconds=seconds))


def test_of_two_browsers_with_an_item_open_one_decides_and_the_other_is_told(visit: Visit, project: Project) -> None:
    review = given.waiting_review(project)
    ann, ben = given.member(project), given.member(project)
    anns = opened(visit, review, ann)
    bens = painted(visit(ben).go(f"/p/desk/reviews/{review.pk}/"), review)
    expect(bens.get_by_text("Locked by").first).to_be_visible()
    anns.get_by_label("Reason").fill("Mine, long and typed by hand")
    held = taken_over(review, ben)
    told = DecisionInput.model_validate({"lease_token": held.lease_token, "decision": "approve", "reason": "Ben's"})
    decide_review(held, told, actor=Actor(user=ben))
    painted(anns, review)
    # The bell may have frozen the form a moment before: a click asks nothing of it, where a check would.
    anns.get_by_label("Agree with the critic").click(force=True)
    anns.get_by_label("Reason").focus()
    anns.keyboard.press("Control+Enter")
    # Told by the answer, or by the bell that rang a moment before.
    expect(anns.get_by_text("already decided this review").first).to_be_visible()
    # In the field that the bell froze, or beside the decision that the answer told.
    anns.wait_for_function(SHOWN, arg="Mine, long and typed by hand")
    assert Review.objects.get(pk=review.pk).decision_reason == "Ben's"


def test_a_hold_that_is_lost_mid_typing_freezes_the_fields_and_claiming_again_brings_all_along(
    visit: Visit, project: Project
) -> None:
    review = given.waiting_review(project)
    ann, ben = given.member(project), given.member(project)
    page = opened(visit, review, ann)
    page.keyboard.press("o")
    page.keyboard.press("2")
    page.locator("[data-issue-row] summary").click()
    page.get_by_label("Description of issue 1").fill("Mine")
    page.get_by_label("Reason").fill("Half a sent")
    held = taken_over(review, ben)
    page.evaluate("document.body.dispatchEvent(new Event('desk:rang'))")
    expect(page.locator(".lease-lost")).to_contain_text("has locked this review")
    expect(page.get_by_text("Your input is now read-only.")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("Half a sent")
    expect(page.get_by_label("Reason")).not_to_be_editable()
    expect(page.get_by_role("button", name="Decide")).to_be_hidden()
    page.get_by_role("button", name="Claim again").click()
    expect(page.get_by_role("alert").first).to_contain_text("has locked this review until")
    expect(page.get_by_label("Reason")).to_have_value("Half a sent")
    assert held.lease_token is not None
    release_review(held, lease_token=held.lease_token, actor=Actor(user=ben))
    page.get_by_role("button", name="Claim again").click()
    expect(page.get_by_role("button", name="Decide")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("Half a sent")
    expect(page.get_by_label("Description of issue 1")).to_have_value("Mine")
    expect(page.locator("[name=verdict][value=REVISE]")).to_be_checked()
    painted(page, review).get_by_label("Reason").press("Control+Enter")
    page.wait_for_url("**/reviews/")
    decided = Review.objects.select_related("decided_verdict").get(pk=review.pk)
    assert decided.decided_by == ann
    assert decided.decided_verdict is not None
    assert [issue["description"] for issue in decided.decided_verdict.issues] == ["Mine"]


def test_a_hold_that_another_took_and_decided_ends_with_the_decision_and_a_way_on(
    visit: Visit, project: Project
) -> None:
    review, further = given.waiting_review(project), given.waiting_review(project, objective="What is left")
    ann, ben = given.member(project), given.member(project)
    page = opened(visit, review, ann)
    page.get_by_label("Reason").fill("Half a sent")
    held = taken_over(review, ben)
    page.evaluate("document.body.dispatchEvent(new Event('desk:rang'))")
    expect(page.locator(".lease-lost")).to_contain_text("has locked this review")
    told = DecisionInput.model_validate({"lease_token": held.lease_token, "decision": "approve", "reason": "Ben's"})
    decide_review(held, told, actor=Actor(user=ben))
    page.evaluate("document.body.dispatchEvent(new Event('desk:rang'))")
    expect(page.locator(".lease-lost")).to_contain_text("already decided this review")
    expect(page.get_by_role("button", name="Claim again")).to_be_hidden()
    expect(page.get_by_role("link", name="View decision")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("Half a sent")
    page.locator("[data-lost]").get_by_role("button", name="Review next").click()
    painted(page, further)


@pytest.mark.exhaustive("waits for real seconds")
def test_the_last_minute_is_counted_down_and_the_hold_can_be_kept(visit: Visit, project: Project) -> None:
    review = given.waiting_review(project)
    user = given.member(project)
    claim_review(review, actor=Actor(user=user))
    left(review, 75)
    visitor = visit(user)
    # Nobody hears that the page is in use: it is as if it had been left alone.
    visitor.page.route("**/heartbeat/", lambda route: route.abort())
    page = painted(visitor.go(f"/p/desk/reviews/{review.pk}/"), review)
    expect(page.get_by_role("timer")).to_have_text(re.compile("0:5[0-9]"))
    expect(page.locator("[data-lease-said]")).to_have_text("Your lock on this review expires in 1 minute.")
    page.unroute("**/heartbeat/")
    page.get_by_role("button", name="Extend lock").click()
    expect(page.get_by_text("Locked to you · 9 min left")).to_be_visible()
    kept = Review.objects.get(pk=review.pk)
    assert kept.lease_until is not None
    assert kept.lease_until > timezone.now() + timedelta(minutes=9)


def test_a_page_that_nobody_uses_lets_go(visit: Visit, project: Project) -> None:
    review = given.waiting_review(project)
    user = given.member(project)
    claim_review(review, actor=Actor(user=user))
    visitor = visit(user, has_clock=True)
    # Rings of the bell let the page ask for its lease at other times.
    visitor.page.route_web_socket("**", lambda _: None)
    page = visitor.go(f"/p/desk/reviews/{review.pk}/")
    page.clock.run_for(1_000)
    with page.expect_response(lambda response: keeps(response.request)):
        page.clock.fast_forward(250_000)
    expect(page.locator("[data-lease=held]")).to_be_visible()
    # One lease after the last key the page only asks whether it still has it.
    beats: list[str] = []
    page.on("request", lambda request: beats.append(request.url) if keeps(request) else None)
    page.clock.fast_forward(700_000)
    page.clock.run_for(1_000)
    left(review, -1)
    page.clock.fast_forward(300_000)
    page.clock.run_for(1_000)
    expect(page.locator(".lease-lost")).to_contain_text("expired")
    assert beats == []


def test_a_draft_is_restored_after_a_reload_until_it_is_discarded_or_decided(visit: Visit, project: Project) -> None:
    review = given.waiting_review(project)
    page = opened(visit, review, given.member(project))
    page.keyboard.press("o")
    page.keyboard.press("2")
    page.get_by_role("button", name="Add issue").click()
    page.keyboard.type("Too short")
    page.get_by_label("Reason").fill("Kept")
    painted(page, review).reload()
    painted(page, review)
    expect(page.get_by_text("Draft restored")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("Kept")
    expect(page.get_by_label("Description of issue 2")).to_have_value("Too short")
    expect(page.locator("[name=verdict][value=REVISE]")).to_be_checked()
    page.get_by_role("button", name="Discard").click()
    expect(page.get_by_label("Reason")).to_have_value("")
    expect(page.locator("[name=decision]:checked")).to_have_count(0)
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('review-draft')).length") == 0
    page.keyboard.press("Escape")
    page.keyboard.press("o")
    page.keyboard.press("2")
    page.get_by_label("Reason").fill("Kept")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/reviews/")
    assert page.evaluate("Object.keys(sessionStorage).filter((key) => key.startsWith('review-draft')).length") == 0


def test_a_decision_that_is_refused_or_gets_no_answer_comes_back_with_all_that_was_typed(
    visit: Visit, project: Project
) -> None:
    review = given.waiting_review(project)
    page = opened(visit, review, given.member(project))
    page.keyboard.press("o")
    page.get_by_label("Reason").fill("No verdict yet")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_role("alert").first).to_contain_text("Overruling requires a verdict")
    expect(page.get_by_role("alert").first).to_contain_text("Your input is still below.")
    expect(page.locator("[data-draft-offer]")).to_be_hidden()
    expect(page.locator("[name=verdict]").first).to_be_focused()
    expect(page.get_by_label("Reason")).to_have_value("No verdict yet")
    painted(page, review).route("**/decision/**", lambda route: route.abort())
    page.keyboard.press("1")
    page.keyboard.press("Control+Enter")
    expect(page.get_by_text("No response from the server")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("No verdict yet")
    page.unroute("**/decision/**")
    page.get_by_role("button", name="Decide").click()
    page.wait_for_url("**/reviews/")
    assert Review.objects.get(pk=review.pk).decision_reason == "No verdict yet"
