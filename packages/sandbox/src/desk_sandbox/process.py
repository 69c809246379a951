"""Life of one sandbox: send the job, receive the records, and leave nothing behind."""

import marshal
import os
import resource
import selectors
import signal
import subprocess
import time
from collections.abc import Generator, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from types import CodeType
from typing import Any

from desk_sandbox.bwrap import SandboxStatus, check, launch
from desk_sandbox.limits import SandboxFailed, SandboxLimits
from desk_sandbox.memory import reserved_memory

# Total memory of all processes of a sandbox, measured from outside.
#
# The kernel limits each process. Only a control group would limit their sum, and an ordinary user seldom has one. The
# sum is therefore measured many times a second. If it is too large, all processes of the candidate are killed. The
# harness survives and continues with the next test.

LOOK_EVERY_S = 0.05
ENTRY_BYTES = 2048
GONE = (OSError, IndexError, ValueError)


class MemoryWatch:
    """Kills a sandbox's candidate once its processes hold more than `most` bytes in total."""

    def __init__(self, pid: int, *, most: int, nesting: int) -> None:
        self.pid, self.most, self.nesting = pid, most, nesting
        self.harness: int | None = None

    def look(self) -> bool:
        """Measure once. Return True if the candidate had to be killed."""
        if self.harness is None:
            self.harness = next((pid for pid in descendants(self.pid) if self.is_harness(pid)), None)
            return False
        inside = list(descendants(self.harness))
        if sum(map(resident_memory, inside)) + tmp_entries(self.harness) <= self.most:
            return False  # an upper bound that is cheap to compute
        if sum(map(own_memory, inside)) + tmp_entries(self.harness) <= self.most:
            return False
        for pid in inside:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return True

    def is_harness(self, pid: int) -> bool:
        """Return True if the process is process 1 of a namespace at the sandbox's nesting level."""
        numbers = numbers_of(pid)
        return len(numbers) == len(numbers_of("self")) + self.nesting and numbers[-1] == "1"


def descendants(pid: int) -> Iterator[int]:
    """Yield the processes below this one that are still visible."""
    found: list[int] = []
    with suppress(*GONE):
        for path in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (path / "children").read_text().split())
    for child in found:
        yield child
        yield from descendants(child)


def numbers_of(pid: int | str) -> list[str]:
    """Return the ids of a process in the namespaces from ours down to its own."""
    with suppress(*GONE):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(line.split()[1:] for line in lines if line.startswith("NSpid:"))
    return []


def resident_memory(pid: int) -> int:
    """Return the process's bytes in memory, counting shared ones in full."""
    with suppress(*GONE):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def own_memory(pid: int) -> int:
    """Return the process's bytes without a file behind them: its own, and its part of shared ones."""
    with suppress(*GONE):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return 0


def tmp_entries(pid: int) -> int:
    """Return the kernel memory of files and folders in the sandbox's /tmp in bytes, without their content."""
    with suppress(OSError):
        told = os.statvfs(f"/proc/{pid}/root/tmp")
        return (told.f_files - told.f_ffree) * ENTRY_BYTES
    return 0


# Parsing of the harness's records as they arrive

LONGEST_HEAD = 200


class BrokenStream(Exception):
    """The stream is not in the harness's format."""


@dataclass(frozen=True)
class Record:
    """How one test ended: the harness's `outcome`, the wait status, and the child's report and output."""

    index: int
    outcome: str
    status: int
    duration_ms: float
    report: bytes
    stdout: bytes
    stderr: bytes
    over_memory: bool = False


class Reader:
    """Collects bytes and yields complete records. Raise BrokenStream for another format."""

    def __init__(self) -> None:
        self.kept = bytearray()
        self.is_ready = False

    def feed(self, block: bytes) -> Iterator[Record]:
        self.kept += block
        while (end := self.kept.find(b"\n", 0, LONGEST_HEAD)) >= 0:
            if not self.is_ready:
                self.is_ready = self.kept[:end] == b"ready"
                if not self.is_ready:
                    raise BrokenStream
                del self.kept[: end + 1]
                continue
            record, length = self.read(bytes(self.kept[:end]), end + 1)
            if record is None:
                return
            del self.kept[:length]
            yield record

    def read(self, head: bytes, start: int) -> tuple[Record | None, int]:
        try:
            index, outcome, status, micros, *lengths = head.decode("ascii").split(" ")
            first, second, third = map(int, lengths)
        except ValueError as error:
            raise BrokenStream from error
        length = start + first + second + third
        if len(self.kept) < length:
            return None, 0
        body = bytes(self.kept[start:length])
        parts = (body[:first], body[first : first + second], body[first + second :])
        return Record(int(index), outcome, int(status), int(micros) / 1000, *parts), length


