"""One sandbox from its start to its end: the job goes in, records come out, and nothing of it is left."""

import marshal
import os
import selectors
import subprocess
import time
from collections.abc import Generator, Iterator
from dataclasses import replace
from functools import cache
from pathlib import Path
from types import CodeType
from typing import Any

from reflection_app.adapters.sandbox.bwrap import check, launch
from reflection_app.adapters.sandbox.frames import BrokenStream, Reader, Record
from reflection_app.adapters.sandbox.limits import SandboxFailed, SandboxLimits
from reflection_app.adapters.sandbox.memory import LOOK_EVERY_S, MemoryWatch

GRACE_S = 2.0
INSIDE = "reflection_app.adapters.sandbox.inside"
# Each module gets its own copy of the builtins: what a candidate does to the true ones does not reach the harness.
BOOTSTRAP = f"""
import builtins, marshal, sys
job = marshal.loads(open(0, 'rb', buffering=0, closefd=False).read())
for name, code in job['modules']:
    module = type(sys)(name)
    module.__path__, module.__builtins__ = [], dict(vars(builtins))
    sys.modules[name] = module
    if code:
        exec(code, vars(module))
main = sys.modules['{INSIDE}.harness'].main
for name, _ in job.pop('modules'):
    del sys.modules[name]
main(job)
"""


class HarnessDied(Exception):
    """The harness ended before its time, in the candidate's company; the records before that hold."""


@cache
def modules_inside() -> list[tuple[str, CodeType | None]]:
    """The harness, compiled, its packages before it, each module after those that it imports."""
    folder = Path(__file__).parent / "inside"
    parts = INSIDE.split(".")
    packages: list[tuple[str, CodeType | None]] = [(".".join(parts[: i + 1]), None) for i in range(len(parts))]
    for name in ("encode", "child", "approx", "equality", "pytest_parts", "stand_ins", "script", "harness"):
        source = (folder / f"{name}.py").read_text(encoding="utf-8")
        packages.append((f"{INSIDE}.{name}", compile(source, f"{name}.py", "exec", dont_inherit=True)))
    return packages


def run_job(job: dict[str, Any], *, total_s: float, limits: SandboxLimits) -> Generator[Record]:
    """The records of the job's tests as they end, until all had their turn or the time is up.

    SandboxFailed if the harness never began, HarnessDied if it began and did not end well.
    """
    status = check()
    with open_memory(marshal.dumps({**job, "modules": modules_inside()})) as given, open_memory(b"") as complaints:
        process = launch(
            status,
            program=BOOTSTRAP,
            tmp_bytes=limits.tmp_bytes,
            stdin=given.fileno(),
            stdout=subprocess.PIPE,
            stderr=complaints.fileno(),
        )
        in_time, over_memory = True, False
        watch = MemoryWatch(process.pid, most=limits.sum_of_memory_bytes, nesting=2 if status.in_view else 1)
        reader = Reader()
        try:
            for block in read_blocks(process, until=time.monotonic() + total_s + GRACE_S):
                if block is None:
                    in_time = False
                elif not block:
                    over_memory |= watch.look()
                for record in reader.feed(block or b""):
                    yield replace(record, over_memory=over_memory)
                    over_memory = False
        except BrokenStream as error:
            raise (HarnessDied if reader.is_ready else SandboxFailed)("The harness wrote what is no record.") from error
        finally:
            process.kill()
            process.communicate()
        if in_time and reader.is_ready and process.returncode != 0:
            raise HarnessDied(f"The sandbox ended with status {process.returncode}.")
        if in_time and not reader.is_ready:
            complaints.seek(0)
            said = complaints.read(2000).decode(errors="replace").strip()
            raise SandboxFailed(f"The sandbox ended with status {process.returncode}: {said or 'no message'}")


def open_memory(content: bytes) -> Any:
    """An anonymous file with the content, at its start; nothing has to be fed to the sandbox while it runs."""
    file = os.fdopen(os.memfd_create("sandbox"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


def read_blocks(process: subprocess.Popen[bytes], *, until: float) -> Iterator[bytes | None]:
    """What the sandbox writes until it ends, nothing whenever it is silent; None, once, if the time was up before."""
    assert process.stdout is not None
    with selectors.DefaultSelector() as selector:
        selector.register(process.stdout, selectors.EVENT_READ)
        while True:
            left = until - time.monotonic()
            if left <= 0:
                yield None
                return
            if not selector.select(min(left, LOOK_EVERY_S)):
                yield b""
                continue
            block = os.read(process.stdout.fileno(), 1 << 16)
            if not block:
                process.wait(timeout=5)
                return
            yield block
