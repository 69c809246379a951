"""Waiting for what a process of its own does."""

import subprocess
import time
from collections.abc import Callable
from pathlib import Path

from tests.pace import PATIENCE_S


def wait_until(holds: Callable[[], object], *, process: subprocess.Popen[bytes], log: Path | None = None) -> None:
    """Return once `holds` does. Fails, with what the log says, where the process has ended or patience has."""
    deadline = time.monotonic() + PATIENCE_S
    while not holds():
        said = log.read_text() if log else ""
        assert process.poll() is None, said
        assert time.monotonic() < deadline, said
        time.sleep(0.02)
