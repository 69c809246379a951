"""Process 1 of the sandbox: fork a child for each test, set its limits, watch it, and clean up after it.

It only moves bytes. Of a child's report it reads at most the head of a script's record, and it never learns the
expected values. As process 1 it cannot be killed from inside. It is not dumpable, so the candidate, which runs under
the same user, cannot trace, read or write it.

It writes one record per test to the outside: a line `index outcome status microseconds` and three lengths. Then follow
the three parts: the child's report, its standard output, its standard error.
"""

import ctypes
import os
import resource
import select
import signal
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from desk_sandbox.inside.child import run_case, run_program
from desk_sandbox.inside.script import run_script

STDIN, STDOUT, STDERR = 0, 1, 2
TMP = "/tmp"  # noqa: S108 - the sandbox's own
AT_THE_START = frozenset(entry.path for entry in os.scandir(TMP))
DUMPABLE = 4  # PR_SET_DUMPABLE of prctl(2)
PYTHON_HANDLES = (signal.SIGINT,)  # the kernel delivers only signals with a handler to process 1
RUN_AS_TESTS = ("statement", "call")
ROOM_TO_REPORT = 32 * 1024 * 1024


class Child:
    """A forked child with its pipes for reports and output, and the data received so far."""

    def __init__(
        self,
        run: Callable[[int, int], None],
        *,
        limits: dict[str, Any],
        channel: int,
        stdin: bytes = b"",
        is_script: bool = False,
    ) -> None:
        self.started = time.monotonic()
        self.limits, self.is_script = limits, is_script
        reports, self.report_end = os.pipe()
        out, out_end = os.pipe()
        err, err_end = os.pipe()
        secret, self.secret_end = os.pipe()
        self.streams: dict[int, bytearray] = {reports: bytearray(), out: bytearray(), err: bytearray()}
        self.reports, self.out, self.err = reports, out, err
        self.pid = os.fork()
        if self.pid == 0:
            try:
                for fd in (reports, out, err, self.secret_end, channel):
                    os.close(fd)
                self.become_candidate(stdin, out_end, err_end)
                run(self.report_end, secret)
            finally:
                os._exit(70)
        for fd in (self.report_end, out_end, err_end, secret):
            os.close(fd)
        self.pidfd = os.pidfd_open(self.pid)

    def become_candidate(self, stdin: bytes, out_end: int, err_end: int) -> None:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        given = os.open(TMP, os.O_TMPFILE | os.O_RDWR)
        write_all(given, stdin)
        os.lseek(given, 0, os.SEEK_SET)
        for fd, place in ((given, STDIN), (out_end, STDOUT), (err_end, STDERR)):
            os.dup2(fd, place)
            os.close(fd)
        wanted = self.limits
        cpu = wanted["cpu_s"]
        for kind, soft, hard in (
            (resource.RLIMIT_CORE, 0, 0),
            (resource.RLIMIT_CPU, cpu, cpu + 1),
            (resource.RLIMIT_AS, wanted["memory_bytes"], wanted["memory_bytes"] + ROOM_TO_REPORT),
            (resource.RLIMIT_NPROC, wanted["processes"] + 1, wanted["processes"] + 1),
            (resource.RLIMIT_FSIZE, wanted["file_bytes"], wanted["file_bytes"]),
            (resource.RLIMIT_NOFILE, 64, 64),
        ):
            resource.setrlimit(kind, (soft, hard))

    def watch(self, *, deadline: float, on_report: Callable[["Child"], float] | None = None) -> str:
        """Return how the child ended: `ended`, `timeout`, or `output` if it wrote too much.

        `on_report` is called for new report data and returns the new deadline.
        """
        poll = select.poll()
        for fd in (*self.streams, self.pidfd):
            poll.register(fd, select.POLLIN)
        while True:
            left = deadline - time.monotonic()
            if left <= 0:
                return "timeout"
            for fd, _ in poll.poll(left * 1000 + 1):
                if fd == self.pidfd:
                    return "ended"
                if not self.take(fd):
                    poll.unregister(fd)
                if len(self.streams[fd]) > self.most(fd):
                    return "output"
                if fd == self.reports and on_report is not None:
                    deadline = on_report(self)

    def most(self, fd: int) -> int:
        """Return the limit of a stream in bytes. A script reports all its tests through one pipe, so its limit is
        larger.
        """
        return int(self.limits["result_bytes" if fd == self.reports and not self.is_script else "written_bytes"])

    def said(self) -> bytes:
        return bytes(self.streams[self.reports])

    def printed(self) -> bytes:
        return bytes(self.streams[self.out][: self.limits["kept_bytes"]])

    def complained(self) -> bytes:
        return bytes(self.streams[self.err][: self.limits["output_bytes"]])

    def take(self, fd: int) -> bool:
        block = os.read(fd, 65536)
        self.streams[fd] += block
        return bool(block)

    def finish(self) -> int:
        """Return the child's wait status, after killing all it left behind and reading its remaining output."""
        status = end_everything_else(self.pid)
        for fd, kept in self.streams.items():
            while len(kept) <= self.most(fd) and self.take(fd):
                pass
            os.close(fd)
        os.close(self.pidfd)
        os.close(self.secret_end)
        empty_tmp()
        return status


