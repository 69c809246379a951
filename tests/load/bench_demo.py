"""Prints what loading the demo takes, and removing it again, in a database of its own.

.venv/bin/python -m tests.load.bench_demo [ROUNDS]
"""

import statistics
import sys
import time

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_S = 5.0


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 3
    with django_on_own_engines({}):
        print(describe_machine())
        measure(rounds)
        print(describe_machine())


def measure(rounds: int) -> None:
    from django.contrib.auth.models import User

    from reflection_app.core.audit import Actor
    from reflection_app.runs.models import Run
    from reflection_app.teams.demo.loading import load_demo
    from reflection_app.teams.demo.removing import remove_demo

    actor = Actor(user=User.objects.create(username="visitor", is_staff=True))
    loading: list[tuple[float, float]] = []
    removing: list[tuple[float, float]] = []
    for _ in range(rounds):
        began, busy = time.monotonic(), time.process_time()
        project = load_demo(actor=actor)
        loading.append((time.monotonic() - began, time.process_time() - busy))
        many = Run.objects.filter(project=project).count()
        began, busy = time.monotonic(), time.process_time()
        remove_demo(project, actor=actor)
        removing.append((time.monotonic() - began, time.process_time() - busy))
    print(f"{many} runs; goal {GOAL_S:g} s each")
    for name, taken in (("loading", loading), ("removing", removing)):
        whole, busy = (statistics.median(part) for part in zip(*taken, strict=True))
        print(f"{name:>9} {whole:6.2f} s, of which this process computed {busy:.2f} s")


if __name__ == "__main__":
    main()
