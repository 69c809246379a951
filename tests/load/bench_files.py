"""Prints what opening a produced file takes: the start of the sandbox, and the process for a file of each kind.

.venv/bin/python -m tests.load.bench_files [ROUNDS]
"""

import statistics
import sys
import time
from functools import partial
from typing import Any

from reflection_app.adapters.files import inspect_files, render_page
from reflection_app.adapters.files.child import LIMITS, ask
from reflection_app.adapters.sandbox import check, run_program
from tests.adapters.files import whole
from tests.adapters.files.opening import File, inspect_file
from tests.adapters.files.test_whole_files import WHOLE


def large_picture() -> Any:
    from PIL import Image

    return Image.linear_gradient("L").resize((4_000, 3_000))


LARGE = {
    "20 MB of CSV": File("large.csv", whole.csv_file() * 450_000),
    "10 MB of JSON Lines": File("large.jsonl", whole.json_lines() * 60_000),
    "workbook of 50,000 rows": File("large.xlsx", whole.workbook({"Sales": [*whole.ROWS] * 12_500})),
    "PDF of 200 pages": File("large.pdf", whole.pdf(200)),
    "PNG of 4,000 × 3,000": File("large.png", whole.written(lambda f: large_picture().save(f, "PNG"))),
}


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 5
    files = {name: File(name, content) for name, content, *_ in WHOLE} | LARGE
    print(check())
    inspect_file(b"{}", name="first.json")
    print_medians("a bare program in the sandbox", [timed(lambda: run_program("pass")) for _ in range(rounds)])
    print(f"{'':28} {'in all':>9} {'the process':>12}")
    for name, file in files.items():
        taken = [timed(partial(inspect_file, file.content, name=file.name)) for _ in range(rounds)]
        print_medians(name, taken, [own_ms(file) for _ in range(rounds)])
    several = [File(f"{number}-{name}", content) for number, (name, content, *_) in enumerate(WHOLE)]
    print_medians(f"{len(several)} files at once, each", [timed(lambda: inspect_files(several)) / len(several)])
    print_medians("a page of PDF drawn", [timed(lambda: render_page(whole.pdf())) for _ in range(rounds)])


def own_ms(file: File) -> float:
    """The time of the process that opens it, from its fork to its end."""
    item: dict[str, Any] = {"name": file.name, "content": file.content, "asked": [], "time_s": 10.0}
    answer = next(ask([item], limits=LIMITS))
    return answer.record.duration_ms if answer.record is not None else 0.0


def timed(action: Any) -> float:
    began = time.perf_counter()
    action()
    return (time.perf_counter() - began) * 1000


def print_medians(name: str, *series: list[float]) -> None:
    print(f"{name:28}", *(f"{statistics.median(taken):9.0f} ms" for taken in series))


if __name__ == "__main__":
    main()
