"""Prints how long `manage.py up` takes to its first page: on a fresh data folder (cold), then on the same one (warm).

The local model is started with it, as it is where no provider is configured.

.venv/bin/python -m tests.load.bench_start [ROUNDS]
"""

import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable
from pathlib import Path

from tests.load.machine import describe_machine

MANAGE = Path(__file__).resolve().parents[2] / "manage.py"
WITHIN_S = 120
READY = b"Reflection Desk is running"


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    series: dict[str, list[tuple[float, float]]] = {"cold": [], "warm": []}
    for _ in range(rounds):
        with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
            Path(folder).chmod(0o755)  # PostgreSQL may run as another user
            for taken in series.values():
                taken.append(start(Path(folder) / "data"))
    print(describe_machine())
    for name, taken in series.items():
        page = statistics.median(page_s for page_s, _ in taken)
        ready = statistics.median(ready_s for _, ready_s in taken)
        print(
            f"{name} start: first page after {page:.1f} s, said to be running after {ready:.1f} s ({rounds}, medians)"
        )


def start(data: Path) -> tuple[float, float]:
    """Seconds to the first page, and to the line that says that all runs; everything is stopped again."""
    from reflection_app.config.up.preconditions import free_port

    port = free_port()
    data.mkdir(exist_ok=True)
    began = time.perf_counter()
    with (data / "log").open("wb") as log:
        command = (sys.executable, str(MANAGE), "up")
        process = subprocess.Popen(command, env=environment(data, port), stdout=log, stderr=log)
    try:
        page_s = wait_until(lambda: is_served(port), began=began, process=process)
        ready_s = wait_until(lambda: READY in (data / "log").read_bytes(), began=began, process=process)
    finally:
        process.send_signal(signal.SIGTERM)
        process.wait(60)
    return page_s, ready_s


def environment(data: Path, port: int) -> dict[str, str]:
    elsewhere = ("LLM_", "DATABASE_", "REDIS_")
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(elsewhere)}
    return inherited | {"REFLECTION_DATA_DIR": str(data), "PORT": str(port)}


def is_served(port: int) -> bool:
    """Whether a person sees a page: the first address leads to the login page."""
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/", timeout=5) as answer:
            return b"<form" in answer.read()
    except (urllib.error.URLError, ConnectionError):
        return False


def wait_until(holds: Callable[[], bool], *, began: float, process: subprocess.Popen[bytes]) -> float:
    """The seconds since `began` at which `holds()` was first true. Raises TimeoutError, or where the desk ended."""
    while not holds():
        if process.poll() is not None or time.perf_counter() - began > WITHIN_S:
            raise TimeoutError("the desk did not start")
        time.sleep(0.02)
    return time.perf_counter() - began


if __name__ == "__main__":
    main()
