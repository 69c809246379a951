"""The desk's own processes: their commands, how they are started, their logs, and left-overs of a killed `up`."""

import asyncio
import ctypes
import json
import logging
import os
import signal
import sys
import time
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from logging.handlers import RotatingFileHandler
from pathlib import Path
from typing import Any, Protocol, TextIO

from django.conf import settings

from reflection_app.config import env
from reflection_app.config.schedule import OF_FRESH_WORKERS, OF_THE_WORKER_BEHIND
from reflection_app.config.services import BESIDE_THE_POOL

# The commands of the desk's own processes, and what of the environment each may see.


# A process that `manage.py up` starts: what to run, and how it is started so that it never outlives its parent.

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
    # The fork server that it is forked from, where the supervisor runs that; else it is started on its own.
    forked_from: str = ""


class Process(Protocol):
    """A started process, as asyncio and the fork server give it."""

    @property
    def pid(self) -> int: ...
    @property
    def returncode(self) -> int | None: ...
    async def wait(self) -> int: ...
    def send_signal(self, sign: int, /) -> None: ...


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


def send(process: Process, *, sign: signal.Signals, group: bool = False) -> None:
    """The process (or all of its group) got the signal, or was gone already."""
    try:
        if group:
            os.killpg(process.pid, sign)
        else:
            process.send_signal(sign)
    except ProcessLookupError:
        return


async def stop(process: Process, *, command: Command) -> None:
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


ASGI = "reflection_app.config.asgi:application"
WEB_SERVER = "reflection_app.config.web_server"
CELERY = "reflection_app.config.celery"
INHERITED = {"PATH", "HOME", "USER", "LANG", "TZ", "TMPDIR", "VIRTUAL_ENV", "LD_LIBRARY_PATH", "NO_COLOR"}
INHERITED_BEGINNINGS = ("LC_", "PYTHON")
WORKER, BEHIND = "worker", "behind"
# What a worker prints once it takes tasks.
READY = "worker is ready"
# Fork servers: one with the application's code, and one forked from that with litellm and the providers' keys.
APP, APP_WITH_MODELS = "app", "app-llm"
FORK_SERVER = "reflection_app.config.up.fork_server"
# All that the processes import, but for what reads files that are made later (config.asgi: static files) and what opens
# an event loop (daphne.server).
PRELOADED = (
    "django:setup",
    "reflection_app.config.urls",
    "reflection_app.config.sockets",
    "reflection_app.config.jobs",
    "reflection_app.api.mcp.endpoint",
    "celery.apps.worker",
    "celery.bin.celery",
    "autobahn.twisted.websocket",
    "twisted.web.http",
)
LITELLM = "reflection_app.adapters.llm:preload"


def seen_by_web(environ: Mapping[str, str]) -> dict[str, str]:
    """What a process without provider keys may see: only names that are listed or documented, so no key slips in."""
    allowed = INHERITED | env.DOCUMENTED.keys()
    return {name: value for name, value in environ.items() if name in allowed or name.startswith(INHERITED_BEGINNINGS)}


def keys_without_model(environ: Mapping[str, str]) -> list[str]:
    """The provider keys that are set although no model is: they would go unused, in silence."""
    if environ.get("LLM_MODEL") or environ.get("FC_MODEL"):
        return []
    return sorted(name for name in environ if name.endswith("_API_KEY"))


# Settings of the mechanism that completeness checks follow, for logs that are not written here.
WITHOUT_EFFECT = ("ENABLE_VERBOSE_STEPS", "LOG_PRETTY_LABELS")


def names_without_effect(environ: Mapping[str, str]) -> list[str]:
    """Return the known names that are set and change nothing."""
    return [name for name in WITHOUT_EFFECT if name in environ]


def shared_environment(*, local_model_url: str) -> dict[str, str]:
    """What every process is given: one data folder, one port and one local model (or none) for all."""
    given = {
        "DJANGO_SETTINGS_MODULE": "reflection_app.config.settings",
        "REFLECTION_DATA_DIR": str(settings.DATA_DIR),
        "PORT": str(settings.PORT),
        "PYTHONUNBUFFERED": "1",
    }
    return given | ({"LOCAL_MODEL_URL": local_model_url} if local_model_url else {})


def options_of_postgres() -> dict[str, str]:
    """So many connections as the web servers and workers may take, and some for commands, unless those are few."""
    taken = settings.WEB_PROCESSES + settings.WORKER_PROCESSES
    wanted = taken * (settings.DATABASE_POOL_SIZE + BESIDE_THE_POOL) + 20
    return {"max_connections": str(max(200, wanted))}


def web(shared: dict[str, str], *, listener: int, access_log: bool = False) -> list[Command]:
    """WEB_PROCESSES web servers on one socket that listens already, given by its descriptor."""
    names = ["web", *(f"web-{number}" for number in range(2, settings.WEB_PROCESSES + 1))]
    return [
        _python(
            *(WEB_SERVER, "-v", str(int(access_log)), "--fd", str(listener), ASGI),
            name=name,
            env=_public(shared),
            patience_s=3,
            pass_fds=(listener,),
            forked_from=APP,
        )
        for name in names
    ]


