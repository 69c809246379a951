"""Recorded sessions of a real agent, posted turn by turn to a running desk that reflects on them meanwhile."""

import json
from concurrent.futures import ThreadPoolExecutor
from typing import Any

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback, requests_for
from tests.openai_server import OpenAIServer
from tests.sessions.recorded import INLINE, recorded_sessions, turns_reflected_on

SESSIONS = 20
AT_ONCE = 8


def reflector(body: dict[str, Any]) -> str:
    """Says how long the question was, so that no two reflections are alike."""
    asked = body["messages"][-1]["content"]
    return json.dumps({"on_track": True, "observations": [f"{len(asked)} characters"], "confidence": 0.5})


def posted_turn_by_turn(desk: Desk, session: dict[str, Any], *, objective: str) -> tuple[str, list[dict[str, Any]]]:
    """The id of the session, and the reflections that the answers told of."""
    opened = desk.post("transcripts", {"objective": objective, "reflection": INLINE, "agent": "airline"}, status=201)
    told = []
    for number, message in enumerate(session["messages"]):
        body = {"messages": [message], "after": number}
        answer = desk.post(f"transcripts/{opened['id']}/turns?wait=30", body)
        assert (answer["turns"], answer["pending"], answer["note"]) == (number + 1, False, None)
        told += [answer["reflection"]] if answer["reflection"] else []
    desk.post(f"transcripts/{opened['id']}/end?wait=30", {})
    return opened["id"], told


def test_twenty_recorded_sessions_are_reflected_on_as_they_happen(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    sessions = recorded_sessions(SESSIONS)
    objectives = [
        f"{playback.add(f'session-{number}', reflector)}Help the customer." for number in range(len(sessions))
    ]
    with ThreadPoolExecutor(AT_ONCE) as posters:
        posted = list(
            posters.map(
                lambda one: posted_turn_by_turn(desk, one[0], objective=one[1]), zip(sessions, objectives, strict=True)
            )
        )
    for number, (session, (transcript_id, told)) in enumerate(zip(sessions, posted, strict=True)):
        check(desk, session, transcript_id=transcript_id, told=told)
        assert len(requests_for(models, f"session-{number}")) == len(due_in(session))


def due_in(session: dict[str, Any]) -> list[int]:
    """After which turns the session is reflected on, its end included."""
    due = turns_reflected_on(session["messages"], every=5)
    last = len(session["messages"])
    return due if due[-1:] == [last] else [*due, last]


def check(desk: Desk, session: dict[str, Any], *, transcript_id: str, told: list[dict[str, Any]]) -> None:
    """Every turn is there once; reflected on every five turns, at the first failure and at the end, told once each."""
    turns = desk.all_of(f"transcripts/{transcript_id}/turns")
    kept = desk.get(f"transcripts/{transcript_id}")
    run = desk.get(f"runs/{kept['run_id']}")
    steps = desk.all_of(f"runs/{kept['run_id']}/steps")

    assert [turn["message"] for turn in turns] == session["messages"]
    assert [turn["seq"] for turn in turns] == list(range(1, len(session["messages"]) + 1))
    assert sum(turn["is_tool_failure"] for turn in turns) == session["tool_errors"]
    assert [one["turn"] for one in kept["reflections"]] == due_in(session)
    assert [one["turn"] for one in told] == turns_reflected_on(session["messages"], every=5)
    assert (run["state"], run["outcome"], run["usage"]["llm_calls"]) == ("finished", "unverified", len(due_in(session)))
    assert {step["state"] for step in steps} == {"done"}
    assert all(step["tries"] == 1 for step in steps)
