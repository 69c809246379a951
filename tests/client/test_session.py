"""Sessions that an agent's own code records, handed in to a desk that runs."""

import asyncio
from datetime import UTC, datetime
from typing import Any

import pytest
from pydantic import BaseModel, ConfigDict
from reflection_desk import Desk, DeskUnreachable

from reflection_app.sessions.models import Transcript, TranscriptTurn
from tests.client.conftest import Served

pytestmark = pytest.mark.django_db(transaction=True)


class Strange(BaseModel):
    """As a tool may answer with: neither of what it holds has a form in JSON."""

    model_config = ConfigDict(arbitrary_types_allowed=True)
    held: object
    below: "Strange | None"


def turns() -> list[dict[str, Any]]:
    return [turn.message for turn in TranscriptTurn.objects.order_by("seq")]


def left_by_an_error(desk: Desk) -> None:
    with desk.session() as session:
        session.message("user", "Hello.")
        raise KeyError("flight")


def test_a_session_is_handed_in_when_it_ends(served: Served) -> None:
    from openai.types.chat import ChatCompletionMessage

    with served.client() as desk:
        with desk.session(agent="airline", objective="Cancel a trip.", metadata={"tier": 2}) as session:
            session.message("user", "Cancel my second trip.")
            call = session.tool_call("cancel", {"trip": "X1"})
            session.tool_error("cancel", TimeoutError("no answer in 5 s"), params={"trip": "X1"}, call_id=call)
            session.message(ChatCompletionMessage(role="assistant", content="It did not work."))
            assert Transcript.objects.count() == 0
        kept = session.transcript
    assert kept is not None
    assert (kept.agent, kept.turns, kept.ended) == ("airline", 4, True)
    row = Transcript.objects.get()
    assert (row.objective, row.metadata) == ("Cancel a trip.", {"tier": 2})
    assert [error["tool"] for error in row.tool_errors] == ["cancel"]
    told = turns()
    assert [one["role"] for one in told] == ["user", "assistant", "tool", "assistant"]
    assert told[2]["tool_call_id"] == told[1]["tool_calls"][0]["id"] == call
    assert (told[2]["content"], told[2]["is_error"]) == ("no answer in 5 s", True)


def test_the_asynchronous_desk_records_in_the_same_way(served: Served) -> None:
    async def worked() -> None:
        async with served.async_client() as desk:
            async with desk.session(agent="airline") as session:
                session.message("user", "Hello.")
            async with desk.session() as session:
                session.message("user", "Stop.")
                raise asyncio.CancelledError

    with pytest.raises(asyncio.CancelledError):
        asyncio.run(worked())
    assert [one["content"] for one in turns()].count("Hello.") == 1
    assert any("CancelledError" in one["content"] for one in turns())


def test_an_error_is_not_hidden_by_a_desk_that_is_away() -> None:
    with Desk("http://127.0.0.1:1", "rd_x", tries=1) as desk:
        with pytest.raises(KeyError) as raised:
            left_by_an_error(desk)
        assert "could not be submitted" in raised.value.__notes__[0]
        with pytest.raises(DeskUnreachable), desk.session() as session:
            session.message("user", "Hello.")
        # What was recorded is still at hand.
        assert session.messages == [{"role": "user", "content": "Hello."}]
        with desk.session() as session:
            pass
        assert session.transcript is None


def test_a_long_session_goes_in_as_many_requests_as_it_needs(served: Served) -> None:
    with served.client() as desk, desk.session() as session:
        for number in range(600):
            session.message("user", f"message {number}")
    assert session.transcript is not None
    assert (session.transcript.turns, session.transcript.ended) == (600, True)
    assert [one["content"] for one in turns()] == [f"message {number}" for number in range(600)]


def test_whatever_is_recorded_can_be_handed_in(served: Served) -> None:
    with served.client() as desk, desk.session() as session:
        session.message("user", "NUL \0 and half a pair \ud83d")
        session.message("tool", "長" * 300_000, tool_call_id="a")
        session.message(
            "user", [{"type": "image_url", "image_url": {"url": "data:" + "A" * 2_000}} for _ in range(400)]
        )
        session.tool_call("look", {"at": datetime(2026, 1, 31, tzinfo=UTC), "far": float("inf"), "set": {1}})
        for _ in range(300):
            session.tool_error("look", "x" * 50_000)
    told = turns()
    assert told[0]["content"] == "NUL � and half a pair �"
    assert "characters omitted" in told[1]["content"]
    assert len(told[2]["content"]) == 400
    assert told[3]["tool_calls"][0]["function"]["arguments"] == (
        '{"at": "2026-01-31 00:00:00+00:00", "far": "inf", "set": [1]}'
    )
    row = Transcript.objects.get()
    assert len(row.tool_errors) + row.metadata["tool_errors_left_out"] == 300
    with pytest.raises(TypeError, match="a message needs"):
        session.message({"content": "nobody"})


def test_what_goes_in_circles_or_too_deep_is_recorded_in_words(served: Served) -> None:
    circle: dict[str, Any] = {"trip": "X1"}
    circle["self"] = circle
    strange = Strange(held=object(), below=None)
    strange.below = strange
    deep: list[Any] = []
    for _ in range(3_000):
        deep = [deep]
    call = {"id": "call_1", "type": "function", "function": {"name": "pay", "arguments": "[" * 200_000}}
    with served.client() as desk, desk.session(metadata={"circle": circle, "deep": deep}) as session:
        session.tool_call("cancel", circle)
        session.tool_error("cancel", "no such trip", params={"strange": strange, "deep": deep})
        session.message("assistant", tool_calls=[call])
        session.message("user", strange)
    row = Transcript.objects.get()
    assert row.metadata["circle"]["trip"] == "X1"
    assert turns()[0]["tool_calls"][0]["function"]["arguments"].startswith('{"trip": "X1"')
    assert "Strange" in turns()[-1]["content"]
