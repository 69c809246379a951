"""What a model saw, on the run's page: the pages as they were shown to it."""

import pytest
from django.test import Client

from reflection_app.attachments.models import Attachment, RenderedPage
from reflection_app.core.models import Role
from reflection_app.runs.models import Run
from tests import given
from tests.pictures import pdf
from tests.repairs.looked import CHART, eyes, looked_check, looking_project, seen

pytestmark = pytest.mark.django_db

REPORT = pdf("Sales per region", "Legend")


def page_of(client: Client, run: Run) -> str:
    return given.logged_in(client, run.project).get(f"/p/{run.project.slug}/runs/{run.pk}/").text


def test_the_page_shows_what_was_seen_and_the_pages(client: Client, monkeypatch: pytest.MonkeyPatch) -> None:
    reply = lambda asked: seen(asked, holds="no", saw=f"A chart. {given.HOSTILE}")  # noqa: E731
    with eyes(reply, monkeypatch) as model:
        run = looked_check(looking_project(model.model), {"report.pdf": REPORT})
    page = page_of(client, run)
    told = " ".join(page.split())
    assert "A model looked at 2 of 2 pages:" in told
    assert f"report.pdf: {CHART}" in told, "it is among what is missing"
    assert "A model looks at 2 pages" in told, "the step of the timeline"
    assert given.HOSTILE not in page
    file = Attachment.objects.get()
    address = f"/p/{run.project.slug}/attachments/{file.pk}/seen/2/"
    assert f'src="{address}"' in page
    shown = RenderedPage.objects.get(page=2)
    answer = client.get(address)
    assert (answer.status_code, answer["Content-Type"], answer.content) == (200, "image/png", bytes(shown.content))
    assert "sandbox" in answer["Content-Security-Policy"]
    assert answer["X-Content-Type-Options"] == "nosniff"
    assert client.get(address, headers={"If-None-Match": answer["ETag"]}).status_code == 304
    assert client.get(address.replace("/2/", "/3/")).status_code == 404
    other = given.project("others")
    assert client.get(address.replace(run.project.slug, other.slug)).status_code == 404
    client.force_login(given.member(other, Role.ADMIN))
    assert client.get(address).status_code == 404