def write_all(fd: int, content: bytes) -> None:
    view = memoryview(content)
    while view:
        view = view[os.write(fd, view) :]


def end_everything_else(pid: int) -> int:
    """Return the wait status of `pid`, after ending all other processes in the sandbox.

    A child that was killed before it ended has SIGKILL.
    """
    ended: dict[int, int] = {}
    found, status = os.waitpid(pid, os.WNOHANG)
    if found:
        ended[found] = status
    while True:
        kill_all()
        try:
            found, status = os.waitpid(-1, 0)
        except ChildProcessError:
            return ended.get(pid, signal.SIGKILL)
        ended.setdefault(found, status)


def kill_all() -> bool:
    """Kill all other processes. Return True if there was one."""
    try:
        os.kill(-1, signal.SIGKILL)
    except ProcessLookupError:
        return False
    return True


def empty_tmp() -> None:
    """Remove everything in /tmp before the next test, except the interpreter if it is there."""
    pending = [path for path in names_in(TMP) if path not in AT_THE_START]
    while pending:
        current = pending[-1]
        if os.path.islink(current) or not os.path.isdir(current):  # noqa: PTH112, PTH114 - pathlib costs more than a fork
            os.unlink(pending.pop())  # noqa: PTH108
            continue
        os.chmod(current, 0o700)  # noqa: PTH101
        if len(current) > 2000:  # nested too deeply for a path to reach the end: move it to the top and remove it there
            moved = f"{TMP}/{os.urandom(8).hex()}"
            os.rename(pending.pop(), moved)  # noqa: PTH104
            pending.insert(0, moved)
            continue
        inner = names_in(current)
        pending.extend(inner)
        if not inner:
            os.rmdir(pending.pop())  # noqa: PTH106


def names_in(folder: str) -> list[str]:
    return [entry.path for entry in os.scandir(folder)]


class Harness:
    """Runs a job's tests one after the other and writes a record for each test that ran."""

    def __init__(self, job: dict[str, Any]) -> None:
        self.job = job
        self.limits: dict[str, Any] = job["limits"]
        self.deadline: float = time.monotonic() + self.limits["total_s"]
        self.channel = os.dup(STDOUT)

    def next_deadline(self) -> float:
        return min(self.deadline, time.monotonic() + float(self.limits["wall_s"]))

    def run(self) -> None:
        write_all(self.channel, b"ready\n")
        if self.job["form"] == "script":
            self.run_script()
            return
        for index, case in enumerate(self.job["items"]):
            if time.monotonic() >= self.deadline:
                break
            self.run_one(index, case)

    def run_one(self, index: int, case: dict[str, Any]) -> None:
        job = self.job

        def inside(report_end: int, _secret: int) -> None:
            if job["form"] == "call":
                job["call"](case, report_end)
            if job["form"] == "cases":
                run_case(job, case, report_end)
            run_program(job, report_end)

        stdin = case.get("stdin", "").encode("utf-8", "surrogatepass")
        child = Child(inside, limits=self.limits, channel=self.channel, stdin=stdin)
        outcome = child.watch(deadline=self.next_deadline())
        status = child.finish()
        self.record(index, outcome, status, child.started, (child.said(), child.printed(), child.complained()))

    def record(self, index: int, outcome: str, status: int, since: float, parts: tuple[bytes, bytes, bytes]) -> None:
        micros = int((time.monotonic() - since) * 1_000_000)
        lengths = " ".join(str(len(part)) for part in parts)
        write_all(self.channel, f"{index} {outcome} {status} {micros} {lengths}\n".encode() + b"".join(parts))

    def run_script(self) -> None:
        session = Session([i for i, item in enumerate(self.job["items"]) if item["kind"] in RUN_AS_TESTS], self)
        while session.pending and not session.over and time.monotonic() < self.deadline:
            session.run_child()


