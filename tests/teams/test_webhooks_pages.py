"""The pages of webhooks, with a real receiver."""

import re

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from reflection_app.core.models import Project, Role
from reflection_app.teams.models import Webhook
from reflection_app.teams.webhook_sending import send_due
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.teams.webhooks import Receiver, happen, make_webhook

__all__ = ["loopback"]
pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback", "committing")]
SECRET = re.compile(r"whsec_[A-Za-z0-9+/=]+")


@pytest.fixture
def project(client: Client) -> Project:
    project = given.project("desk")
    client.force_login(given.member(project, Role.ADMIN))
    return project


def text_of(client: Client, name: str, *ids: object, **query: str) -> str:
    response = client.get(reverse(name, args=("desk", *ids)), query_params=query)
    assert response.status_code == 200
    return response.content.decode()


def test_a_webhook_is_added_and_its_secret_shown_once(client: Client, project: Project) -> None:
    with Receiver() as receiver:
        typed = {"url": receiver.url, "description": "CI", "events": ["run.finished", "run.waiting"]}
        response = client.post(reverse("new_webhook", args=("desk",)), typed)
        webhook = Webhook.objects.get()
        assert response["Location"] == reverse("webhook", args=("desk", webhook.pk))
        first = client.get(response["Location"])
        assert "no-store" in first["Cache-Control"]
        (shown,) = set(SECRET.findall(first.content.decode())) - {"whsec_"}
        assert shown not in text_of(client, "webhook", webhook.pk)
        happen(given.submitted_run(project))
        assert send_due(webhook.pk) == 1
        receiver.believed(shown)
    rotated = client.post(reverse("rotate_webhook", args=("desk", webhook.pk)))["Location"]
    assert len(set(SECRET.findall(client.get(rotated).text)) - {"whsec_", shown}) == 1


def test_what_is_wrong_is_said_at_its_field_and_what_was_typed_stays(client: Client, project: Project) -> None:
    typed = {"url": "http://169.254.169.254/<b>", "description": "<script>"}
    response = client.post(reverse("new_webhook", args=("desk",)), typed)
    page = response.content.decode()
    assert response.status_code == 400
    assert "http://169.254.169.254/&lt;b&gt;" in page
    assert "&lt;script&gt;" in page
    assert "Choose at least one." in page
    response = client.post(reverse("new_webhook", args=("desk",)), {**typed, "events": ["run.finished"]})
    assert "not on the public internet" in response.content.decode()
    assert not Webhook.objects.exists()


def test_it_is_changed_resumed_switched_and_deleted(client: Client, project: Project) -> None:
    with Receiver() as receiver:
        webhook, _ = make_webhook(project, receiver.url)
        address = reverse("switch_webhook", args=("desk", webhook.pk))
        changed = {"url": receiver.url + "/x", "description": "new", "events": ["run.waiting"] * 2}
        assert client.post(reverse("edit_webhook", args=("desk", webhook.pk)), changed).status_code == 302
        webhook.refresh_from_db()
        assert (webhook.url, webhook.description, webhook.events) == (receiver.url + "/x", "new", ["run.waiting"])
    Webhook.objects.update(paused_at=timezone.now())
    assert ">Resume<" in text_of(client, "webhook", webhook.pk)
    for to, state in (("resumed", "on"), ("off", "off"), ("on", "on")):
        assert client.post(address, {"to": to}).status_code == 302
        webhook.refresh_from_db()
        assert webhook.state == state
    assert client.post(address, {"to": "the moon"}).status_code == 400
    address = reverse("delete_webhook", args=("desk", webhook.pk))
    client.get(address)
    assert Webhook.objects.exists()
    assert client.post(address)["Location"] == reverse("webhooks", args=("desk",))
    assert not Webhook.objects.exists()


def test_a_test_shows_what_came_back_as_text(client: Client, project: Project) -> None:
    with Receiver("500 Oops", body=b"<img src=x onerror=alert(1)>") as receiver:
        webhook, _ = make_webhook(project, receiver.url)
        response = client.post(reverse("test_webhook", args=("desk", webhook.pk)))
    page = client.get(response["Location"]).content.decode()
    assert "<img src=x" not in page
    assert "&lt;img src=x" in page
    assert "webhook.test" in page
    assert "</svg> failed" in page
