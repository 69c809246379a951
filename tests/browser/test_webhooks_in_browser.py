"""Webhooks from the first to a message that was sent again, in headless Chromium."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path

import pytest
from django.db import connection
from playwright.sync_api import Page, ViewportSize, expect

from reflection_app.core.models import Role
from reflection_app.runs.events import EventType
from reflection_app.teams.models import Webhook
from reflection_app.teams.webhook_sending import send_due
from tests.adapters.outgoing.conftest import loopback
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.factories import make_member, make_project, submit
from tests.teams.webhooks import Receiver, happen, make_webhook

__all__ = ["loopback"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("loopback"),
    pytest.mark.exhaustive("a page with little script; its views are tested without a browser"),
]
NARROW: ViewportSize = {"width": 390, "height": 844}


def elsewhere[T](do: Callable[[], T]) -> T:
    """What `do` returns, done in a thread of its own: in this one the browser's event loop is running."""

    def work() -> T:
        try:
            return do()
        finally:
            connection.close()

    with ThreadPoolExecutor(1) as pool:
        return pool.submit(work).result()


def fits(page: Page) -> bool:
    return bool(page.evaluate("document.documentElement.scrollWidth <= document.documentElement.clientWidth"))


def test_a_webhook_is_refused_where_it_would_point_inside(visit: Callable[..., Visitor]) -> None:
    page = visit(make_member(make_project("desk"), Role.ADMIN)).go("/p/desk/settings/webhooks/")
    is_clean(page)
    page.get_by_role("link", name="Add a webhook").click()
    page.get_by_label("Address").fill("http://169.254.169.254/latest/")
    is_clean(page)
    page.get_by_role("button", name="Add it").click()
    expect(page.locator("#error-url")).to_contain_text("not on the public internet")
    expect(page.get_by_label("Address")).to_have_value("http://169.254.169.254/latest/")
    expect(page.get_by_role("checkbox", name="run.finished")).to_be_checked()
    is_clean(page)


def test_messages_are_looked_at_and_sent_again(visit: Callable[..., Visitor], tmp_path: Path) -> None:
    project = make_project("desk")
    run = submit(project)
    with Receiver("500 Oops", "200 OK", body=b"<b>heard</b>") as receiver:
        webhook, _ = elsewhere(
            lambda: make_webhook(
                project, receiver.url, [EventType.RUN_WAITING, EventType.RUN_CREATED], description="CI"
            )
        )
        happen(run, EventType.RUN_WAITING, waiting_for="review")
        elsewhere(partial(send_due, webhook.pk))
        Webhook.objects.update(failing_since=None)
        happen(run, EventType.RUN_CREATED)
        elsewhere(partial(send_due, webhook.pk))
    for scheme in ("light", "dark"):
        page = visit(make_member(project, Role.ADMIN), scheme=scheme).go(f"/p/desk/settings/webhooks/{webhook.pk}/")
        is_clean(page)
        page.screenshot(path=tmp_path / f"page-{scheme}.png", full_page=True)
    page.locator("#filter-state").select_option("waiting")
    expect(page.locator("[data-results] .row")).to_have_count(1)
    assert "state=waiting" in page.url
    page.get_by_role("link", name="run.waiting").click()
    expect(page.locator(".webhook-try")).to_contain_text("<b>heard</b>")
    is_clean(page)
    page.set_viewport_size(NARROW)
    assert fits(page)
    page.get_by_role("button", name="Try it now").click()
    expect(page.get_by_text("It is sent again within a few seconds.")).to_be_visible()
    page.go_back()
    page.goto(page.url.split("/settings/")[0] + f"/settings/webhooks/{webhook.pk}/")
    assert fits(page)
    is_clean(page)
    page.screenshot(path=tmp_path / "page-narrow.png", full_page=True)


def test_a_new_secret_is_shown_once(visit: Callable[..., Visitor]) -> None:
    project = make_project("desk")
    with Receiver() as receiver:
        webhook, _ = elsewhere(lambda: make_webhook(project, receiver.url))
    page = visit(make_member(project, Role.ADMIN)).go(f"/p/desk/settings/webhooks/{webhook.pk}/")
    page.get_by_role("link", name="New secret").click()
    is_clean(page)
    page.get_by_role("button", name="Create secret").click()
    expect(page.locator("#secret")).to_contain_text("whsec_")
    is_clean(page)
    page.set_viewport_size(NARROW)
    assert fits(page)
    page.reload()
    expect(page.locator("#secret")).to_have_count(0)