class Session:
    """The children of one script: if one dies in a test, the next child continues after that test."""

    def __init__(self, pending: list[int], harness: Harness) -> None:
        self.pending, self.harness = pending, harness
        self.done: set[int] = set()
        self.dead: set[int] = set()
        self.over = False

    def run_child(self) -> None:
        harness = self.harness
        self.current: int | None = None
        self.nonce, self.heard = b"", 0
        self.since = time.monotonic()

        def inside(report_end: int, secret: int) -> None:
            run_script(harness.job, self.done, self.dead, report_end, secret)

        child = Child(inside, limits=harness.limits, channel=harness.channel, is_script=True)
        outcome = child.watch(deadline=harness.next_deadline(), on_report=self.listen)
        status = child.finish()
        self.listen(child)
        if not self.over:
            self.bury(outcome, status)
        harness.record(-1, "printed", status, child.started, (b"", child.printed(), child.complained()))

    def bury(self, outcome: str, status: int) -> None:
        """Settle the tests of a dead child: the current test, or all remaining ones if it died between tests."""
        for index in [*self.pending] if self.current is None else [self.current]:
            self.settle(index, outcome, status)
            self.dead.add(index)

    def settle(self, index: int, outcome: str, status: int = 0, report: bytes = b"") -> None:
        self.harness.record(index, outcome, status, self.since, (report, b"", b""))
        if index in self.pending:
            self.pending.remove(index)
        self.current = None

    def listen(self, child: Child) -> float:
        """Read all complete lines and return the new deadline."""
        said = child.streams[child.reports]
        while not self.over and (end := said.find(b"\n", self.heard)) >= 0:
            line = bytes(said[self.heard : end])
            self.heard = end + 1
            if not (self.hear_start(line, child) if not self.nonce else self.hear_record(line)):
                self.settle_all("forged")
        del said[: self.heard]
        self.heard = 0
        return self.harness.next_deadline()

    def settle_all(self, outcome: str, report: bytes = b"") -> None:
        for index in [*self.pending]:
            self.settle(index, outcome, 0, report)
        self.over = True

    def hear_start(self, line: bytes, child: Child) -> bool:
        """Return True if the line says that the candidate was loaded, or why it was not."""
        if line == b"L":
            self.nonce = os.urandom(16).hex().encode()
            os.write(child.secret_end, self.nonce)
            return True
        if line.startswith(b"F "):
            self.settle_all("ended", line[2:])
            return True
        return False

    def hear_record(self, line: bytes) -> bool:
        """Return True if the line is a record that is valid at this point."""
        nonce, _, rest = line.partition(b" ")
        letter, _, rest = rest.partition(b" ")
        place, _, report = rest.partition(b" ")
        if nonce != self.nonce or not place.isdigit():
            return False
        index = int(place)
        if letter == b"B" and self.current is None and index in self.pending:
            self.current, self.since = index, time.monotonic()
        elif letter == b"E" and index == self.current:
            self.settle(index, "ended", 0, report)
            self.done.add(index)
        elif letter == b"S" and self.current is None:
            self.settle(index, "ended", 0, report)
            self.over = True
        elif letter == b"Z" and not self.pending:
            self.over = True
        else:
            return letter == b"P" and self.current is None
        return True


def main(job: dict[str, Any]) -> None:
    """Run the job. The candidate cannot reach any of what follows."""
    for number in PYTHON_HANDLES:
        signal.signal(number, signal.SIG_IGN)
    ctypes.CDLL(None).prctl(DUMPABLE, 0, 0, 0, 0)
    os.environ.clear()
    sys.path += job.get("path", ())
    for name in job["preload"]:
        with suppress(ImportError):  # code that needs it fails at its own import
            __import__(name)
    Harness(job).run()
