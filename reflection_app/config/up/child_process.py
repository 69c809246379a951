"""A process that `manage.py up` starts: what to run, and how it is started so that it never outlives its parent."""

import asyncio
import ctypes
import os
import signal
import sys
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

PR_SET_PDEATHSIG = 1


@dataclass(frozen=True, kw_only=True)
class Command:
    """How to start one process, and the signals that end it."""

    name: str
    argv: tuple[str, ...]
    env: Mapping[str, str] = field(default_factory=dict)
    # Descriptors that the process is given, open, by the numbers that they have here.
    pass_fds: tuple[int, ...] = ()
    cwd: Path = Path("/")
    user: str | None = None
    stop_signal: signal.Signals = signal.SIGTERM
    orphan_signal: signal.Signals = signal.SIGKILL
    patience_s: float = 8.0
    # How far it stands back for others at the processors.
    nice: int = 0


def first_in_child(stop: signal.Signals, *, nice: int = 0) -> Callable[[], None]:
    """What to run in the child: it stands back by `nice`, and on Linux gets `stop` when its parent is gone."""
    libc = ctypes.CDLL(None) if sys.platform == "linux" else None

    def prepare() -> None:
        if nice:
            os.nice(nice)
        if libc is not None:
            libc.prctl(PR_SET_PDEATHSIG, int(stop))

    return prepare


def start_options(command: Command) -> dict[str, Any]:
    """Keyword arguments for Popen and asyncio alike: own session (no Ctrl-C from the terminal), no input, own user."""
    options: dict[str, Any] = {
        "stdin": asyncio.subprocess.DEVNULL,
        "cwd": command.cwd,
        "env": dict(command.env) or {"PATH": os.defpath},
        "pass_fds": command.pass_fds,
        "start_new_session": True,
        "preexec_fn": first_in_child(command.orphan_signal, nice=command.nice),
    }
    if command.user:
        options |= {"user": command.user, "group": command.user, "extra_groups": []}
    return options


def send(process: asyncio.subprocess.Process, *, sign: signal.Signals, group: bool = False) -> None:
    """The process (or all of its group) got the signal, or was gone already."""
    try:
        if group:
            os.killpg(process.pid, sign)
        else:
            process.send_signal(sign)
    except ProcessLookupError:
        return


async def stop(process: asyncio.subprocess.Process, *, command: Command) -> None:
    """Asks the process to end, waits for its patience, then kills it and whatever it started."""
    send(process, sign=command.stop_signal)
    try:
        await asyncio.wait_for(process.wait(), timeout=command.patience_s)
    except TimeoutError:
        send(process, sign=signal.SIGKILL, group=True)
        await process.wait()


async def output_of(command: Command, *, given: bytes = b"") -> tuple[int, str]:
    """The exit code and everything the command printed; it is killed if the caller is cancelled."""
    options = start_options(command) | {"stdin": asyncio.subprocess.PIPE}
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdout=asyncio.subprocess.PIPE,
        stderr=asyncio.subprocess.STDOUT,
        **options,
    )
    try:
        printed, _ = await process.communicate(given)
    except asyncio.CancelledError:
        send(process, sign=signal.SIGKILL, group=True)
        await process.wait()
        raise
    assert process.returncode is not None
    return process.returncode, printed.decode(errors="replace")
