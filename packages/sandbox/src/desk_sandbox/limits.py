"""Limits of a sandbox run, and the errors of the sandbox itself."""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


class SandboxUnavailable(Exception):
    """No sandbox can be started here; the message has the reason and the fix. Code is never run without one."""


class SandboxFailed(Exception):
    """The sandbox failed during a run; nothing is known about the code in it."""


class SandboxBusy(SandboxFailed):
    """Other sandboxes use all memory reserved for sandboxes; nothing was run."""


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of one run. Memory, files and CPU time apply per process, the rest per test or to the whole run.

    `processes` includes threads. `output_bytes` is the part of a stream that is stored; `written_bytes` is what a test
    may print before it is stopped.
    """

    wall_s: float = 5.0
    total_s: float = 30.0
    cpu_s: int = 10
    memory_bytes: int = 512 * MEBIBYTE
    sum_of_memory_bytes: int = 1024 * MEBIBYTE
    processes: int = 16
    file_bytes: int = 16 * MEBIBYTE
    tmp_bytes: int = 64 * MEBIBYTE
    output_bytes: int = 64 * 1024
    written_bytes: int = 4 * MEBIBYTE
    result_bytes: int = MEBIBYTE
