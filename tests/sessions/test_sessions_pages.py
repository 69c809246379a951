"""The pages of sessions, and what a run's page shows of its outside agent."""

import json
from typing import Any

import pytest
from django.test import Client

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project, Role
from reflection_app.runs.advance import advance
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run
from reflection_app.sessions.models import Transcript
from reflection_app.sessions.recording import (
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
)
from reflection_app.web.page_budget import MOST_CHARACTERS
from tests import given
from tests.runs.test_run_pages import ACTIVE
from tests.sessions.looking_back import (
    BOTH,
    ended_run,
    errors_said,
    finding,
    looked_back,
)
from tests.sessions.recorded import INLINE, reflection, turns, watched_project

pytestmark = pytest.mark.django_db


HTMX = {"HX-Request": "true"}


def opened(project: Project, messages: list[dict[str, Any]], **submission: Any) -> Transcript:
    """A session whose run has gone as far as its turns let it."""
    sent = {"messages": messages, "reflection": INLINE, **submission}
    transcript = open_transcript(project, TranscriptSubmission.model_validate(sent), actor=Actor())
    if transcript.run_id:
        advance(transcript.run_id)
    return transcript


def page_of(client: Client, transcript: Transcript, query: str = "", **headers: str) -> Any:
    path = f"/p/{transcript.project.slug}/transcripts/{transcript.pk}/"
    return client.get(path + query, headers=HTMX if headers else None)


def test_a_session_is_told_in_order_with_its_reflections_between(client: Client) -> None:
    said = reflection("Ask for the date.", on_track=False, issues=[{"category": "tool_misuse", "description": "Twice"}])
    project = watched_project({"reflection-1/answer": said}, slug="told-in-order")
    messages = [*turns("I want to fly"), {"role": "tool", "name": "find_flight", "content": "Error: no seats"}]
    transcript = opened(project, messages, objective="Fly")
    page = page_of(given.logged_in(client, project), transcript).text
    places = [page.index(told) for told in ("I want to fly", "Error: no seats", "Reflection 1", "Ask for the date.")]
    assert places == sorted(places)
    assert (
        f'href="/p/told-in-order/transcripts/{transcript.pk}/"'
        in client.get(f"/p/told-in-order/runs/{transcript.run_id}/").text
    )


def test_what_came_since_is_added_below_and_nothing_where_nothing_came(client: Client) -> None:
    project = watched_project(slug="grows")
    transcript = opened(project, turns("a", "b"))
    given.logged_in(client, project)
    assert page_of(client, transcript, "?after=2&reflected=0", hx="1").status_code == 204
    add_turns(transcript, TurnsInput.model_validate({"messages": turns("third", "d", "e", "f")}), actor=Actor())
    news = page_of(client, transcript, "?after=2&reflected=0", hx="1").text
    assert "third" in news
    assert 'id="turn-2"' not in news
    assert 'id="session-head" hx-swap-oob="true"' in news
    assert transcript.run_id
    advance(transcript.run_id)
    news = page_of(client, transcript, "?after=6&reflected=0&pending=1", hx="1").text
    assert "Reflection 1" in news
    end_transcript(transcript, actor=Actor())
    advance(transcript.run_id)
    ended = page_of(client, transcript, "?after=6&reflected=1", hx="1").text
    assert "every 3s" not in ended


