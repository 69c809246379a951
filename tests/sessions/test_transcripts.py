"""An agent posts its session as it happens and is told what was reflected on it."""

import json
from typing import Any
from uuid import UUID

import pytest
from django.db import connection
from pydantic import ValidationError

from reflection_app.api import waiting
from reflection_app.core.audit import AuditEntry
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from reflection_app.sessions.models import Transcript, TranscriptTurn
from reflection_app.sessions.recording import TranscriptSubmission
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.sessions.recorded import INLINE, turns, watched_project

pytestmark = pytest.mark.django_db


@pytest.fixture
def agent() -> Caller:
    return given.caller(watched_project())


@pytest.fixture
def at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Waiting moves the runs on itself, since no worker runs beside these tests."""
    monkeypatch.setattr(waiting, "sleep", lambda _seconds: advance_all())


def advance_all() -> None:
    for run_id in Run.objects.filter(state=RunState.QUEUED).values_list("pk", flat=True):
        advance(run_id)


def opened(agent: Caller, **submission: Any) -> str:
    """The id of a session that is reflected on, whose run waits for turns."""
    submission.setdefault("reflection", INLINE)
    answer = agent.post("transcripts", submission)
    assert answer.status == 201, answer.body
    advance_all()
    return str(answer.body["id"])


def post(agent: Caller, session: str, *said: str, wait: float = 0, **more: Any) -> Answer:
    body = {"messages": turns(*said), **more}
    query = {"wait": wait} if wait else None
    return agent.call("POST", f"transcripts/{session}/turns", data=json.dumps(body), query=query)


def test_a_whole_session_is_kept_as_it_came(agent: Caller) -> None:
    calls = [{"id": "c1", "type": "function", "function": {"name": "find", "arguments": '{"q": "x"}'}}]
    messages = [
        {"role": "system", "content": "Be kind."},
        {"role": "user", "content": [{"type": "text", "text": "Hello"}, {"type": "image_url", "image_url": {}}]},
        {"role": "assistant", "content": None, "tool_calls": calls},
        {"role": "tool", "tool_call_id": "c1", "content": "Error: nothing found", "extra": {"kept": True}},
    ]
    answer = agent.post("transcripts", {"messages": messages, "ended": True, "external_id": "s-1", "agent": "finder"})
    assert (answer.status, answer.body["turns"], answer.body["ended"]) == (201, 4, True)
    rows = agent.get(f"transcripts/{answer.body['id']}/turns").body["results"]
    assert [row["message"] for row in rows] == messages
    assert [(row["seq"], row["tool_name"]) for row in rows] == [(1, ""), (2, ""), (3, "find"), (4, "find")]
    assert [row["is_tool_failure"] for row in rows] == [False, False, False, True]
    kept = list(TranscriptTurn.objects.order_by("seq").values_list("content", flat=True))
    assert kept[1:3] == ["Hello\n[image]", '→ find({"q": "x"})']
    [line] = agent.get("transcripts", external_id="s-1").body["results"]
    assert (line["agent"], line["turns"]) == ("finder", 4)
    assert agent.get("transcripts", agent="nobody").body["results"] == []


@pytest.mark.usefixtures("at_once")
def test_a_posted_turn_brings_the_reflection_that_it_made_due(agent: Caller) -> None:
    session = opened(agent, objective="Book a flight")
    for number in range(1, 5):
        answer = post(agent, session, f"turn {number}", wait=10, after=number - 1)
        assert answer.body == {"turns": number, "reflection": None, "pending": False, "ended": False, "note": None}
    told = post(agent, session, "turn 5", wait=10).body["reflection"]
    assert (told["number"], told["turn"], told["trigger"], told["on_track"]) == (1, 5, "every_turns", True)
    assert told["suggestions"] == ["Advice 1"]
    assert post(agent, session, "turn 6", wait=10).body["reflection"] is None


def test_an_agent_that_does_not_wait_is_told_with_its_next_turn_and_once(agent: Caller) -> None:
    session = opened(agent)
    assert post(agent, session, *"abcde").body["pending"] is True
    assert post(agent, session, "f").body["reflection"] is None
    advance_all()
    assert post(agent, session, "g").body["reflection"]["number"] == 1
    assert post(agent, session, "h").body["reflection"] is None
    assert [one["number"] for one in agent.get(f"transcripts/{session}").body["reflections"]] == [1]


@pytest.mark.usefixtures("at_once")
def test_the_end_brings_a_last_reflection_and_ends_the_run_unverified(agent: Caller) -> None:
    session = opened(agent)
    post(agent, session, "a", "b")
    answer = agent.call("POST", f"transcripts/{session}/end", query={"wait": 10})
    assert [one["trigger"] for one in answer.body["reflections"]] == ["end"]
    assert (answer.body["ended"], answer.body["note"], answer.body["reflection_pending"]) == (True, None, False)
    assert agent.post(f"transcripts/{session}/end").body["ended_at"] == answer.body["ended_at"]
    run = Run.objects.get()
    assert (run.state, run.outcome) == ("finished", "unverified")


@pytest.mark.usefixtures("at_once")
def test_turns_sent_again_are_taken_once_and_told_the_same(agent: Caller) -> None:
    session = opened(agent)
    first = post(agent, session, *"abcde", wait=10, after=0)
    again = post(agent, session, *"abcde", wait=10, after=0)
    assert (again.status, again.body) == (200, first.body)
    assert again.body["reflection"]["number"] == 1
    assert TranscriptTurn.objects.count() == 5


def test_a_gap_other_turns_and_turns_after_the_end_are_refused(agent: Caller) -> None:
    session = opened(agent, messages=turns("a", "b"))
    gap = post(agent, session, "c", after=3)
    then.refused(gap, 409)
    assert "has 2 turns, not 3" in gap.body["detail"]
    then.refused(post(agent, session, "other", after=1), 409)
    then.refused(post(agent, session, "a", "b", "c", after=0), 409)
    agent.post(f"transcripts/{session}/end")
    late = post(agent, session, "c")
    then.refused(late, 409)
    assert "session ended" in late.body["detail"]
    assert TranscriptTurn.objects.count() == 2


@pytest.mark.usefixtures("at_once")
def test_at_a_limit_the_session_goes_on_without_reflections_and_says_so() -> None:
    agent = given.caller(watched_project())
    session = opened(agent, limits={"max_iterations": 1})
    assert post(agent, session, *"abcde", wait=10).body["note"] is None
    answer = post(agent, session, *"fghij", wait=10).body
    assert (answer["turns"], answer["reflection"], answer["pending"]) == (10, None, False)
    assert "has ended as exhausted. The session goes on being recorded." in answer["note"]
    assert post(agent, session, "k").body["turns"] == 11


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({"messages": [{"role": "robot", "content": "x"}]}, "messages.0"),
        ({"messages": [{"content": "x"}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": 7}]}, "messages.0"),
        ({"messages": [{"role": "tool", "content": "x", "is_error": "yes"}]}, "messages.0"),
        ({"messages": [{"role": "user", "content": "x" * 200_000}]}, "messages.0"),
        ({"messages": turns(*["x"] * 501)}, "messages"),
        ({"metadata": {"x": "y" * 17_000}}, "metadata"),
    ],
)
def test_what_cannot_be_used_is_named(body: dict[str, Any], field: str) -> None:
    with pytest.raises(ValidationError) as refused:
        TranscriptSubmission.model_validate(body)
    # A union names the kinds of what it takes as well.
    names = [part for part in refused.value.errors()[0]["loc"] if part != "ReflectionInput"]
    assert ".".join(map(str, names)) == field


def test_what_cannot_be_stored_is_refused_and_nothing_is_kept(agent: Caller) -> None:
    refused = agent.post("transcripts", {"messages": [{"role": "user", "content": "a\x00b"}]})
    then.refused(refused, 400)
    assert then.named_fields(refused) == ["messages.0.content"]
    assert not Transcript.objects.exists()


def test_a_session_has_an_end(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    session = opened(agent, messages=turns("a"))
    monkeypatch.setattr("reflection_app.sessions.recording.MOST_TURNS", 2)
    then.refused(post(agent, session, "b", "c"), 400, "messages")


@pytest.mark.django_db(transaction=True)
def test_no_connection_is_held_while_a_reflection_is_waited_for(agent: Caller, monkeypatch: pytest.MonkeyPatch) -> None:
    session, held = opened(agent), list[bool]()
    monkeypatch.setattr(waiting, "sleep", lambda _seconds: held.append(connection.connection is not None))
    post(agent, session, *"abcde", wait=0.3)
    assert held
    assert not any(held)


def test_what_a_session_is_about_is_told_from_its_first_words_where_it_is_not_said(agent: Caller) -> None:
    stated, guessed, unknown = (
        Transcript.objects.get(pk=UUID(opened(agent, **submission)))
        for submission in ({"objective": "Fly"}, {"messages": turns("I want to fly")}, {})
    )
    assert [one.run.task.objective for one in (stated, guessed) if one.run] == ["Fly", "I want to fly"]
    assert unknown.run is not None
    assert "was not stated" in unknown.run.task.objective


def test_who_added_turns_is_in_the_trail_once(agent: Caller) -> None:
    session = opened(agent)
    for _ in range(2):
        assert post(agent, session, "a", "b", after=0).status == 200
    entry = AuditEntry.objects.get(action="transcript.turns_added")
    assert (str(entry.target_id), entry.after, entry.api_key_id) == (session, {"turns": 2}, agent.key.pk)
