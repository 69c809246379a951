"""Prints how soon a fresh task begins and ends on an idle desk, and behind 1,000 reflections that wait.

The reflections look back at half as many sessions that have ended; each takes one call of 20 seconds. The desk is
started by `manage.py up`, with workers of the usual number; everything goes over REST.

.venv/bin/python -m tests.load.bench_fresh_behind [REFLECTIONS] [TASKS]
"""

import os
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import django

from tests.load.machine import describe_machine

GOAL_S = 2.0
MODES = ("error_reflection", "memory_reflection")
TASK = {"objective": "Write about the sea.", "mode": "actor_critic", "limits": {"max_iterations": 1}}


def main() -> None:
    reflections = int(sys.argv[1]) if len(sys.argv) > 1 else 1_000
    tasks = int(sys.argv[2]) if len(sys.argv) > 2 else 5
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "reflection_app.config.settings")
    django.setup()
    from tests.end_to_end.desk import running_desk
    from tests.end_to_end.test_under_load import SESSION, reply
    from tests.openai_server import OpenAIServer

    with OpenAIServer(reply) as server, tempfile.TemporaryDirectory(prefix="desk-load-") as folder:
        Path(folder).chmod(0o755)  # PostgreSQL may run as another user
        environment = {
            "LLM_MODEL": "openai/bench",
            "OPENAI_API_BASE": server.url,
            "OPENAI_API_KEY": "none",
            "WORKER_PROCESSES": "0",
            "WEB_PROCESSES": "0",
            "API_REQUESTS_PER_MINUTE": "0",
        }
        with running_desk(Path(folder) / "data", environment) as desk:
            desk.settled(desk.hand_in(**TASK))  # litellm is loaded now
            alone = [handed_in(desk) for _ in range(tasks)]
            for number in range(reflections // 2):
                desk.post("transcripts", SESSION | {"agent": "bench", "external_id": f"session {number}"}, status=201)
            behind = [handed_in(desk) for _ in range(tasks)]
            ended = sum(
                len(desk.all_of("runs", limit=100, mode=mode, agent="bench", state="finished")) for mode in MODES
            )
    print(describe_machine())
    report("on a desk without them", alone)
    report(f"behind {reflections} reflections, of which {reflections - ended} still waited at the end", behind)
    longest_s = max(began_s for began_s, _ in behind)
    print(f"goal: begun within {GOAL_S:g} s; longest {longest_s:.2f} s: {'met' if longest_s <= GOAL_S else 'missed'}")


def handed_in(desk: Any) -> tuple[float, float]:
    """The seconds after which a fresh task has begun, and ended, as REST tells it."""
    handed_in_at = time.perf_counter()
    run_id = desk.hand_in(**TASK)
    while not desk.get(f"runs/{run_id}")["started_at"]:
        time.sleep(0.02)
    began_s = time.perf_counter() - handed_in_at
    assert desk.settled(run_id)["outcome"] == "exhausted"
    return began_s, time.perf_counter() - handed_in_at


def report(where: str, taken: list[tuple[float, float]]) -> None:
    began, ended = ([pair[place] for pair in taken] for place in (0, 1))
    print(
        f"{where}: begun after {statistics.median(began):.2f} s (longest {max(began):.2f}), "
        f"ended after {statistics.median(ended):.2f} s (longest {max(ended):.2f})"
    )


if __name__ == "__main__":
    main()
