"""Workers that die, and workers and brokers that only stop: who notices when, and what is asked for twice."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psycopg
import pytest

from reflection_app.config.services import socket_dir
from tests.end_to_end.desk import Desk, running_desk
from tests.end_to_end.playback import Playback, attempt_of, python, requests_for
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S

# Twice as long as usual, of which a third passes until a killed worker is noticed: on a machine that runs other tests
# it has to be told from the whole.
LONG_LEASE_S = 30.0
NOTICED_WITHIN_S = 25.0
CALLS = 6
RUNS = 8
TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}
LIMITS = {"max_iterations": CALLS, "token_budget": 1_000_000, "time_budget_s": 600}
LEASE_S = 3.0


def patient(models: OpenAIServer, **others: str) -> dict[str, str]:
    return {
        "LLM_MODEL": "openai/playback",
        "OPENAI_API_BASE": models.url,
        "OPENAI_API_KEY": "none",
        "API_REQUESTS_PER_MINUTE": "0",
        "REFLECTION_MODE": "off",
        **others,
    }


@pytest.fixture(scope="module")
def full_desk(models: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with long leases, two workers for fresh runs and one behind them."""
    data: Path = tmp_path_factory.mktemp("full")
    data.chmod(0o755)
    with running_desk(data, patient(models, WORKER_PROCESSES="3", RUN_LEASE_S=str(LONG_LEASE_S))) as desk:
        # Runs that come while only one worker is up would all be its own.
        desk.wait_until(lambda: workers_that_answer(desk) == 3)
        yield desk


