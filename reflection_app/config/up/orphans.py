"""Processes that an `up` which was killed left behind: they are found by a register in the data folder and stopped.

On Linux children follow their parent by themselves; what is found there is mostly a PostgreSQL still shutting down.
"""

import asyncio
import json
import os
import signal
import time
from dataclasses import dataclass, field
from pathlib import Path

from reflection_app.config.up.child_process import Command, output_of

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Register:
    """Which process runs which command, on disk."""

    path: Path
    entries: dict[str, tuple[int, str, int]] = field(default_factory=dict)

    def note(self, command: Command, *, pid: int) -> None:
        self.entries[command.name] = (pid, _arguments(command.argv), int(command.orphan_signal))
        # In one step: who reads it meanwhile, or after a death in mid-write, finds the old one or the new one whole.
        fresh = self.path.with_suffix(".new")
        fresh.write_text(json.dumps(self.entries))
        fresh.replace(self.path)

    def clear(self) -> None:
        self.entries.clear()
        self.path.unlink(missing_ok=True)

    def left_behind(self) -> dict[str, tuple[int, str, int]]:
        """What an earlier copy noted; nothing where it ended well, or the file is not one of ours."""
        try:
            noted: dict[str, tuple[int, str, int]] = json.loads(self.path.read_text())
        except (FileNotFoundError, json.JSONDecodeError):
            return {}
        return noted


async def stop_orphans(register: Register) -> list[str]:
    """The names of the processes that were still there, and no longer are."""
    stopped = []
    for name, (pid, arguments, sign) in register.left_behind().items():
        if await _runs(pid, arguments):
            await _end(pid, arguments=arguments, sign=sign)
            stopped.append(name)
    register.clear()
    return stopped


def _arguments(argv: tuple[str, ...]) -> str:
    """What tells the process from a stranger that was given its number. The program's own name may be rewritten."""
    return " ".join(argv[1:])


async def _runs(pid: int, arguments: str) -> bool:
    try:
        found = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return False
        argv = ("/bin/ps", "-ww", "-o", "command=", "-p", str(pid))
        _, found = await output_of(Command(name="ps", argv=argv))
    return found.strip().endswith(arguments)


async def _end(pid: int, *, arguments: str, sign: int) -> None:
    deadline = time.monotonic() + PATIENCE_S
    try:
        os.kill(pid, sign)
        while await _runs(pid, arguments):
            if time.monotonic() > deadline:
                os.killpg(pid, signal.SIGKILL)
            await asyncio.sleep(0.05)
    except ProcessLookupError:
        return
