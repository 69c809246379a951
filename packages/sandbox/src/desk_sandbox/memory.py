"""Memory that all sandboxes of a machine may reserve together, and the queue of waiting runs.

A reservation is a set of locked bytes of one file; each byte represents a share of memory. The locks belong to an open
file (Linux OFD locks). Threads and processes exclude each other, and a process that dies releases its locks.
"""

import fcntl
import math
import os
import random
import struct
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from desk_sandbox.limits import MEBIBYTE, SandboxBusy, SandboxLimits, SandboxUnavailable

SHARE_BYTES = 64 * MEBIBYTE
CHECK_EVERY_S = 0.05
# Seconds to wait for callers outside the queue, which serve a page request.
PATIENCE_S = 20.0
# A byte after all shares. Its holder is first in the queue.
HEAD_OF_QUEUE = 2**40
NO_LIMIT = 2**60
CONTROL_GROUPS = Path("/sys/fs/cgroup")
OWN_GROUPS = Path("/proc/self/cgroup")


@dataclass(frozen=True)
class Shared:
    """The file whose locks are shares of memory, and the total bytes; 0 means half of the available memory."""

    file: Path = Path(tempfile.gettempdir()) / f"desk-sandbox-memory-{os.getuid()}"
    most_bytes: int = 0


_shared = Shared()


def share_memory(file: Path, *, most_bytes: int = 0) -> None:
    """Share `most_bytes` with all processes that use the same file; 0 means half of the available memory.

    All processes of a machine must use the same values. Call it once, at the start, before any run.
    """
    global _shared  # noqa: PLW0603 - of a process, like the memory itself
    _shared = Shared(file, most_bytes)


_is_queued: ContextVar[bool] = ContextVar("_is_queued", default=False)
_waited_s: ContextVar[float] = ContextVar("_waited_s", default=0.0)


def working_clock() -> float:
    """Return the monotonic time in seconds without this thread's waits for memory: code is not charged for them."""
    return time.monotonic() - _waited_s.get()


@contextmanager
def queued_for_memory() -> Iterator[None]:
    """Inside this context, wait for memory without limit, in order of arrival.

    Outside, SandboxBusy is raised after 20 s.
    """
    token = _is_queued.set(True)
    try:
        yield
    finally:
        _is_queued.reset(token)


@contextmanager
def reserved_memory(limits: SandboxLimits) -> Iterator[None]:
    """Reserve a run's maximum memory inside this context.

    A run that may use more than the total reserves everything and runs alone. Raise SandboxBusy, and SandboxUnavailable
    if the file cannot be written.
    """
    shares = max(1, memory_bound() // SHARE_BYTES)
    wanted = min(shares, math.ceil((limits.sum_of_memory_bytes + limits.tmp_bytes) / SHARE_BYTES))
    path = _shared.file
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        locks = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
    except OSError as error:
        raise SandboxUnavailable(f"Memory for code cannot be reserved: {error}") from error
    try:
        began = time.monotonic()
        try:
            _reserve(locks, wanted=wanted, shares=shares)
        finally:
            _waited_s.set(_waited_s.get() + time.monotonic() - began)
        yield
    finally:
        os.close(locks)


def _reserve(locks: int, *, wanted: int, shares: int) -> None:
    """Lock `wanted` of the shares. Only the first in the queue retries; callers outside the queue may overtake."""
    if _is_queued.get():
        _lock(locks, HEAD_OF_QUEUE, waits=True)
    until = time.monotonic() + PATIENCE_S
    while not _try(locks, wanted=wanted, shares=shares):
        if not _is_queued.get() and time.monotonic() > until:
            raise SandboxBusy("All memory for code on this machine is in use. Nothing was run; try again later.")
        # Random, so that two runs that each got a part do not collide again.
        time.sleep(CHECK_EVERY_S * random.uniform(0.5, 1.5))  # noqa: S311 - parts retries, guards nothing
    _unlock(locks, HEAD_OF_QUEUE)


def _try(locks: int, *, wanted: int, shares: int) -> bool:
    """Lock `wanted` of the shares, or none. Return True if they are locked."""
    held: list[int] = []
    for share in range(shares):
        if _lock(locks, share):
            held.append(share)
            if len(held) == wanted:
                return True
    for share in held:
        _unlock(locks, share)
    return False


def _lock(locks: int, byte: int, *, waits: bool = False) -> bool:
    try:
        fcntl.fcntl(locks, fcntl.F_OFD_SETLKW if waits else fcntl.F_OFD_SETLK, _flock(fcntl.F_WRLCK, byte))
    except BlockingIOError:
        return False
    return True


def _unlock(locks: int, byte: int) -> None:
    fcntl.fcntl(locks, fcntl.F_OFD_SETLK, _flock(fcntl.F_UNLCK, byte))


def _flock(kind: int, byte: int) -> bytes:
    """Return `struct flock` of fcntl(2) for one byte of the file."""
    return struct.pack("hhqqi4x", kind, os.SEEK_SET, byte, 1, 0)


def memory_bound() -> int:
    """Return the bytes that all sandboxes may reserve together."""
    return _shared.most_bytes or available_memory() // 2


@cache
def available_memory() -> int:
    """Return the bytes of memory of the machine, or of this process's control group if that is less."""
    return min(os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES"), *_limits_of_control_groups())


def _limits_of_control_groups() -> Iterator[int]:
    """Yield the readable limits of our control group and of its parents; at least one value."""
    yield NO_LIMIT
    for line in OWN_GROUPS.read_text().splitlines():
        _, controllers, group = line.split(":", 2)
        if controllers == "":
            root, name = CONTROL_GROUPS, "memory.max"
        elif "memory" in controllers.split(","):
            root, name = CONTROL_GROUPS / "memory", "memory.limit_in_bytes"
        else:
            continue
        inside = root / group.strip("/")
        # In a container the group's path may differ from outside; the file in the root folder is then ours.
        for folder in (inside, *inside.parents):
            try:
                yield int((folder / name).read_text())
            except (OSError, ValueError):
                continue  # no such file, or "max"
