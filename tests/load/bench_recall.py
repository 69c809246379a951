"""Prints how long recall takes among 100,000 entries of a project, with three smaller projects beside it.

Recall whole with the question's vector at hand, and with the vector made by the wheel's model each time; its two parts,
by words and by meaning, by themselves; from one thread and from eight; and of questions of common words alone.

.venv/bin/python -m tests.load.bench_recall [ENTRIES] [QUESTIONS] [BESIDE]
"""

import os
import random
import statistics
import sys
import time
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from uuid import UUID

import numpy as np

from tests.load.engines import django_on_own_engines
from tests.load.machine import cpu_s, describe_machine

GOAL_MS = 30
FILL_GOAL_S = 60
THREADS = 8
type Vector = list[float]
type Asked = Callable[[str, Vector], object]


def main() -> None:
    entries = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    asked = int(sys.argv[2]) if len(sys.argv) > 2 else 300
    beside = int(sys.argv[3]) if len(sys.argv) > 3 else entries // 4
    with django_on_own_engines({}):
        from tests.load.notebook_rows import fill_projects, questions

        print(describe_machine())
        began, began_cpu = time.perf_counter(), cpu_s(os.getpid())
        project_id = fill_projects(entries, beside=beside)
        print(
            f"{entries:,} entries and {beside:,} beside them, with vectors and indexes, were filled in "
            f"{time.perf_counter() - began:.0f} s and {cpu_s(os.getpid()) - began_cpu:.0f} s of CPU, "
            f"goal {FILL_GOAL_S} s",
            flush=True,
        )
        chance = random.Random(11)
        texts = questions(asked, chance)
        drawn = np.random.default_rng(11)
        vectors = [one.tolist() for one in drawn.normal(size=(asked, 384))]
        measure(project_id, list(zip(texts, vectors, strict=True)))
        print(describe_machine())


def measure(project_id: UUID, asked: Sequence[tuple[str, Vector]]) -> None:
    from notebook_app.entry_filter import EntryFilter
    from notebook_app.meaning import nearest
    from notebook_app.recall import recall
    from notebook_app.search import matching
    from reflection_app.adapters.llm.embedding import WHEELS_MODEL, embed

    every = EntryFilter()
    ways: dict[str, Asked] = {
        "recall": lambda text, vector: recall(project_id, text, vector=vector),
        "by words": lambda text, vector: matching(project_id, text, among=every, limit=50),
        "by meaning": lambda text, vector: nearest(project_id, vector, among=every, limit=50),
        "recall by text alone": lambda text, vector: recall(project_id, text),
        "recall with embedding": lambda text, vector: recall(
            project_id, text, vector=embed([text], model=WHEELS_MODEL, as_query=True)[0]
        ),
    }
    common = [one for place, one in enumerate(asked) if place % 3 == 0]
    # One pool for all: each of its threads holds a connection as long as it lives.
    with ThreadPoolExecutor(THREADS) as pool:
        for name, way in ways.items():
            for text, vector in asked[:10]:
                way(text, vector)
            report(name, 1, [timed(way, *one) for one in asked])
            report(name, THREADS, list(pool.map(lambda one, way=way: timed(way, *one), asked)))
    report("recall, common words", 1, [timed(ways["recall"], *one) for one in common])


def timed(way: Asked, text: str, vector: Vector) -> float:
    """In milliseconds."""
    began = time.perf_counter()
    way(text, vector)
    return 1_000 * (time.perf_counter() - began)


def report(name: str, threads: int, taken: Sequence[float]) -> None:
    p50, p95 = statistics.median(taken), statistics.quantiles(taken, n=20)[-1]
    goal = f"; goal {GOAL_MS} {'met' if p95 <= GOAL_MS else 'missed'}" if name == "recall" and threads == 1 else ""
    print(f"{name:22} {threads} threads: p50 {p50:6.1f} ms, p95 {p95:6.1f} ms{goal}", flush=True)


if __name__ == "__main__":
    main()
