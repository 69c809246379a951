"""What a run in the sandbox may use, and the two ways in which the sandbox itself lets us down."""

from dataclasses import dataclass

MEBIBYTE = 1024 * 1024


class SandboxUnavailable(Exception):
    """No sandbox can be started here; the text gives the reason and the fix. Code is refused, never run bare."""


class SandboxFailed(Exception):
    """The sandbox broke during a run; nothing is known about the code that was in it."""


class SandboxBusy(SandboxFailed):
    """Other sandboxes use all the memory that there is for them; nothing was run."""


@dataclass(frozen=True)
class SandboxLimits:
    """Limits of one run; memory, files and CPU time hold for each process, the rest for each test or the whole run.

    `processes` counts threads too. `output_bytes` is what is kept of a stream for people, `written_bytes` what
    a test may print before it is stopped.
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
