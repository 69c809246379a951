"""A worker that is killed takes its sandboxes with it."""

import os
import subprocess
import sys
import time
from pathlib import Path

from desk_sandbox.process import descendants, numbers_of

PATIENCE_S = 300.0

WORKER = """
from sandbox_runs import SandboxLimits, run_call
run_call("import time\\ndef f(): time.sleep(60)", limits=SandboxLimits(wall_s=60, total_s=60))
"""


def is_alive(pid: int) -> bool:
    try:
        return "State:\tZ" not in Path(f"/proc/{pid}/status").read_text()
    except OSError:
        return False


def wait_until_it_sleeps(pid: int) -> list[int]:
    """The processes below the worker, once the candidate runs: the last two are in the sandbox."""
    until = time.monotonic() + PATIENCE_S
    while time.monotonic() < until:
        # Each is read once: one may end between two looks.
        inside = [numbers for numbers in map(numbers_of, descendants(pid)) if len(numbers) > 1]
        if len(inside) >= 2 and inside[-1][-1] != "1":
            time.sleep(0.3)
            return list(descendants(pid))
        time.sleep(0.05)
    raise AssertionError("the sandbox did not start")


def test_no_process_of_a_sandbox_outlives_a_killed_worker() -> None:
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen([sys.executable, "-c", WORKER], env=environment) as worker:
        inside = wait_until_it_sleeps(worker.pid)
        worker.kill()
    until = time.monotonic() + 5
    while any(map(is_alive, inside)) and time.monotonic() < until:
        time.sleep(0.05)
    assert len(inside) >= 3
    assert [pid for pid in inside if is_alive(pid)] == []
