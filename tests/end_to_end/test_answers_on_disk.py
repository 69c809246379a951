"""PostgreSQL stops while a model answers, and the worker is killed: the answer is used, and the call not made again."""

import os
import signal
import threading
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.config.test_up import is_alive
from tests.end_to_end.desk import Desk, running_desk
from tests.end_to_end.playback import Playback, python, requests_for
from tests.openai_server import OpenAIServer, Reply
from tests.pace import PATIENCE_S

TESTS = {"entry_point": "f", "cases": [{"args": [1], "expected": 2}]}


@pytest.fixture
def own_desk(models: OpenAIServer) -> Iterator[Desk]:
    """Run a desk with a separate PostgreSQL and short leases."""
    # Not pytest's temporary folder: PostgreSQL may run as another user, to whom that one is closed.
    data = Path(os.environ["REFLECTION_DATA_DIR"]) / "answers-on-disk"
    provider = {"LLM_MODEL": "openai/playback", "OPENAI_API_BASE": models.url, "OPENAI_API_KEY": "none"}
    impatient = {"REFLECTION_MODE": "off", "RUN_LEASE_S": "3", "SWEEP_INTERVAL_S": "0.5", "LLM_TIMEOUT_S": "300"}
    with running_desk(data, provider | impatient) as desk:
        yield desk


def has_ended(pid: int) -> bool:
    """Return True if the process has ended, also where its parent has not noticed yet."""
    return not is_alive(pid) or "State:\tZ" in Path(f"/proc/{pid}/status").read_text()


def test_an_answer_outlives_the_worker_and_the_stop_of_the_database(
    own_desk: Desk, models: OpenAIServer, playback: Playback
) -> None:
    is_asked, may_answer = threading.Event(), threading.Event()

    def right(_body: dict[str, Any]) -> Reply:
        is_asked.set()
        may_answer.wait(PATIENCE_S)
        return Reply(python("def f(x):\n    return x + 1"))

    run_id = own_desk.hand_in(objective=f"{playback.add('answer-on-disk', right)}Add one.", tests=TESTS)
    own_desk.wait_until(is_asked.is_set)
    database, worker = own_desk.pid_of("postgres"), own_desk.pid_of("worker")
    # Else `up` would restart both at once.
    own_desk.process.send_signal(signal.SIGSTOP)
    try:
        os.kill(database, signal.SIGINT)
        own_desk.wait_until(lambda: has_ended(database))
        may_answer.set()
        own_desk.wait_until(lambda: any((own_desk.data / "spool").glob("*.json")))
        os.kill(worker, signal.SIGKILL)
    finally:
        own_desk.process.send_signal(signal.SIGCONT)

    own_desk.wait_until(lambda: own_desk.pid_of("worker") != worker and own_desk.pid_of("postgres") != database)
    run = own_desk.settled(run_id)
    assert (run["outcome"], run["attempts"], run["usage"]["llm_calls"]) == ("succeeded", 1, 1)
    assert len(requests_for(models, "answer-on-disk")) == 1
    assert list((own_desk.data / "spool").iterdir()) == []
