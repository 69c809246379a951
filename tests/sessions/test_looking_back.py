"""What those who look back found, on the pages of the run and the session, and over REST."""

import pytest
from django.test import Client

from notebook_app.models import Entry
from reflection_app.core.models import Role
from tests import given
from tests.sessions.looking_back import (
    BOTH,
    ended_run,
    errors_said,
    finding,
    looked_back,
)

pytestmark = pytest.mark.django_db


def test_the_runs_page_tells_both_while_they_read_and_after(client: Client) -> None:
    run = ended_run()
    given.logged_in(client, run.project, role=Role.VIEWER)
    address = f"/p/{run.project.slug}/runs/{run.pk}/"
    page = client.get(address).text
    assert page.count("Reflecting…") == 2
    assert f'hx-get="{address}reflectors/" hx-trigger="every 3s"' in page
    looked_back(run)
    section = client.get(f"{address}reflectors/", headers={"HX-Request": "true"}).text
    assert "hx-trigger" not in section
    assert "Tool misuse" in section
    assert "→ Set a glob." in section
    assert "proposed to the notebook" in section
    for entry in Entry.objects.all():
        assert f'href="/p/{run.project.slug}/notebook/entries/{entry.pk}/"' in section
    assert "score 61 / 100" in client.get(address).text


def test_hostile_findings_stay_text(client: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"
    run = ended_run({"errors-1": errors_said(finding(description=evil)), "memories-1": BOTH["memories-1"]})
    looked_back(run)
    given.logged_in(client, run.project)
    section = client.get(f"/p/{run.project.slug}/runs/{run.pk}/reflectors/", headers={"HX-Request": "true"}).text
    assert evil not in section
    assert "&lt;img src=x" in section


def test_rest_tells_both_with_what_became_of_each_finding() -> None:
    run = ended_run()
    caller = given.caller(run.project)
    assert caller.get(f"runs/{run.pk}/reflectors").body["pending"] is True
    looked_back(run)
    told = caller.get(f"runs/{run.pk}/reflectors").body
    errors, memory = told["results"]
    assert (told["pending"], errors["kind"], errors["score"], memory["added"]) == (False, "errors", 61, 1)
    [found] = errors["findings"]
    assert (found["category"], found["became"], found["name"]) == ("tool_misuse", "added", None)
    assert Entry.objects.filter(pk=found["entry_id"], kind="error_note").exists()
