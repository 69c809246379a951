"""The memory of all processes of a sandbox together, seen from outside.

The kernel limits each process; only a control group would limit their sum, and an ordinary user seldom has one.
So it is looked at many times a second; when it is too much, every process of the candidate is killed. The harness
stays, and goes on with the next test.
"""

import os
import resource
import signal
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path

LOOK_EVERY_S = 0.05
ENTRY_BYTES = 2048
GONE = (OSError, IndexError, ValueError)


class MemoryWatch:
    """Kills what a sandbox's candidate runs once it holds more than `most` bytes in sum."""

    def __init__(self, pid: int, *, most: int, nesting: int) -> None:
        self.pid, self.most, self.nesting = pid, most, nesting
        self.harness: int | None = None

    def look(self) -> bool:
        """Whether the candidate had to be killed."""
        if self.harness is None:
            self.harness = next((pid for pid in descendants(self.pid) if self.is_harness(pid)), None)
            return False
        inside = list(descendants(self.harness))
        if sum(map(resident_memory, inside)) + tmp_entries(self.harness) <= self.most:
            return False  # nothing is counted less than once, and this is soon done
        if sum(map(own_memory, inside)) + tmp_entries(self.harness) <= self.most:
            return False
        for pid in inside:
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGKILL)
        return True

    def is_harness(self, pid: int) -> bool:
        """Whether it is process 1 of a namespace as far below ours as the sandbox is."""
        numbers = numbers_of(pid)
        return len(numbers) == len(numbers_of("self")) + self.nesting and numbers[-1] == "1"


def descendants(pid: int) -> Iterator[int]:
    """The processes below this one, as far as they can still be seen."""
    found: list[int] = []
    with suppress(*GONE):
        for path in Path(f"/proc/{pid}/task").iterdir():
            found += map(int, (path / "children").read_text().split())
    for child in found:
        yield child
        yield from descendants(child)


def numbers_of(pid: int | str) -> list[str]:
    """The numbers of a process in the namespaces from ours down to its own."""
    with suppress(*GONE):
        lines = Path(f"/proc/{pid}/status").read_text().splitlines()
        return next(line.split()[1:] for line in lines if line.startswith("NSpid:"))
    return []


def resident_memory(pid: int) -> int:
    """Bytes of the process that are in memory, those in full that it shares with others."""
    with suppress(*GONE):
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    return 0


def own_memory(pid: int) -> int:
    """Bytes that no file backs: its own, and its part of what it shares with others."""
    with suppress(*GONE):
        lines = Path(f"/proc/{pid}/smaps_rollup").read_text().splitlines()
        return sum(int(line.split()[1]) * 1024 for line in lines if line.startswith(("Pss_Anon:", "Pss_Shmem:")))
    return 0


def tmp_entries(pid: int) -> int:
    """Bytes of the kernel that the files and folders in the sandbox's /tmp take, whatever is in them."""
    with suppress(OSError):
        told = os.statvfs(f"/proc/{pid}/root/tmp")
        return (told.f_files - told.f_ffree) * ENTRY_BYTES
    return 0