def fork_server(name: str, shared: dict[str, str], channel: int) -> Command:
    """Return the command of the fork server `name`, whose requests come by the socket `channel`."""
    # Celery's forked workers inherit the filter; set in their own environment it would come too late.
    public = _public(shared) | {"PYTHONWARNINGS": warnings_of_workers()}
    with_models = name == APP_WITH_MODELS
    return _python(
        *(FORK_SERVER, str(channel), *((LITELLM,) if with_models else PRELOADED)),
        name=name,
        env=dict(os.environ) | shared if with_models else public,
        pass_fds=(channel,),
        forked_from=APP if with_models else "",
        # Its children end first, each within its own patience.
        patience_s=12,
    )


def warnings_of_workers() -> str:
    """Whether to be root is the owner's choice; Celery would lament it in six lines at every start."""
    return ",".join(filter(None, (os.environ.get("PYTHONWARNINGS"), "ignore:You're running the worker")))


def workers(shared: dict[str, str], *, local_model_key: str) -> list[Command]:
    """WORKER_PROCESSES of them: those for fresh work and, where there are more than one, one behind for the rest."""
    fresh = settings.WORKER_PROCESSES - 1
    if not fresh:
        queues = dict.fromkeys((*OF_FRESH_WORKERS, *OF_THE_WORKER_BEHIND))
        return [_worker(WORKER, shared, queues=queues, local_model_key=local_model_key, with_beat=True)]
    names = [WORKER, *(f"worker-{number}" for number in range(2, fresh + 1))]
    return [
        *(_worker(name, shared, queues=OF_FRESH_WORKERS, local_model_key=local_model_key) for name in names),
        _worker(
            BEHIND,
            shared,
            queues=OF_THE_WORKER_BEHIND,
            local_model_key=local_model_key,
            threads=max(4, settings.WORKER_CONCURRENCY // 4),
            # The processors are there for those who are waited for first.
            nice=5,
            with_beat=True,
        ),
    ]


def _worker(
    name: str,
    shared: dict[str, str],
    *,
    queues: Iterable[str],
    local_model_key: str,
    threads: int = 0,
    nice: int = 0,
    with_beat: bool = False,
) -> Command:
    """The only processes that see provider keys. Runs are durable: one that does not end in time may be killed."""
    # Threads share one process: there is nobody to gossip with, and the broker's own time-outs tell of a lost worker.
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    pool = ("-P", "threads", "-c", str(threads or settings.WORKER_CONCURRENCY))
    # Celery warns of two workers of one name on a machine.
    named = ("-n", f"{name}@%h", "-Q", ",".join(queues))
    beat = ("--with-beat", str(settings.DATA_DIR / "beat-schedule")) if with_beat else ()
    own = {"LOCAL_MODEL_KEY": local_model_key, "PYTHONWARNINGS": warnings_of_workers()}
    environment = dict(os.environ) | shared | own
    arguments = ("-q", "-A", CELERY, "worker", *named, *pool, *alone, *beat, "-l", "WARNING")
    return _python("celery", *arguments, name=name, env=environment, nice=nice, forked_from=APP_WITH_MODELS)


def local_model(shared: dict[str, str], *, port: int, local_model_key: str) -> Command:
    environment = _public(shared) | {"LOCAL_MODEL_KEY": local_model_key}
    return _python(
        "reflection_app.config.local_model", "--port", str(port), name="model", env=environment, patience_s=3
    )


def first_start(shared: dict[str, str], *, address: str = "", shows_password: bool = False) -> Command:
    """What prints how to log in, when this is the first start of a data folder."""
    shown = ("--show-password",) if shows_password else ()
    return _manage("first_start", "--address", address, *shown, name="first", shared=shared)


def prepare(shared: dict[str, str]) -> Command:
    """Return the command that brings the database and the static files to this version."""
    return _manage("prepare", name="prepare", shared=shared)


def _manage(*arguments: str, name: str, shared: dict[str, str]) -> Command:
    manage = str(settings.BASE_DIR / "manage.py")
    argv = (sys.executable, manage, *arguments)
    return Command(name=name, argv=argv, env=_public(shared), cwd=Path(settings.BASE_DIR), forked_from=APP)


def _public(shared: dict[str, str]) -> dict[str, str]:
    return seen_by_web(os.environ) | shared


def _python(
    module: str,
    *arguments: str,
    name: str,
    env: Mapping[str, str],
    patience_s: float = 8,
    pass_fds: tuple[int, ...] = (),
    nice: int = 0,
    forked_from: str = "",
) -> Command:
    return Command(
        name=name,
        argv=(sys.executable, "-m", module, *arguments),
        env=env,
        cwd=Path(settings.BASE_DIR),
        stop_signal=signal.SIGTERM,
        orphan_signal=signal.SIGKILL,
        patience_s=patience_s,
        pass_fds=pass_fds,
        nice=nice,
        forked_from=forked_from,
    )


# What the processes of `manage.py up` say: all of it in one log, and of each in a file of its own.

WIDTH = 8
COLOURS = {"up": 37, "web": 36, "worker": 32, "behind": 32, "model": 33, "valkey": 31, "postgres": 34}
READ_SIZE = 65_536
LAST_LINES = 12
# As wide as in the Makefile, which fetches the packages.
STEP_WIDTH = 10
CLEAR_LINE = "\r\x1b[K"
LARGEST_FILE = 5_000_000


@dataclass(frozen=True)
class JointLog:
    stream: TextIO
    # Where each process has its file; None keeps none.
    folder: Path | None = None
    last_lines: dict[str, deque[str]] = field(default_factory=dict)
    under_way: list[str] = field(default_factory=list)

    def file_of(self, name: str) -> Path | None:
        """The newest lines of this process; an older file of the same size at most stands beside it."""
        return self.folder / f"{name}.log" if self.folder else None

    def say(self, line: str, *, name: str = "up") -> None:
        """One line, aligned after the name that said it; coloured on a terminal that has not asked for none."""
        label = f"{name:<{WIDTH}} |"
        if self.stream.isatty() and "NO_COLOR" not in os.environ:
            label = f"\x1b[{COLOURS.get(name, 37)}m{label}\x1b[0m"
        self._write(f"{label} {line}\n")

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Show on a terminal that `name` is under way, and a line with a mark and its seconds once it is done."""
        began = time.monotonic()
        self.under_way.append(name)
        self._write()
        done = ""
        try:
            yield
            done = f"✓ {name:<{STEP_WIDTH}} {time.monotonic() - began:5.1f} s\n"
        finally:
            self.under_way.remove(name)
            self._write(done)

    def _write(self, text: str = "") -> None:
        """Write above the steps under way: a terminal shows them in its last line, and a file does not have them."""
        if self.stream.isatty():
            last = f"… {', '.join(self.under_way)}" if self.under_way else ""
            text = f"{CLEAR_LINE}{text}{last}"
        self.stream.write(text)
        self.stream.flush()

    async def forward(self, output: asyncio.StreamReader, *, name: str) -> None:
        """Says every line of `output` until it ends, and keeps it in the process's file. Lines may be of any length."""
        file: logging.Handler = logging.NullHandler()
        if (path := self.file_of(name)) is not None:
            path.parent.mkdir(mode=0o700, exist_ok=True)
            file = RotatingFileHandler(path, maxBytes=LARGEST_FILE, backupCount=1, encoding="utf-8", delay=True)
        last = self.last_lines.setdefault(name, deque(maxlen=LAST_LINES))

        def pass_on(line: bytes) -> None:
            text = line.decode(errors="replace").rstrip("\r")
            self.say(text, name=name)
            last.append(text)
            file.emit(logging.makeLogRecord({"msg": text}))

        rest = b""
        try:
            while chunk := await output.read(READ_SIZE):
                *lines, rest = (rest + chunk).split(b"\n")
                for line in lines:
                    pass_on(line)
            if rest:
                pass_on(rest)
        finally:
            file.close()

    def box(self, lines: list[str]) -> None:
        """The lines in a frame, without a name before them: easy to find, easy to copy."""
        width = max(len(line) for line in lines)
        frame = "─" * (width + 2)
        inside = [f"│ {line:<{width}} │" for line in lines]
        self._write("\n".join([f"┌{frame}┐", *inside, f"└{frame}┘", ""]))


# Processes that an `up` which was killed left behind: they are found by a register in the data folder and stopped.
#
# On Linux children follow their parent by themselves; what is found there is mostly a PostgreSQL still shutting down.

PATIENCE_S = 10.0


@dataclass(frozen=True)
class Register:
    """Which process runs which command, on disk."""

    path: Path
    entries: dict[str, tuple[int, str, int]] = field(default_factory=dict)

    def note(self, command: Command, *, pid: int, root: Command | None = None) -> None:
        """Note the process of `command`. A forked one still shows the command line of the fork server `root`."""
        # The arguments tell the process from a stranger that was given its number. The program's name may be rewritten.
        arguments = " ".join((root or command).argv[1:])
        self.entries[command.name] = (pid, arguments, int(command.orphan_signal))
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
            deadline = time.monotonic() + PATIENCE_S
            with suppress(ProcessLookupError):
                os.kill(pid, sign)
                while await _runs(pid, arguments):
                    if time.monotonic() > deadline:
                        os.killpg(pid, signal.SIGKILL)
                    await asyncio.sleep(0.05)
            stopped.append(name)
    register.clear()
    return stopped


async def _runs(pid: int, arguments: str) -> bool:
    try:
        found = Path(f"/proc/{pid}/cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
    except (FileNotFoundError, ProcessLookupError):
        if Path("/proc/self").exists():
            return False
        argv = ("/bin/ps", "-ww", "-o", "command=", "-p", str(pid))
        _, found = await output_of(Command(name="ps", argv=argv))
    return found.strip().endswith(arguments)
