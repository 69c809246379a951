"""A provider that refuses, breaks or talks nonsense."""

import re
from datetime import UTC, datetime, timedelta
from itertools import count
from typing import Any

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback, python, requests_for
from tests.openai_server import OpenAIServer, Reply
from tests.runs.critiques import critique

TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}
RIGHT = python("def f(x):\n    return x + 1")


def test_a_provider_that_asks_to_wait_is_waited_for(desk: Desk, models: OpenAIServer, playback: Playback) -> None:
    calls = count()

    def busy_once(_body: dict[str, Any]) -> Reply:
        if next(calls):
            return Reply(RIGHT)
        return Reply("slow down", status=429, headers={"Retry-After": "1"})

    run_id = desk.hand_in(objective=f"{playback.add('busy', busy_once)}Add one.", tests=TESTS)

    run = desk.settled(run_id)
    first, second = requests_for(models, "busy")
    assert (run["outcome"], run["attempts"], run["usage"]["llm_calls"]) == ("succeeded", 1, 1)
    assert second.at - first.at >= 1


def in_an_hour(_body: dict[str, Any]) -> Reply:
    return Reply("slow down", status=429, headers={"Retry-After": "3600"})


def test_a_run_ends_where_its_provider_asks_to_wait_for_longer_than_it_may_take(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    first_line = playback.add("busy-too-long", in_an_hour)
    run = desk.settled(desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS, limits={"time_budget_s": 25}))
    assert (run["outcome"], run["waits_until"]) == ("failed", None)
    assert re.match(
        r"the model's provider asked to wait 3600 s, and the run has 2[45] s left: .*slow down", run["error"]
    )
    assert len(requests_for(models, "busy-too-long")) == 1


def test_a_run_that_may_take_longer_waits_and_tells_until_when(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    first_line = playback.add("busy-for-an-hour", in_an_hour)
    run_id = desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS, limits={"time_budget_s": 7200})
    desk.wait_until(lambda: bool(desk.get(f"runs/{run_id}")["waits_until"]))
    run = desk.get(f"runs/{run_id}")
    until = datetime.fromisoformat(run["waits_until"])
    assert timedelta(minutes=55) < until - datetime.now(UTC) <= timedelta(hours=1)
    assert (run["state"], run["waiting_for"]) == ("queued", "as the model's provider asked")
    page = desk.browser.get(f"p/demo/runs/{run_id}/").text
    assert f"It waits until {until:%H:%M:%S} UTC: the model's provider asked for it." in page
    assert desk.post(f"runs/{run_id}/cancel", {})["waits_until"] is None
    assert len(requests_for(models, "busy-for-an-hour")) == 1


def test_a_provider_that_stays_broken_fails_the_run_after_three_tries_and_is_named(
    desk: Desk, playback: Playback
) -> None:
    first_line = playback.add("broken", lambda _: Reply("the machine room is on fire", status=500))
    run_id = desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS, limits={"time_budget_s": 60})

    run = desk.settled(run_id)
    retried = [event for event in desk.all_of(f"runs/{run_id}/events") if event["type"] == "run.retried"]
    assert (run["state"], run["outcome"], run["attempts"]) == ("finished", "failed", 0)
    assert "the machine room is on fire" in run["error"]
    assert len(retried) == 2


def test_a_critic_that_talks_nonsense_is_asked_again_and_then_quoted(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    def mumble(body: dict[str, Any]) -> str:
        return "Lovely, well done!" if "<work-" in str(body["messages"]) else "A haiku."

    run_id = desk.hand_in(objective=f"{playback.add('mumbling', mumble)}Write a haiku.", mode="actor_critic")

    run = desk.settled(run_id)
    assert (run["outcome"], run["attempts"], run["best_attempt"]["content"]) == ("unverified", 1, "A haiku.")
    assert "The critic gave no usable answer in 3 tries" in run["error"]
    assert "Lovely, well done!" in run["error"]
    assert len(requests_for(models, "mumbling")) == 4


def test_a_critic_that_corrects_itself_when_asked_again_is_heard(
    desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    def second_time(body: dict[str, Any]) -> str:
        if "<work-" not in str(body["messages"]):
            return "A haiku."
        asked_again = body["messages"][-2]["role"] == "assistant"
        return critique(90, approved=True) if asked_again else '{"completeness": "rather"}'

    run_id = desk.hand_in(objective=f"{playback.add('stammering', second_time)}Write a haiku.", mode="actor_critic")

    assert desk.settled(run_id)["outcome"] == "succeeded"
    assert len(requests_for(models, "stammering")) == 3
