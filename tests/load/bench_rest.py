"""Prints how often a second one web process answers `GET /runs` and `POST /tasks`, beside `/healthz`.

Four clients with kept connections ask each route in turns of a few seconds, so that all see the same machine. The
worker stands still meanwhile: handed-in tasks only wait.

.venv/bin/python -m tests.load.bench_rest [ROUNDS] [SECONDS]
"""

import http.client
import json
import os
import signal
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import django

from tests.load.machine import describe_machine

CLIENTS = 4
LISTED = 60
GOALS = {"GET /runs": 1 / 2, "POST /tasks": 1 / 3}
TASK = {"objective": "Write about the sea.", "mode": "actor_critic", "agent": "bench"}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        rates = measure(rounds, seconds=seconds, data=Path(folder) / "data")
    print(describe_machine())
    of_health = rates["GET /healthz"]
    for route, rate in rates.items():
        goal = f" (goal: at least {GOALS[route]:.2f})" if route in GOALS else ""
        print(f"{route:14} {rate:6.1f} a second, {rate / of_health:5.2f} of /healthz{goal}")


def measure(rounds: int, *, seconds: float, data: Path) -> dict[str, float]:
    from tests.end_to_end.desk import running_desk

    quiet = {"API_REQUESTS_PER_MINUTE": "0", "LLM_MODEL": "openai/none", "OPENAI_API_KEY": "none", "WEB_PROCESSES": "1"}
    with running_desk(data, quiet) as desk:
        desk.api.timeout = None
        os.kill(desk.pid_of("worker"), signal.SIGSTOP)
        try:
            desk.post("tasks/batch", {"tasks": [TASK] * LISTED}, status=201)
            asked = {
                "GET /healthz": ("GET", "/healthz", None, 200),
                "GET /runs": ("GET", "/api/v1/runs", None, 200),
                "POST /tasks": ("POST", "/api/v1/tasks", json.dumps(TASK), 201),
            }
            answered = dict.fromkeys(asked, 0)
            for _ in range(rounds):
                for route, what in asked.items():
                    answered[route] += ask_for(seconds, desk=desk, what=what)
            return {route: count / (rounds * seconds) for route, count in answered.items()}
        finally:
            os.kill(desk.pid_of("worker"), signal.SIGCONT)


def ask_for(seconds: float, *, desk: Any, what: tuple[str, str, str | None, int]) -> int:
    """How many answers came in that time."""
    until = time.monotonic() + seconds
    headers = {"Authorization": desk.api.headers["Authorization"], "Content-Type": "application/json"}

    def one_client(_: int) -> int:
        method, path, body, status = what
        connection, answers = http.client.HTTPConnection(desk.host, timeout=60), 0
        while time.monotonic() < until:
            connection.request(method, path, body, headers)
            response = connection.getresponse()
            said = response.read()
            assert response.status == status, (response.status, said)
            answers += 1
        connection.close()
        return answers

    with ThreadPoolExecutor(CLIENTS) as clients:
        return sum(clients.map(one_client, range(CLIENTS)))


if __name__ == "__main__":
    main()
