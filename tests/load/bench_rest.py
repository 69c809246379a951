"""Prints what one web process answers over one connection, as shares of `/healthz`, and the CPU of a batch of tasks.

One client asks each route in turns of a few seconds, so that all see the same machine. The run is a finished one of
the demo project. The worker is stopped meanwhile: submitted tasks only wait.

.venv/bin/python -m tests.load.bench_rest [ROUNDS] [SECONDS]
"""

import http.client
import json
import os
import signal
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import django

from tests.load.machine import cpu_s, describe_machine

if TYPE_CHECKING:
    from tests.end_to_end.desk import Desk

BATCH = 50
# The first answers of a process pay for imports and connections.
WARM_UP_S = 1.0
TASK = {"objective": "Write about the sea.", "mode": "actor_critic", "agent": "bench"}
HEALTH, BATCHES = "GET /healthz", f"POST /tasks/batch of {BATCH}"
# The share of /healthz's rate that is wanted.
GOALS = {"GET /runs/{id}": 0.6, "GET /runs?limit=25": 0.4, "POST /tasks": 0.35}
MOST_BATCH_MS = 150


@dataclass(frozen=True)
class Route:
    method: str
    path: str
    body: str | None = None
    status: int = 200


@dataclass
class Measured:
    """Answers of one route, the seconds that they took, and the web process's seconds of CPU."""

    answers: int = 0
    wall_s: float = 0
    cpu_s: float = 0

    @property
    def rate(self) -> float:
        return self.answers / self.wall_s

    @property
    def cpu_ms(self) -> float:
        """CPU of one answer."""
        return 1_000 * self.cpu_s / self.answers


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 4
    seconds = float(sys.argv[2]) if len(sys.argv) > 2 else 3.0
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    with tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        measured = measure(rounds, seconds=seconds, data=Path(folder) / "data")
    report(measured)


def measure(rounds: int, *, seconds: float, data: Path) -> dict[str, Measured]:
    from tests.end_to_end.desk import running_desk

    quiet = {"API_REQUESTS_PER_MINUTE": "0", "LLM_MODEL": "openai/none", "OPENAI_API_KEY": "none", "WEB_PROCESSES": "1"}
    with running_desk(data, quiet) as desk:
        desk.api.timeout = None
        web, workers = desk.pid_of("web"), (desk.pid_of("worker"),)
        for pid in workers:
            os.kill(pid, signal.SIGSTOP)
        try:
            return measure_on(desk, web=web, rounds=rounds, seconds=seconds)
        finally:
            for pid in workers:
                os.kill(pid, signal.SIGCONT)


def measure_on(desk: "Desk", *, web: int, rounds: int, seconds: float) -> dict[str, Measured]:
    finished = desk.get("runs", sort="-finished_at", limit=1)["results"][0]["id"]
    routes = {
        HEALTH: Route("GET", "/healthz"),
        "GET /runs/{id}": Route("GET", f"/api/v1/runs/{finished}"),
        "GET /runs?limit=25": Route("GET", "/api/v1/runs?limit=25"),
        "POST /tasks": Route("POST", "/api/v1/tasks", json.dumps(TASK), 201),
        BATCHES: Route("POST", "/api/v1/tasks/batch", json.dumps({"tasks": [TASK] * BATCH}), 201),
    }
    connection = http.client.HTTPConnection(desk.host, timeout=60)
    headers = {"Authorization": desk.api.headers["Authorization"], "Content-Type": "application/json"}
    measured = {name: Measured() for name in routes}
    for route in routes.values():
        ask_for(WARM_UP_S, connection, route, headers, web=web, into=Measured())
    for _ in range(rounds):
        for name, route in routes.items():
            ask_for(seconds, connection, route, headers, web=web, into=measured[name])
    connection.close()
    return measured


def ask_for(
    seconds: float,
    connection: http.client.HTTPConnection,
    route: Route,
    headers: dict[str, Any],
    *,
    web: int,
    into: Measured,
) -> None:
    """Ask one request after the other for so long, and add what was measured."""
    before_s, began = cpu_s(web), time.monotonic()
    while time.monotonic() < began + seconds:
        connection.request(route.method, route.path, route.body, headers)
        response = connection.getresponse()
        answer = response.read()
        assert response.status == route.status, (response.status, answer)
        into.answers += 1
    into.wall_s += time.monotonic() - began
    into.cpu_s += cpu_s(web) - before_s


def report(measured: dict[str, Measured]) -> None:
    print(describe_machine())
    print(f"{'route':<24}{'a second':>10}{'of /healthz':>13}{'goal':>6}{'CPU ms':>9}{'of /healthz':>13}")
    health = measured[HEALTH]
    for name, found in measured.items():
        goal = f"{GOALS[name]:.2f}" if name in GOALS else ""
        shares = f"{found.rate / health.rate:13.2f}{goal:>6}{found.cpu_ms:9.2f}{health.cpu_ms / found.cpu_ms:13.2f}"
        print(f"{name:<24}{found.rate:10.1f}{shares}")
    print(f"goal of a batch: at most {MOST_BATCH_MS} ms of CPU; measured {measured[BATCHES].cpu_ms:.0f}")


if __name__ == "__main__":
    main()
