"""Jobs for the process that opens files: started in the sandbox, bounded, each answer once or the reason why none."""

from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import cache
from typing import Any

from desk_sandbox.limits import MEBIBYTE, SandboxLimits
from desk_sandbox.memory import working_clock
from desk_sandbox.process import HarnessDied, Modules, Record, compiled, run_job
from reflection_app.adapters.files.libraries import get_libraries

INSIDE = "reflection_app.adapters.files.inside"
# Each after those that it imports.
NAMES = (
    "reflection_app.loops.completeness.file_codes",
    "reflection_app.loops.lengths",
    "reflection_app.core.recognizing",
    *(f"{INSIDE}.{name}" for name in ("found", "kinds", "texts", "office", "packages", "pages", "asked", "look")),
)
LARGEST_FILE = 64_000_000
LIMITS = SandboxLimits(
    wall_s=10.0,
    total_s=60.0,
    cpu_s=10,
    memory_bytes=768 * MEBIBYTE,
    sum_of_memory_bytes=768 * MEBIBYTE,
    processes=8,
    file_bytes=MEBIBYTE,
    tmp_bytes=4 * MEBIBYTE,
    output_bytes=4 * 1024,
    written_bytes=MEBIBYTE,
    result_bytes=MEBIBYTE,
)
# A page drawn is larger than facts are.
DRAWING = replace(LIMITS, result_bytes=24 * MEBIBYTE, memory_bytes=1024 * MEBIBYTE, sum_of_memory_bytes=1024 * MEBIBYTE)


@dataclass(frozen=True)
class Answer:
    """How the process for one file ended; `record` is None where the sandbox went down with it or had no time."""

    record: Record | None
    is_down: bool = False


@cache
def modules_inside() -> Modules:
    return compiled(*NAMES)


def ask(items: list[dict[str, Any]], *, limits: SandboxLimits) -> Iterator[Answer]:
    """An answer for each item, in order. A file that brings the sandbox down takes no other with it.

    SandboxUnavailable and SandboxFailed where nothing can be said of any more of them.
    """
    until = working_clock() + limits.total_s
    left = list(items)
    while left and (total_s := until - working_clock()) > 0:
        answered = 0
        try:
            with closing(run(left, limits=limits, total_s=total_s)) as records:
                for record in records:
                    answered += 1
                    yield Answer(record)
        except HarnessDied:
            if answered < len(left):
                yield Answer(None, is_down=True)
                answered += 1
        else:
            break
        finally:
            left = left[answered:]
    for _ in left:
        yield Answer(None)


def run(items: list[dict[str, Any]], *, limits: SandboxLimits, total_s: float) -> Any:
    libraries = get_libraries()
    job = {
        "form": "call",
        "module": f"{INSIDE}.look",
        "function": "look",
        "items": items,
        "path": list(libraries.path),
        "preload": [],
        "limits": {**asdict(limits), "total_s": total_s, "kept_bytes": limits.output_bytes},
    }
    return run_job(job, total_s=total_s, limits=limits, modules=modules_inside(), shown=libraries.shown)
