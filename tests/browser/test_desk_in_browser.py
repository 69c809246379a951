"""What people do with the desk, in headless Chromium."""

import re
from collections.abc import Callable
from datetime import timedelta

import pytest
from django.contrib.auth.hashers import make_password
from django.contrib.auth.models import User
from django.utils import timezone
from playwright.sync_api import Page, expect

from reflection_app.core.audit import Actor
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Step
from reflection_app.runs.resuming import cancel_run
from tests import given
from tests.browser.conftest import Server, Visitor

pytestmark = pytest.mark.django_db(transaction=True)
Visit = Callable[..., Visitor]
DURATION_TESTS = '{"entry_point": "parse_duration", "cases": [{"name": "minutes", "args": ["30m"], "expected": 1800}]}'


def ready(page: Page) -> Page:
    """The page once its keys work."""
    page.wait_for_selector("[data-keys=ready]")
    return page


def test_log_in_submit_a_task_and_watch_it_to_its_end(visit: Visit) -> None:
    project = given.project("desk", models_by_role={"default": "scripted/demo-duration"})
    user = given.member(project)
    # The server is a process of its own, with the settings of life.
    User.objects.filter(pk=user.pk).update(password=make_password(given.PASSWORD, hasher="pbkdf2_sha256"))
    page = visit(None).go("/")
    page.get_by_label("Username").fill(user.username)
    page.get_by_label("Password").fill(given.PASSWORD)
    page.get_by_role("button", name="Log in").click()
    page.get_by_role("link", name="New task").first.click()
    page.get_by_label("Objective").fill("Write parse_duration(text).")
    page.get_by_role("textbox", name="Tests").fill(DURATION_TESTS)
    page.get_by_role("button", name="Create and start").click()
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    finished_run(Run.objects.get())
    expect(page.locator(".run-status .badge")).to_contain_text("Succeeded")
    expect(page.get_by_text("passed all tests")).to_be_visible()
    expect(page.locator(".attempt").first).to_contain_text("parse_duration")
    expect(page.locator(".attempt-best")).to_have_count(1)


def test_a_live_page_keeps_what_the_reader_opened(visit: Visit) -> None:
    project = given.unsure_project("desk")
    run = given.submitted_run(project)
    page = visit(given.member(project)).go(f"/p/desk/runs/{run.pk}/")
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    finished_run(run)
    expect(page.get_by_text("This run is waiting for a reviewer.")).to_be_visible()
    page.get_by_text("Request and response").first.click()
    claim_review(Review.objects.get(), actor=Actor(user=given.member(project)))
    expect(page.locator(".callout")).to_contain_text("locked by")
    expect(page.locator("#step-1-details")).to_have_attribute("open", "")
    expect(page.locator("#run-steps > li")).to_have_count(4)


def test_a_live_page_tells_at_once_what_waits_and_stops_offering_what_is_over(visit: Visit) -> None:
    project = given.unsure_project("desk")
    run = given.submitted_run(project)
    user = given.member(project)
    page = visit(user).go(f"/p/desk/runs/{run.pk}/")
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    finished_run(run)
    expect(page.locator(".nav .count")).to_contain_text("1")
    expect(page.get_by_role("link", name="Cancel run")).to_be_visible()
    cancel_run(run, actor=Actor(user=user))
    expect(page.get_by_role("link", name="Cancel run")).to_be_hidden()
    expect(page.locator(".nav .count")).to_have_count(0)


def test_a_running_step_tells_for_how_long(visit: Visit) -> None:
    project = given.unsure_project("desk")
    run = given.submitted_run(project)
    began = timezone.now() - timedelta(seconds=300)
    Step.objects.create(run=run, seq=1, key="attempt-1/answer", kind="generate", request={}, started_at=began)
    page = visit(given.member(project)).go(f"/p/desk/runs/{run.pk}/")
    expect(page.locator(".step-state")).to_contain_text("running 5 min")


def finished_run(run: Run) -> None:
    from reflection_app.runs.advance import advance

    advance(run.pk)


def test_the_page_recovers_when_the_server_was_away(visit: Visit, server: Server) -> None:
    project = given.unsure_project("desk")
    run = given.submitted_run(project)
    page = visit(given.member(project)).go(f"/p/desk/runs/{run.pk}/")
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    server.stop()
    expect(page.locator("[data-live-state]")).to_have_text("Reconnecting…")
    finished_run(run)
    server.start()
    expect(page.locator("[data-live-state]")).to_have_text("Live")
    expect(page.get_by_text("This run is waiting for a reviewer.")).to_be_visible()
    expect(page.locator("#run-steps > li")).to_have_count(4)
    expect(page.locator("#run-attempts > article")).to_have_count(1)


def test_an_issue_is_a_line_until_it_is_edited(visit: Visit) -> None:
    project = given.unsure_project("desk")
    user = given.member(project)
    review = claim_review(given.waiting_review(project), actor=Actor(user=user))
    page = ready(visit(user).go(f"/p/desk/reviews/{review.pk}/"))
    page.keyboard.press("o")
    page.keyboard.press("2")
    line = page.locator("[data-issue-row] summary")
    expect(line).to_contain_text("No title — Add one")
    expect(page.get_by_label("Description of issue 1")).to_be_hidden()
    line.focus()
    page.keyboard.press("Enter")
    page.get_by_label("Severity of issue 1").select_option("critical")
    page.get_by_label("Description of issue 1").fill("No name")
    expect(line).to_contain_text("critical · other No name — Add one")
    line.click()
    expect(page.get_by_label("Description of issue 1")).to_be_hidden()
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/reviews/")
    review.refresh_from_db()
    assert review.decided_verdict is not None
    assert [issue["description"] for issue in review.decided_verdict.issues] == ["No name"]


def test_the_message_of_the_last_decision_leaves_and_its_undo_stays(visit: Visit) -> None:
    project = given.unsure_project("desk")
    user = given.member(project)
    first = claim_review(given.waiting_review(project), actor=Actor(user=user))
    page = ready(visit(user).go(f"/p/desk/reviews/{first.pk}/"))
    page.emulate_media(reduced_motion="reduce")
    head = page.get_by_role("heading", level=1)
    page.keyboard.press("a")
    page.keyboard.press("Control+Enter")
    page.wait_for_url("**/reviews/")
    line = page.locator(".last-decision")
    said = line.locator(".last-said")
    expect(said).to_have_text(re.compile("You agreed with the critic: Pass."))
    assert said.evaluate("one => one.getAnimations()[0].effect.getTiming().delay") == 8_000
    line.hover()
    assert said.evaluate("one => one.getAnimations()[0].playState") == "paused"
    head.hover()
    assert said.evaluate("one => one.getAnimations()[0].playState") == "running"
    before = head.bounding_box(), page.locator("#queue-tabs").bounding_box()
    line.evaluate("one => one.getAnimations({ subtree: true }).forEach(leaving => leaving.finish())")
    expect(said).to_be_hidden()
    expect(line.get_by_text("Last decision:")).to_be_visible()
    assert (head.bounding_box(), page.locator("#queue-tabs").bounding_box()) == before
    page.reload()
    expect(line.get_by_text("Last decision:")).to_be_visible()
    expect(said).to_be_hidden()
    line.get_by_role("button", name="Undo").click()
    page.wait_for_url(f"**/reviews/{first.pk}/")
    expect(line).to_have_count(0)