def test_a_long_session_shows_its_newest_turns_and_leads_to_the_earlier_ones(
    client: Client, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("reflection_app.sessions.views.SHOWN", 3)
    project = given.project("long-session")
    transcript = opened(project, turns(*(f"said {number}" for number in range(1, 8))), reflection={"mode": "off"})
    page = page_of(given.logged_in(client, project), transcript).text
    assert "said 7" in page
    assert "said 4" not in page
    assert "?before=5" in page
    earlier = page_of(client, transcript, "?before=5").text
    assert "said 4" in earlier
    assert "every 3s" not in earlier


def test_hostile_text_of_a_session_is_inert(client: Client) -> None:
    said = reflection(
        given.HOSTILE,
        observations=[given.HOSTILE],
        issues=[{"description": given.HOSTILE, "suggestion": given.HOSTILE}],
    )
    project = watched_project({"reflection-1/answer": said}, slug="hostile-session")
    calls = [
        {
            "id": given.HOSTILE,
            "function": {"name": given.HOSTILE, "arguments": json.dumps({given.HOSTILE: given.HOSTILE})},
        }
    ]
    messages: list[dict[str, Any]] = [
        {"role": "user", "content": [{"type": given.HOSTILE}, {"type": "text", "text": given.HOSTILE}]},
        {"role": "assistant", "content": given.HOSTILE, "tool_calls": calls},
        {"role": "tool", "name": given.HOSTILE, "content": f"Error: {given.HOSTILE}\n{given.HOSTILE}"},
    ]
    transcript = opened(project, messages, objective=given.HOSTILE, agent=given.HOSTILE, external_id=given.HOSTILE)
    given.logged_in(client, project)
    for path in ("transcripts/", f"transcripts/{transcript.pk}/", f"runs/{transcript.run_id}/"):
        page = client.get(f"/p/hostile-session/{path}").text
        assert "alert(1)" in page
        assert not ACTIVE.search(page), (path, ACTIVE.search(page))


def asked(project: Project) -> Run:
    run = given.submitted_run(project, execution="external", tests=given.TESTS, objective="Write f.")
    advance(run.pk)
    return run


def test_what_an_agent_handed_in_is_shown_and_acts_on_nothing(client: Client) -> None:
    project = given.project("handed-in")
    run = asked(project)
    artifacts = [
        {"name": "good", "uri": "https://example.org/report.pdf"},
        {"name": given.HOSTILE, "uri": "javascript:alert(5)", "media_type": "text/html", "content": given.HOSTILE},
        {"name": "plain", "uri": "http://example.org/"},
        {"name": "odd", "uri": "https://[bad"},
    ]
    sent = {
        "content": "def f(x): return 0",
        "artifacts": artifacts,
        "self_check": {"is_satisfactory": False, given.HOSTILE: given.HOSTILE, "confidence": 0.2},
    }
    hand_in_attempt(run, AttemptInput.model_validate(sent), actor=Actor())
    page = given.logged_in(client, project).get(f"/p/handed-in/runs/{run.pk}/").text
    assert '<a href="https://example.org/report.pdf" rel="noopener noreferrer nofollow ugc">good</a>' in page
    assert page.count('rel="noopener noreferrer nofollow ugc"') == 1
    assert 'href="http://example.org/"' not in page
    assert "alert(1)" in page
    assert not ACTIVE.search(page), ACTIVE.search(page)


def test_a_session_of_costly_turns_has_a_page_that_formats_as_much_as_its_budget() -> None:
    """All turns are there; tables of thousands of cells are laid out until the page's budget is spent."""
    project = watched_project(slug="costly")
    table = f"|{'a|' * 32}\n|{'-|' * 32}\n" + "|\n" * 63 + "\n"
    told = [{"role": "user", "content": f"turn {number}\n\n{table * 70}"} for number in range(30)]
    transcript = opened(project, told, reflection={"mode": "off"})
    page = page_of(given.logged_in(Client(), project), transcript).text
    assert all(f"turn {number}" in page for number in range(30))
    assert "<table" in page
    assert page.count("Not formatted") >= 30 - MOST_CHARACTERS // len(table * 70)


def test_the_runs_page_tells_both_while_they_read_and_after(client: Client) -> None:
    run = ended_run()
    given.logged_in(client, run.project, role=Role.VIEWER)
    address = f"/p/{run.project.slug}/runs/{run.pk}/"
    page = client.get(address).text
    assert f'hx-get="{address}reflectors/" hx-trigger="every 3s"' in page
    looked_back(run)
    section = client.get(f"{address}reflectors/", headers={"HX-Request": "true"}).text
    assert "hx-trigger" not in section
    for entry in Entry.objects.all():
        assert f'href="/p/{run.project.slug}/notebook/entries/{entry.pk}/"' in section


def test_hostile_findings_stay_text(client: Client) -> None:
    evil = "<img src=x onerror=alert(1)>"
    run = ended_run({"errors-1": errors_said(finding(description=evil)), "memories-1": BOTH["memories-1"]})
    looked_back(run)
    given.logged_in(client, run.project)
    section = client.get(f"/p/{run.project.slug}/runs/{run.pk}/reflectors/", headers={"HX-Request": "true"}).text
    assert evil not in section
    assert "&lt;img src=x" in section


def test_rest_tells_what_became_of_each_finding() -> None:
    run = ended_run()
    looked_back(run)
    errors, _memory = given.caller(run.project).get(f"runs/{run.pk}/reflectors").body["results"]
    [found] = errors["findings"]
    assert (errors["score"], found["category"], found["became"]) == (61, "tool_misuse", "added")