GRACE_S = 2.0
type Modules = tuple[tuple[str, CodeType | None], ...]
INSIDE = "desk_sandbox.inside"
# Each module gets its own copy of the builtins, so the candidate's changes to the originals do not affect the harness.
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
if job['form'] == 'call':
    job['call'] = getattr(sys.modules[job['module']], job['function'])
for name, _ in job.pop('modules'):
    del sys.modules[name]
main(job)
"""


class HarnessDied(Exception):
    """The harness ended early, together with the candidate; earlier records are valid."""


@cache
def modules_inside() -> Modules:
    """Return the compiled harness: packages first, and each module after those it imports."""
    names = ("encode", "child", "approx", "equality", "pytest_parts", "stand_ins", "script", "harness")
    return compiled(*(f"{INSIDE}.{name}" for name in names))


def compiled(*names: str) -> Modules:
    """Return modules of the caller in the sandbox's form: each package, without code, before its modules.

    Raise ModuleNotFoundError if a module is not installed.
    """
    found: dict[str, CodeType | None] = {}
    for name in names:
        parts = name.split(".")
        for length in range(1, len(parts)):
            found.setdefault(".".join(parts[:length]), None)
        spec = find_spec(name)
        if spec is None or spec.origin is None:
            raise ModuleNotFoundError(f"{name} is not installed.", name=name)
        source = Path(spec.origin).read_text(encoding="utf-8")
        found[name] = compile(source, f"{parts[-1]}.py", "exec", dont_inherit=True)
    return tuple(found.items())


def run_job(
    job: dict[str, Any], *, total_s: float, limits: SandboxLimits, modules: Modules = (), shown: tuple[str, ...] = ()
) -> Generator[Record]:
    """Yield the records of the job's tests as they end, until all have run or the time is up.

    `modules` are additional modules for inside, as returned by `compiled`. `shown` are host paths that it may read in
    addition to the interpreter. The time starts once memory is available. Raise SandboxBusy if there was none,
    SandboxFailed if the harness never started, and HarnessDied if it did not end normally.
    """
    status = check(shown)
    with reserved_memory(limits):
        yield from _run_job(job, total_s=total_s, limits=limits, modules=modules, shown=shown, status=status)


def _run_job(
    job: dict[str, Any],
    *,
    total_s: float,
    limits: SandboxLimits,
    modules: Modules,
    shown: tuple[str, ...],
    status: SandboxStatus,
) -> Generator[Record]:
    inside = tuple(dict([*modules_inside(), *modules]).items())
    with open_memory(marshal.dumps({**job, "modules": inside})) as given, open_memory(b"") as complaints:
        process = launch(
            status,
            program=BOOTSTRAP,
            shown=shown,
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
    """Return an anonymous file with the content, at its start. No input must be fed during the run."""
    file = os.fdopen(os.memfd_create("sandbox"), "w+b", buffering=0)
    file.write(content)
    file.seek(0)
    return file


def read_blocks(process: subprocess.Popen[bytes], *, until: float) -> Iterator[bytes | None]:
    """Yield the sandbox's output until it ends, and b"" while it is silent.

    Yield None, once, if the time is up before.
    """
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


# Texts from the sandbox, made safe for a database and short enough for people and prompts


def clean(text: str | bytes, *, limit: int = 2_000) -> str:
    """Return the text without NUL and lone surrogates, which PostgreSQL refuses, shortened in the middle."""
    if isinstance(text, bytes):
        text = text.decode("utf-8", "backslashreplace")
    text = shorten(text, limit=limit)
    return text.encode("utf-8", "backslashreplace").decode("utf-8").replace("\x00", "\\x00")


def shorten(text: str, *, limit: int) -> str:
    """Return the text, or its beginning and end with the number of characters left out between them."""
    if len(text) <= limit:
        return text
    head, tail = limit * 3 // 4, limit // 4
    return f"{text[:head]} … [{len(text) - head - tail} characters left out] … {text[-tail:]}"


def shown(value: object, *, limit: int = 2_000) -> str:
    """Return the repr of the value, safe and short."""
    return clean(repr(value), limit=limit)
