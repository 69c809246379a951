"""The web servers of a container, as it starts them."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from django.conf import settings

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from tests.config.waiting import wait_until
from tests.pace import PATIENCE_S


@pytest.mark.exhaustive("starts servers of its own and kills one")
@pytest.mark.skipif(sys.platform != "linux", reason="looks for children in /proc")
def test_several_answer_on_one_port_come_back_and_end_with_the_first(collected: None, tmp_path: Path) -> None:
    port, log = free_port(), tmp_path / "log"
    address = f"127.0.0.1:{port}"
    env = dict(os.environ) | {"PORT": str(port), "WEB_PROCESSES": "2"}
    with log.open("wb") as output:
        argv = (sys.executable, "-m", "reflection_app.config.web_servers")
        parent = subprocess.Popen(argv, stdout=output, stderr=output, env=env, cwd=settings.BASE_DIR)

    def children() -> set[int]:
        return {int(pid) for pid in Path(f"/proc/{parent.pid}/task/{parent.pid}/children").read_text().split()}

    def answered() -> set[str]:
        """Which of them, of as many requests as it takes."""
        answers(address)
        return set(re.findall(r"^(\S+) +\| .*/healthz", log.read_text(), re.MULTILINE))

    try:
        wait_until(lambda: answered() == {"web", "web-2"}, process=parent, log=log)
        before = children()
        os.kill(min(before), signal.SIGKILL)
        wait_until(lambda: len(children() - before) == 1 and answers(address), process=parent, log=log)
        started = children() | before
        parent.send_signal(signal.SIGTERM)
        assert parent.wait(PATIENCE_S) == 0, log.read_text()
    finally:
        parent.kill()
        parent.wait()
    assert not [pid for pid in started if Path(f"/proc/{pid}").exists()]
