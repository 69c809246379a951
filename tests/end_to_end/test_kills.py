"""kill -9 in the middle of a run of ten model calls: it ends right, and no answered call is made again."""

from collections import Counter
from collections.abc import Callable
from typing import Any

import pytest

from tests.end_to_end.desk import Desk, web_answers
from tests.end_to_end.playback import Playback, attempt_of, python, requests_for
from tests.openai_server import OpenAIServer, Reply

CALLS = 10
LIMITS = {"max_iterations": CALLS, "token_budget": 1_000_000, "time_budget_s": 600}
TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}


def right_at_last(body: dict[str, Any]) -> Reply:
    """Wrong nine times, each time in another way, then right."""
    attempt = attempt_of(body)
    value = "x + 1" if attempt == CALLS else f"x - {attempt}"
    return Reply(python(f"def f(x):\n    return {value}"), delay_s=0.2)


@pytest.fixture
def long_run(
    desk: Desk, models: OpenAIServer, playback: Playback, request: pytest.FixtureRequest
) -> tuple[str, Callable[[int], None]]:
    """The id of a run of ten model calls, and what returns when it has come to its n-th call."""
    case = request.node.name
    run_id = desk.hand_in(objective=f"{playback.add(case, right_at_last)}Add one.", tests=TESTS, limits=LIMITS)

    def wait_for_call(number: int) -> None:
        desk.wait_until(lambda: len(requests_for(models, case)) >= number)

    return run_id, wait_for_call


def check_it_ended_right(desk: Desk, models: OpenAIServer, *, run_id: str, case: str, repeated: int) -> None:
    """Succeeded at the tenth attempt; at most `repeated` calls, which were in flight at a kill, were made twice."""
    run = desk.settled(run_id)
    asked = Counter(attempt_of(request.body) for request in requests_for(models, case))
    steps = desk.all_of(f"runs/{run_id}/steps")
    events = desk.all_of(f"runs/{run_id}/events")
    attempts = desk.all_of(f"runs/{run_id}/attempts")

    assert (run["state"], run["outcome"], run["error"]) == ("finished", "succeeded", None)
    assert (run["attempts"], run["usage"]["llm_calls"], run["best_attempt"]["number"]) == (CALLS, CALLS, CALLS)
    assert set(asked) == set(range(1, CALLS + 1))
    assert asked.total() <= CALLS + repeated
    assert max(asked.values()) <= 2
    assert [step["seq"] for step in steps] == list(range(1, len(steps) + 1))
    # Besides three steps an attempt, the project's notebook was asked once.
    assert len({step["key"] for step in steps}) == len(steps) == 1 + 3 * CALLS
    assert {step["state"] for step in steps} == {"done"}
    assert sum(step["tries"] - 1 for step in steps) <= repeated
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert [attempt["number"] for attempt in attempts] == list(range(1, CALLS + 1))
    assert [len(attempt["verdicts"]) for attempt in attempts] == [1] * CALLS


def test_killed_worker(
    desk: Desk, models: OpenAIServer, long_run: tuple[str, Callable[[int], None]], request: pytest.FixtureRequest
) -> None:
    run_id, wait_for_call = long_run
    wait_for_call(4)
    killed = desk.kill("worker")

    check_it_ended_right(desk, models, run_id=run_id, case=request.node.name, repeated=1)
    assert desk.pid_of("worker") != killed
    assert "run.retried" in [event["type"] for event in desk.all_of(f"runs/{run_id}/events")]


def test_killed_web_server(
    desk: Desk, models: OpenAIServer, long_run: tuple[str, Callable[[int], None]], request: pytest.FixtureRequest
) -> None:
    run_id, wait_for_call = long_run
    wait_for_call(3)
    killed = desk.kill("web")
    desk.wait_until(lambda: desk.pid_of("web") != killed and web_answers(desk))

    check_it_ended_right(desk, models, run_id=run_id, case=request.node.name, repeated=0)


def test_killed_broker(
    desk: Desk,
    models: OpenAIServer,
    playback: Playback,
    long_run: tuple[str, Callable[[int], None]],
    request: pytest.FixtureRequest,
) -> None:
    run_id, wait_for_call = long_run
    wait_for_call(3)
    killed = desk.kill("valkey")
    first_line = playback.add("handed-in-without-a-broker", lambda _: python("def f(x): return x + 1"))
    meanwhile = desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS)

    check_it_ended_right(desk, models, run_id=run_id, case=request.node.name, repeated=0)
    assert desk.pid_of("valkey") != killed
    assert desk.settled(meanwhile)["outcome"] == "succeeded"
    assert len(requests_for(models, "handed-in-without-a-broker")) == 1
