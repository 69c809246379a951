"""Channels from the first to a message that arrived, in headless Chromium."""

from collections.abc import Callable
from functools import partial

import pytest
from playwright.sync_api import expect

from reflection_app.alerts.models import ChannelItem
from reflection_app.alerts.sending import send_due
from reflection_app.core.models import Role
from reflection_app.reviews.models import Review
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import gathered, make_channel, service
from tests.api.stories import waiting_review
from tests.browser.conftest import Visitor
from tests.browser.looks import is_clean
from tests.browser.test_webhooks_in_browser import NARROW, elsewhere, fits
from tests.factories import make_member, make_project

__all__ = ["loopback"]
pytestmark = [
    pytest.mark.django_db(transaction=True),
    pytest.mark.usefixtures("loopback"),
    pytest.mark.exhaustive("pages with no script of their own; their views are tested without a browser"),
]


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_a_channel_is_added_tested_and_told(visit: Callable[..., Visitor], scheme: str) -> None:
    project = make_project("desk", waiting={"review_goal_minutes": 30, "time_zone": "Asia/Shanghai"})
    page = visit(make_member(project, Role.ADMIN), scheme=scheme).go("/p/desk/settings/channels/")
    is_clean(page, f"channels-empty-{scheme}")
    page.get_by_role("link", name="Add a channel").click()
    is_clean(page, f"channel-new-{scheme}")
    with service() as slack:
        page.get_by_role("radio", name="Slack").check()
        page.get_by_role("textbox", name="Name").fill("#agents")
        page.get_by_label("Address of the incoming webhook").fill("http://169.254.169.254/latest/")
        page.get_by_role("button", name="Add it").click()
        expect(page.locator("#error-url")).to_contain_text("not on the public internet")
        is_clean(page, f"channel-refused-{scheme}")
        # The desk's own process may not reach this machine, and says so; this one may.
        channel = elsewhere(partial(make_channel, project, slack))
        page.goto(page.url.replace("new/", f"{channel.pk}/"))
        page.get_by_role("button", name="Send a test message").click()
        expect(page.get_by_text("The test has not arrived: 127.0.0.1 is not on the public internet")).to_be_visible()
        elsewhere(partial(waiting_review, project))
        assert elsewhere(partial(send_due, channel.pk, clock=gathered()))
        page.reload()
        page.locator("summary").last.click()
        is_clean(page, f"channel-{scheme}")
        elsewhere(partial(make_channel, project, slack, name="#another", is_enabled=False, topics=["daily"]))
    page.set_viewport_size(NARROW)
    assert fits(page)
    is_clean(page, f"channel-narrow-{scheme}")
    page.goto(page.url.rsplit("/", 2)[0] + "/")
    assert fits(page)
    is_clean(page, f"channels-narrow-{scheme}")
    elsewhere(partial(ChannelItem.objects.all().delete))
    review = elsewhere(Review.objects.get)
    elsewhere(partial(Review.objects.update, created_at="2026-01-01T00:00Z"))
    for place in ("reviews/", f"reviews/{review.pk}/", ""):
        page.goto(page.url.split("/p/desk/")[0] + f"/p/desk/{place}")
        expect(page.get_by_text("overdue, was due").first).to_be_visible()
        assert fits(page)
        is_clean(page, f"overdue-{place.split('/')[0]}{scheme}")
    page.goto(page.url.split("/p/desk/")[0] + "/profile/?project=desk")
    is_clean(page, f"profile-digest-{scheme}")
