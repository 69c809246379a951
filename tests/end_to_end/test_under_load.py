"""Many runs at once, on workers and web servers of the usual number: nothing lapses, nothing is asked for twice."""

import re
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from reflection_app.loops.prompts import prompt
from tests.end_to_end.desk import Desk, running_desk
from tests.load.model_server import answer
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S

SESSIONS = 500
WORDS_OF_A_SESSION = "Where are we?"
SESSION = {"agent": "navigator", "messages": [{"role": "user", "content": WORDS_OF_A_SESSION}], "ended": True}
TASK = {
    "objective": "Write about the sea.",
    "mode": "actor_critic",
    "agent": "sailor",
    "limits": {"max_iterations": 1},
}
LOOKING_BACK = ("error_reflection", "memory_reflection")


def reply(body: dict[str, Any]) -> Reply:
    """Drafts and critiques after a second; whoever looks back finds nothing, at a session only after a long while."""
    delay_s = 20.0 if WORDS_OF_A_SESSION in str(body["messages"]) else 1.0
    system = str(body["messages"][0]["content"])
    if system.startswith(prompt("after_errors_system")[:80]):
        return Reply('{"score": 80, "findings": []}', delay_s=delay_s)
    if system.startswith(prompt("after_memories_system")[:80]):
        return Reply('{"memories": []}', delay_s=delay_s)
    return Reply(answer(body), delay_s=1.0)


@pytest.fixture(scope="module")
def provider() -> Iterator[OpenAIServer]:
    with OpenAIServer(reply) as server:
        yield server


@pytest.fixture(scope="module")
def busy_desk(provider: OpenAIServer, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Desk]:
    """A desk with the usual leases and pools, two processes of each kind, and a database that no other desk sweeps."""
    environment = {
        "LLM_MODEL": "openai/test",
        "OPENAI_API_BASE": provider.url,
        "OPENAI_API_KEY": "none",
        "WORKER_PROCESSES": "2",
        "WEB_PROCESSES": "2",
        "API_REQUESTS_PER_MINUTE": "0",
        "REFLECTION_MODE": "post_hoc",
    }
    data: Path = tmp_path_factory.mktemp("busy")
    data.chmod(0o755)
    with running_desk(data, environment) as desk:
        yield desk


@contextmanager
def busy_loops(count: int) -> Iterator[None]:
    """So many processes take what they get of the processors."""
    loops = [subprocess.Popen((sys.executable, "-c", "while True: pass")) for _ in range(count)]
    try:
        yield
    finally:
        for loop in loops:
            loop.kill()
            loop.wait()


@pytest.mark.parametrize(
    ("tasks", "loops", "agent"),
    [
        pytest.param(90, 0, "sailor", id="ninety"),
        pytest.param(300, 2, "stoker", id="300-beside-two-busy-loops"),
    ],
)
def test_many_tasks_at_once_lose_no_lease_and_ask_nothing_twice(
    busy_desk: Desk, provider: OpenAIServer, tasks: int, loops: int, agent: str
) -> None:
    answered = len(provider.requests)
    with busy_loops(loops):
        batch = {"tasks": [TASK | {"agent": agent}] * tasks}
        handed_in = busy_desk.post("tasks/batch", batch, status=201)["results"]
        runs = [busy_desk.settled(task["run"]["id"]) for task in handed_in]

        def are_looked_back_at() -> bool:
            reflections = of_the_agent(busy_desk, agent, LOOKING_BACK)
            return len(reflections) == 2 * tasks and all(run["state"] == "finished" for run in reflections)

        busy_desk.wait_until(are_looked_back_at, within_s=2 * PATIENCE_S)
    assert {run["outcome"] for run in runs} == {"exhausted"}
    assert {run["usage"]["llm_calls"] for run in runs} == {2}
    all_runs = of_the_agent(busy_desk, agent, ("actor_critic", *LOOKING_BACK))
    assert len(provider.requests) - answered == sum(run["usage"]["llm_calls"] for run in all_runs)
    told = busy_desk.log.read_text()
    assert not re.search(r"\bpool", told.lower()), told
    for run in runs:
        events = Counter(event["type"] for event in busy_desk.all_of(f"runs/{run['id']}/events"))
        assert events["run.retried"] == 0
        assert {step["tries"] for step in busy_desk.all_of(f"runs/{run['id']}/steps")} == {1}


def of_the_agent(desk: Desk, agent: str, modes: Sequence[str]) -> list[Any]:
    return [run for mode in modes for run in desk.all_of("runs", limit=100, mode=mode, agent=agent)]


def test_a_fresh_task_does_not_wait_for_a_thousand_who_look_back(busy_desk: Desk) -> None:
    for number in range(SESSIONS):
        busy_desk.post("transcripts", SESSION | {"external_id": f"voyage {number}"}, status=201)
    began = time.monotonic()
    run_id = busy_desk.hand_in(**TASK | {"agent": "mate"})
    busy_desk.wait_until(lambda: bool(busy_desk.get(f"runs/{run_id}")["started_at"]))
    print(f"a fresh task behind {2 * SESSIONS} reflections began after {time.monotonic() - began:.2f} s")
    ended = [one for one in of_the_agent(busy_desk, "navigator", LOOKING_BACK) if one["state"] == "finished"]
    assert len(ended) < SESSIONS, "most had been looked back at before"
    assert busy_desk.settled(run_id)["outcome"] == "exhausted"
