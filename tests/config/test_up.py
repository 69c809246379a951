"""The real `manage.py up`, on a port and a data folder of its own."""

import json
import os
import signal
import subprocess
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from tests.config.waiting import wait_until
from tests.pace import PATIENCE_S

UP = (sys.executable, str(Path(settings.BASE_DIR) / "manage.py"), "up")
OF_THE_TEST_SESSION = {"DATABASE_URL", "REDIS_URL", "DATABASE_POOL_SIZE", "SECRET_KEY"}


@dataclass(frozen=True)
class Running:
    process: subprocess.Popen[bytes]
    data: Path
    port: int
    log: Path

    def pid_of(self, name: str) -> int:
        return int(json.loads((self.data / "processes.json").read_text())[name][0])

    def pids(self) -> list[int]:
        return [int(entry[0]) for entry in json.loads((self.data / "processes.json").read_text()).values()]

    def answers(self) -> bool:
        return answers(f"127.0.0.1:{self.port}")

    def wait_until(self, holds: Callable[[], bool]) -> None:
        wait_until(holds, process=self.process, log=self.log)


def environment(data: Path, *, port: int) -> dict[str, str]:
    inherited = {name: value for name, value in os.environ.items() if name not in OF_THE_TEST_SESSION}
    # A model by name: the local one would only be loaded, never asked.
    own = {"REFLECTION_DATA_DIR": str(data), "PORT": str(port), "LLM_MODEL": "openai/unused"}
    return inherited | own


@pytest.fixture
def up() -> Iterator[Running]:
    # Not pytest's temporary folder: PostgreSQL may run as another user, to whom that one is closed.
    data = Path(os.environ["REFLECTION_DATA_DIR"]) / "up"
    data.mkdir()
    port = free_port()
    log = data / "log"
    with log.open("wb") as output:
        process = subprocess.Popen(UP, stdout=output, stderr=output, env=environment(data, port=port))
    try:
        yield Running(process=process, data=data, port=port, log=log)
    finally:
        process.kill()
        process.wait()


def is_alive(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.exhaustive("kills parts of a whole desk")
def test_it_starts_restarts_what_dies_refuses_a_second_copy_and_leaves_nothing_behind(up: Running) -> None:
    up.wait_until(lambda: f"is running at http://127.0.0.1:{up.port}" in up.log.read_text())
    # Not at the first asking: a busy machine may take longer than the one that asks waits.
    up.wait_until(up.answers)

    first_web = up.pid_of("web")
    os.kill(first_web, signal.SIGKILL)
    second = subprocess.run(UP, env=environment(up.data, port=free_port()), capture_output=True, text=True, check=False)
    up.wait_until(lambda: up.pid_of("web") != first_web and up.answers())

    assert (second.returncode, second.stderr.count("\n")) == (1, 1)
    assert second.stderr.startswith("Another copy is running on the data folder")
    assert "web ended (killed by SIGKILL); starting it again" in up.log.read_text()

    pids = up.pids()
    up.process.send_signal(signal.SIGTERM)

    assert up.process.wait(PATIENCE_S) == 0, up.log.read_text()
    assert not [pid for pid in pids if is_alive(pid)]
