"""Prints how long proposing to a notebook of 100,000 entries takes, new things and things it has, and its rules prompt.

.venv/bin/python -m tests.load.bench_propose [ENTRIES] [ROUNDS]
"""

import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from itertools import count
from uuid import UUID, uuid4

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    rounds = int(sys.argv[2]) if len(sys.argv) > 2 else 200
    with django_on_own_engines({}):
        from tests.load.notebook_rows import fill_projects

        print(describe_machine())
        project_id = fill_projects(entries, beside=entries // 3)
        measure(project_id, rounds=rounds)
        print(describe_machine())


def measure(project_id: UUID, *, rounds: int) -> None:
    from notebook_app.public import EntryKind, Proposal, keep, rules_prompt
    from tests.load.notebook_rows import texts

    names = texts(2 * rounds, random.Random(5))
    numbers = count()

    def proposal(name: str, text: str) -> Proposal:
        return Proposal(EntryKind.LESSON, name, description=text, evidence={"run": str(uuid4())})

    def new() -> None:
        name, text = next(names)
        keep(project_id, proposal(f"{name} {next(numbers)}", text))

    def again() -> None:
        keep(project_id, proposal("The same lesson", "Found again and again."))

    report("propose something new", [timed(new) for _ in range(rounds)])
    report("propose it again", [timed(again) for _ in range(rounds)])
    report("rules prompt", [timed(lambda: rules_prompt(project_id)) for _ in range(rounds)])


def timed(what: Callable[[], object]) -> float:
    """In milliseconds."""
    began = time.perf_counter()
    what()
    return 1_000 * (time.perf_counter() - began)


def report(name: str, taken: Sequence[float]) -> None:
    p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    print(f"{name:22} {len(taken)} times: p50 {p50:6.1f} ms, p95 {p95:6.1f} ms", flush=True)


if __name__ == "__main__":
    main()
