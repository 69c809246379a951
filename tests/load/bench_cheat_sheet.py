"""Prints what the cheat sheet takes with many failures, medians, with and without a search.

Half of the failures are a few usual ones, the others spread over many signatures; every tenth signature has a fix.

.venv/bin/python -m tests.load.bench_cheat_sheet [FAILURES] [ROUNDS]
"""

import random
import statistics
import sys
import time
from collections.abc import Callable
from datetime import timedelta
from typing import TYPE_CHECKING, Any

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from reflection_app.core.models import Project

GOAL_MS = 200.0
TOOLS, USUAL, RARE = 40, 50, 5_000
AT_ONCE = 2_000
TYPES = ("parameter_error", "wrong_tool", "permission_denied", "external_service_error")


def main() -> None:
    failures = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 20
    with django_on_own_engines({}):
        measure(failures, rounds=rounds)


def measure(failures: int, *, rounds: int) -> None:
    from reflection_app.repairs.cheat_sheet import cheat_sheet
    from tests.factories import make_project

    project = make_project()
    fill(project, failures)
    print(describe_machine())
    print(f"{failures:,} failures of {TOOLS} tools, {USUAL + RARE:,} signatures; goal {GOAL_MS:g} ms")
    print(f"the whole sheet  median {median(lambda: cheat_sheet(project), rounds):6.1f} ms")
    print(f"one tool         median {median(lambda: cheat_sheet(project, tool='tool_7'), rounds):6.1f} ms")


def fill(project: "Project", failures: int) -> None:
    """Failures and fix pairs of every kind, as the tables look after some use."""
    from django.db import connection
    from django.utils import timezone

    from reflection_app.repairs.models import FixPair, ToolFailure

    chance, now = random.Random(7), timezone.now()
    for start in range(0, failures, AT_ONCE):
        ToolFailure.objects.bulk_create(
            ToolFailure(project=project, **failure(chance)) for _ in range(start, min(failures, start + AT_ONCE))
        )
    action = {"remedy": "fix_and_retry", "action": "Ask for less", "modified_params": {"limit": 10}}
    FixPair.objects.bulk_create(
        FixPair(project=project, fix="Ask for less", action=action, digest="x", successes=3, **place(number))
        for number in range(0, USUAL + RARE, 10)
    )
    # As they would have come: one after another, and not all in the same moment.
    with connection.cursor() as cursor:
        cursor.execute(
            "UPDATE reflection_app_toolfailure t SET created_at = %s + n.n * interval '1 second' "
            "FROM (SELECT id, row_number() OVER (ORDER BY id) AS n FROM reflection_app_toolfailure) n "
            "WHERE n.id = t.id",
            [now - timedelta(days=30)],
        )
        cursor.execute("VACUUM ANALYZE reflection_app_toolfailure")


def failure(chance: random.Random) -> dict[str, Any]:
    number = chance.randrange(USUAL) if chance.random() < 0.5 else USUAL + chance.randrange(RARE)
    return place(number) | {
        "params": {"query": "x" * chance.randrange(400), "limit": 100},
        "error_message": "Timeout: " + "e" * chance.randrange(800),
        "source": "rule",
        "severity": "medium",
        "root_cause": "The service did not answer in time.",
        "symptoms": ["Timeout"],
        "action": {"remedy": "retry_later", "action": "Wait, then ask for less.", "retry_delay_seconds": 5},
    }


def place(number: int) -> dict[str, Any]:
    """Where failures of this kind stand in the sheet."""
    signature = f"timeout number {number} after <duration> while reading <path>"
    return {"tool": f"tool_{number % TOOLS}", "error_type": TYPES[number % len(TYPES)], "signature": signature}


def median(work: Callable[[], object], rounds: int) -> float:
    taken = []
    for _ in range(rounds):
        start = time.perf_counter()
        work()
        taken.append((time.perf_counter() - start) * 1_000)
    return statistics.median(taken)


if __name__ == "__main__":
    main()