@pytest.fixture(scope="module")
def lone_desk(models: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with one worker and short leases."""
    data: Path = tmp_path_factory.mktemp("lone")
    data.chmod(0o755)
    with running_desk(data, patient(models, RUN_LEASE_S=str(LEASE_S), SWEEP_INTERVAL_S="0.5")) as desk:
        yield desk


def workers_that_answer(desk: Desk) -> int:
    asked = (sys.executable, "-m", "celery", "-A", "reflection_app.config.celery", "inspect", "ping")
    env = dict(desk.environment) | {"DJANGO_SETTINGS_MODULE": "reflection_app.config.settings"}
    return subprocess.run(asked, env=env, capture_output=True, text=True, check=False).stdout.count("pong")


@contextmanager
def stopped(pid: int) -> Iterator[None]:
    """The process gets no processor inside the block; its connections stand."""
    os.kill(pid, signal.SIGSTOP)
    try:
        yield
    finally:
        os.kill(pid, signal.SIGCONT)


def of_both_workers(desk: Desk, playback: Playback, name: str, answer: Callable[[Any], Reply]) -> dict[str, str]:
    """Runs by case, of which both workers for fresh ones have some: one that is quicker may take all of the first."""
    run_ids: dict[str, str] = {}
    deadline = time.monotonic() + PATIENCE_S
    asked = "SELECT count(DISTINCT left(lease_token::text, 18)) FROM reflection_app_run WHERE state = 'running'"
    with psycopg.connect(host=str(socket_dir(desk.data)), user="postgres", dbname="desk", autocommit=True) as database:
        while database.execute(asked).fetchone() != (2,):
            assert time.monotonic() < deadline
            for _ in range(RUNS):
                case = f"{name}-{len(run_ids)}"
                first_line = playback.add(case, answer)
                run_ids[case] = desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS, limits=LIMITS)
            time.sleep(1)
    return run_ids


def seconds_since(began: float) -> float:
    return time.monotonic() - began


def types_of(desk: Desk, run_id: str) -> list[str]:
    return [event["type"] for event in desk.all_of(f"runs/{run_id}/events")]


def right_after_half_a_minute(_body: dict[str, Any]) -> Reply:
    return Reply(python("def f(x):\n    return x + 1"), delay_s=30)


def right_at_last(body: dict[str, Any]) -> Reply:
    """Wrong five times, each time in another way, then right."""
    attempt = attempt_of(body)
    value = "x + 1" if attempt == CALLS else f"x - {attempt}"
    return Reply(python(f"def f(x):\n    return {value}"), delay_s=1.0)


def test_a_killed_worker_is_noticed_long_before_its_lease_ends_and_another_takes_its_runs(
    full_desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    run_ids = of_both_workers(full_desk, playback, "killed", right_after_half_a_minute)
    full_desk.wait_until(lambda: all(requests_for(models, case) for case in run_ids))

    def is_shown_on_a_page() -> bool:
        pages = (full_desk.browser.get(f"p/demo/runs/{run_id}/").text for run_id in run_ids.values())
        return any("The worker is not responding" in page for page in pages)

    def is_taken_back() -> bool:
        return any("run.retried" in types_of(full_desk, one) for one in run_ids.values())

    # Nobody sweeps until all pages were looked at, which takes a busy machine its time: beat is in that worker.
    with stopped(full_desk.pid_of("behind")):
        full_desk.kill("worker")
        killed_at = time.monotonic()
        full_desk.wait_until(is_shown_on_a_page)
        assert seconds_since(killed_at) < NOTICED_WITHIN_S
    full_desk.wait_until(is_taken_back)
    print(f"the killed worker was noticed after {seconds_since(killed_at):.1f} s")
    assert seconds_since(killed_at) < NOTICED_WITHIN_S
    full_desk.wait_until(lambda: any(len(requests_for(models, case)) == 2 for case in run_ids))
    # Those on the worker that lives are left alone, and asked for once.
    retried = {case: types_of(full_desk, run_id).count("run.retried") for case, run_id in run_ids.items()}
    assert 0 < sum(retried.values()) < len(run_ids)
    assert all(len(requests_for(models, case)) <= 1 + retried[case] for case in run_ids)
    for run_id in run_ids.values():
        full_desk.post(f"runs/{run_id}/cancel", {})


def test_a_worker_that_was_stopped_for_longer_than_its_lease_goes_on_and_asks_nothing_again(
    lone_desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    first_line = playback.add("stopped-alone", right_at_last)
    run_id = lone_desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS, limits=LIMITS)
    lone_desk.wait_until(lambda: len(requests_for(models, "stopped-alone")) == 3)
    with stopped(lone_desk.pid_of("worker")):
        time.sleep(3 * LEASE_S)
        page = lone_desk.browser.get(f"p/demo/runs/{run_id}/").text
        assert "The worker is not responding" in page
    run = lone_desk.settled(run_id)
    assert (run["outcome"], run["attempts"]) == ("succeeded", CALLS)
    assert len(requests_for(models, "stopped-alone")) == CALLS
    assert "run.retried" not in types_of(lone_desk, run_id)


def test_a_stopped_worker_whose_runs_another_took_brings_no_answer_twice(
    full_desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    run_ids = of_both_workers(full_desk, playback, "stopped", right_at_last)
    full_desk.wait_until(lambda: all(len(requests_for(models, case)) >= 3 for case in run_ids))
    with stopped(full_desk.pid_of("worker")):
        answered = {case: attempts_made(full_desk, run_id) for case, run_id in run_ids.items()}
        full_desk.wait_until(lambda: all(is_finished(full_desk, run_id) for run_id in run_ids.values()))
    taken_over = 0
    for case, run_id in run_ids.items():
        run = full_desk.settled(run_id)
        assert (run["outcome"], run["attempts"]) == ("succeeded", CALLS)
        asked = [attempt_of(request.body) for request in requests_for(models, case)]
        taken_over += types_of(full_desk, run_id).count("run.retried")
        # Only a call that was under way is made again.
        assert all(asked.count(number) == 1 for number in range(1, answered[case] + 1))
        assert len(asked) <= CALLS + 1
    assert taken_over


def attempts_made(desk: Desk, run_id: str) -> int:
    return int(desk.get(f"runs/{run_id}")["attempts"])


def is_finished(desk: Desk, run_id: str) -> bool:
    return bool(desk.get(f"runs/{run_id}")["state"] == "finished")


def test_a_broker_that_hangs_holds_up_no_request_and_runs_start_soon_after_it(
    full_desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    first_line = playback.add("broker-hangs", lambda _: Reply(python("def f(x):\n    return x + 1")))
    full_desk.get("runs")
    with stopped(full_desk.pid_of("valkey")):
        took_s, run_ids = [], []
        for _ in range(3):
            began = time.monotonic()
            run_ids.append(full_desk.hand_in(objective=f"{first_line}Add one.", tests=TESTS))
            took_s.append(seconds_since(began))
        time.sleep(8)
    back_at = time.monotonic()
    started: dict[str, float] = {}
    while len(started) < len(run_ids):
        for run_id in set(run_ids) - started.keys():
            if full_desk.get(f"runs/{run_id}")["started_at"]:
                started[run_id] = seconds_since(back_at)
        time.sleep(0.05)
    print("requests took", took_s, "s; runs began", sorted(started.values()), "s after the broker was back")
    # On a machine with nothing else to do it is 1 and 5; where each question waits for its own time-out, 8 and 30.
    assert max(took_s) < 4
    assert max(started.values()) < 15
    for run_id in run_ids:
        assert full_desk.settled(run_id)["outcome"] == "succeeded"
    assert len(requests_for(models, "broker-hangs")) == 3
