"""The web servers of a container, as it starts them."""

import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from tests.pace import PATIENCE_S


@pytest.mark.exhaustive("starts servers of its own and kills one")
@pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")
def test_several_answer_on_one_port_come_back_and_end_with_the_first(collected: None, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    env = dict(os.environ) | {"PORT": str(port), "WEB_PROCESSES": "2"}
    with log.open("wb") as output:
        argv = (sys.executable, "-m", "reflection_app.config.web_servers")
        parent = subprocess.Popen(argv, stdout=output, stderr=output, env=env, cwd=settings.BASE_DIR)

    def wait_until(holds: Callable[[], object]) -> None:
        deadline = time.monotonic() + PATIENCE_S
        while not holds():
            assert parent.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)

    def children() -> set[int]:
        return {int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()}

    def answered() -> set[str]:
        """Which of them, of as many requests as it takes."""
        answers(f"127.0.0.1:{port}")
        return set(re.findall(r"^(\S+) +\| .*/healthz", log.read_text(), re.MULTILINE))

    try:
        wait_until(lambda: answered() == {"web", "web-2"})
        before = children()
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(children() - before) == 1 and answers(f"127.0.0.1:{port}"))
        started = children() | before
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 0, log.read_text()
    finally:
        parent.kill()
        parent.wait()
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
