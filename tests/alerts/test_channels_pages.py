"""The pages of channels, with a real receiver."""

import re

import pytest
from django.test import Client
from django.urls import reverse

from reflection_app.alerts.channels import open_address
from reflection_app.alerts.models import Channel, ChannelKind, Topic
from reflection_app.alerts.pages import TOPICS, WHENCE
from reflection_app.core.models import Project, Role
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.alerts.channels import PATH, make_channel, service

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]


@pytest.fixture
def project(client: Client) -> Project:
    project = given.project("desk")
    client.force_login(given.member(project, Role.ADMIN))
    return project


def text_of(client: Client, name: str, *ids: object) -> str:
    response = client.get(reverse(name, args=("desk", *ids)))
    assert response.status_code == 200
    return re.sub(r"\s+", " ", response.content.decode())


def test_every_topic_and_service_has_its_words() -> None:
    assert set(TOPICS) == set(Topic)
    assert set(WHENCE) == set(ChannelKind)


def test_a_channel_is_added_tested_and_its_address_not_shown(client: Client, project: Project) -> None:
    with service() as slack:
        typed = {"kind": "slack", "name": "#agents", "url": slack.url + PATH, "topics": ["review"], "language": "en"}
        response = client.post(reverse("new_channel", args=("desk",)), typed)
        channel = Channel.objects.get()
        assert response["Location"] == reverse("channel", args=("desk", channel.pk))
        tested = client.post(reverse("test_channel", args=("desk", channel.pk)), follow=True).content.decode()
        assert len(slack.heard) == 1
        pages = [text_of(client, name, channel.pk) for name in ("channel", "edit_channel", "delete_channel")]
    assert not any("secret-path" in page for page in [*pages, tested, text_of(client, "channels")])
    assert all(f"{slack.url}/…" in page for page in pages)


def test_a_test_that_fails_shows_what_the_service_said_as_text(client: Client, project: Project) -> None:
    with service("slack", "400 Bad Request", body=b"<b>invalid_payload</b>") as slack:
        channel = make_channel(project, slack)
        page = client.post(reverse("test_channel", args=("desk", channel.pk)), follow=True).content.decode()
    assert "Test not delivered: &lt;b&gt;invalid_payload&lt;/b&gt;" in page
    assert "<b>invalid" not in page


def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays_but_for_the_secret(
    client: Client, project: Project
) -> None:
    typed = {"kind": "dingtalk", "name": "<b>", "url": "http://169.254.169.254/", "secret": "SECabc", "quiet_from": "x"}
    page = client.post(reverse("new_channel", args=("desk",)), typed)
    said = page.content.decode()
    assert page.status_code == 400
    for field in ("topics", "quiet_from", "language"):
        assert f"error-{field}" in said
    assert "&lt;b&gt;" in said
    assert "SECabc" not in said
    right = {"topics": ["review"], "language": "en", "quiet_from": ""}
    for more in ({}, {"quiet_from": "22:00"}):
        assert client.post(reverse("new_channel", args=("desk",)), typed | right | more).status_code == 400
    assert not Channel.objects.exists()


def test_left_empty_address_and_secret_stay(client: Client, project: Project) -> None:
    with service("feishu") as feishu:
        channel = make_channel(project, feishu, "feishu", secret="sssh")
        typed = {"name": "#new", "url": "", "secret": "", "topics": ["daily"], "language": "zh-hans"}
        typed |= {"quiet_from": "22:00", "quiet_until": "07:30"}
        assert client.post(reverse("edit_channel", args=("desk", channel.pk)), typed).status_code == 302
    channel.refresh_from_db()
    assert (channel.name, channel.topics, channel.language) == ("#new", ["daily"], "zh-hans")
    assert f"{channel.quiet_from:%H:%M}–{channel.quiet_until:%H:%M}" == "22:00–07:30"
    address = open_address(channel)
    assert (address.url.endswith(PATH), address.secret) == (True, "sssh")
    assert "22:00–07:30" in text_of(client, "channel", channel.pk)


def test_it_is_switched_off_and_on_and_deleted(client: Client, project: Project) -> None:
    with service() as slack:
        channel = make_channel(project, slack)
    switch = reverse("switch_channel", args=("desk", channel.pk))
    for to, shown in (("off", "Enable"), ("on", "Disable")):
        assert client.post(switch, {"to": to}).status_code == 302
        assert f">{shown}</button>" in text_of(client, "channel", channel.pk)
    assert client.post(switch, {"to": "the moon"}).status_code == 400
    address = reverse("delete_channel", args=("desk", channel.pk))
    assert client.post(address)["Location"] == reverse("channels", args=("desk",))
    assert not Channel.objects.exists()


def test_goals_are_set_on_the_page(client: Client, project: Project) -> None:
    address = reverse("waiting_goals", args=("desk",))
    typed = {
        "review_goal_minutes": "60",
        "question_goal_minutes": "",
        "escalates_again": "on",
        "time_zone": "Asia/Shanghai",
    }
    assert client.post(address, typed)["Location"] == reverse("channels", args=("desk",))
    project.refresh_from_db()
    saved = project.get_waiting()
    assert (saved.review_goal_minutes, saved.question_goal_minutes, saved.escalates_again) == (60, None, True)
    page = client.post(address, typed | {"review_goal_minutes": "soon", "time_zone": "Mars"})
    assert page.status_code == 400
    assert 'value="soon"' in page.text
