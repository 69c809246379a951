"""Prints how fast a data set of 100,000 rows goes out, in each format and page by page, and how much memory that takes.

The file is made as the web server makes it, by pieces, and thrown away. The memory is what the process grows by beyond
what it has after a thousand rows: it is to be the same however many rows follow.

.venv/bin/python -m tests.load.bench_datasets [ROWS]
"""

import sys
import time
from collections.abc import Iterator
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING

from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

if TYPE_CHECKING:
    from reflection_app.core.models import Project

# Of the reviews that are filled in this many have a run that has ended, and so is a row.
FINISHED = 0.4
PAGES = 200


def main() -> None:
    rows = int(sys.argv[1]) if len(sys.argv) > 1 else 100_000
    with django_on_own_engines({"ALLOWED_HOSTS": "testserver", "API_REQUESTS_PER_MINUTE": "0"}):
        project = fill(rows)
        print(describe_machine())
        measure_files(project)
        measure_pages(project)


def fill(rows: int) -> "Project":
    from tests.factories import make_member, make_project
    from tests.load.review_rows import fill_reviews

    project, other = make_project("measured"), make_project("other")
    fill_reviews({other: rows // 10, project: round(rows / FINISHED)}, assignee_id=make_member(project).pk)
    return project


def measure_files(project: "Project") -> None:
    from reflection_app.metrics.datasets.asking import DatasetQuery, asked_of
    from reflection_app.metrics.datasets.catalogue import DATASETS, DatasetKind
    from reflection_app.metrics.datasets.files import FileFormat, as_csv, as_jsonl
    from reflection_app.metrics.datasets.rows import DatasetRow

    for kind in (DatasetKind.RUNS, DatasetKind.CRITIC):
        for form in FileFormat:
            dataset, asked = DATASETS[kind], asked_of(project, DatasetQuery())
            counted = [0]

            def pieces(dataset=dataset, asked=asked, counted=counted) -> Iterator[list[DatasetRow]]:  # type: ignore[no-untyped-def]  # noqa: ANN001
                for piece in dataset.sources.pieces(asked):
                    counted[0] += len(piece.rows)
                    yield piece.rows

            began = time.perf_counter()
            file = as_csv(dataset, pieces()) if form is FileFormat.CSV else as_jsonl(pieces())
            size = len(next(file, b""))
            first_s = time.perf_counter() - began
            size += sum(len(piece) for piece in islice(file, 5))
            forget_peak()
            before = peak_mb()
            size += sum(len(piece) for piece in file)
            took_s = time.perf_counter() - began
            speed = counted[0] / took_s
            print(
                f"{kind:12} {form:8} {counted[0]:8,} rows in {took_s:6.1f} s: {speed:7,.0f} rows a second, "
                f"first bytes after {first_s * 1000:5.0f} ms, {size / 1e6:6.1f} MB, memory +{peak_mb() - before:.0f} MB"
            )


def measure_pages(project: "Project") -> None:
    from django.test import Client

    from tests.factories import make_api_key

    _, secret = make_api_key(project)
    client, took_ms = Client(), []
    address = "/api/v1/datasets/runs?limit=200"
    for _page in range(PAGES):
        began = time.perf_counter()
        answer = client.get(address, headers={"Authorization": f"Bearer {secret}"})
        took_ms.append((time.perf_counter() - began) * 1000)
        address = answer.json()["next"]
        if address is None:
            break
    ordered = sorted(took_ms)
    told = f"p50 {ordered[len(ordered) // 2]:.0f} ms, p95 {ordered[int(len(ordered) * 0.95) - 1]:.0f} ms"
    print(f"pages of 200 by cursor, {len(took_ms)} of them: {told}, the last {took_ms[-1]:.0f} ms")


def forget_peak() -> None:
    """Begins to measure the highest resident memory anew (proc(5), clear_refs)."""
    Path("/proc/self/clear_refs").write_text("5")


def peak_mb() -> float:
    status = Path("/proc/self/status").read_text()
    return int(status.partition("VmHWM:")[2].split()[0]) / 1000


if __name__ == "__main__":
    main()
