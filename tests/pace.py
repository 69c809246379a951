"""Time on machines of any speed: how long tests wait, and how long work takes, told in work of a known size."""

import json
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

# For what has to come. Only what never comes takes as long: a busy machine is waited for.
PATIENCE_S = 300.0
ROWS: list[Any] = [{"name": f"row {number}", "values": [number, number / 7, None]} for number in range(2_000)]


def paces(work: Callable[[], object]) -> float:
    """How many paces of this thread's CPU time `work` takes; a pace is some 10 ms on a desktop. The least of three."""
    return min(_cpu_s(work) / min(_cpu_s(_pace), _cpu_s(_pace)) for _ in range(3))


@contextmanager
def within(*, paces: int) -> Iterator[None]:
    """What is done inside takes no more than so many paces of this thread's CPU time; a second has about a hundred."""
    began = time.thread_time()
    yield
    took_s = time.thread_time() - began
    pace_s = min(_cpu_s(_pace), _cpu_s(_pace))
    assert took_s / pace_s < paces, f"{took_s / pace_s:.0f} paces of {pace_s * 1000:.1f} ms"


def _pace() -> None:
    for _ in range(2):
        read = json.loads(json.dumps(ROWS))
        assert sum(len(row["name"]) + sum(1 for value in row["values"] if value) for row in read) > 0


def _cpu_s(work: Callable[[], object]) -> float:
    began = time.thread_time()
    work()
    return time.thread_time() - began
