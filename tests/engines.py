"""A pytest plugin: a PostgreSQL for the session and a Valkey for each of its processes, before Django reads settings.

DATABASE_URL and REDIS_URL, where they are given, are used instead. Settings of the developer's shell are put aside.
"""

import asyncio
import atexit
import gc
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from reflection_app.config.up.engines import (
    SOCKET,
    EmbeddedEngineError,
    postgres_is_ready,
    prepared_postgres,
    prepared_valkey,
    valkey_is_ready,
)
from reflection_app.config.up.processes import Command, start_options

PUT_ASIDE = (
    "LLM_",
    "FC_",
    "REFLECTION_FC_",
    "EMBEDDING_",
    "LOCAL_MODEL_",
    "PRODUCTION",
    "DEBUG",
    "ALLOWED_HOSTS",
    "PORT",
    "HOST",
    "REFLECTION_DATA_DIR",
)
# Nothing here has to survive a power cut.
# Each test process and each desk that it starts may fill a pool.
FAST = {"max_connections": "500", "fsync": "off", "synchronous_commit": "off", "full_page_writes": "off"}
running: list[subprocess.Popen[bytes]] = []
folders: list[Path] = []


@pytest.hookimpl(tryfirst=True)
def pytest_load_initial_conftests(args: list[str]) -> None:
    if {"--help", "-h", "--version", "-V"} & set(args):
        return
    try:
        _start_engines()
    except EmbeddedEngineError as problem:
        pytest.exit(str(problem), returncode=4)


# First: xdist is registered after this plugin, and would be asked before it.
@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers() -> int:
    """One more than there are cores: browsers, databases and sandboxes are waited for."""
    return (os.cpu_count() or 1) + 1


def pytest_collection_finish() -> None:
    """What was imported stays: looking through it for garbage again and again took an eighth of the tests' time."""
    gc.collect()
    gc.freeze()
    gc.set_threshold(50_000, 20, 50)


def pytest_unconfigure() -> None:
    _stop_engines()


def _start_engines() -> None:
    """The environment names engines that run, and a fresh data folder."""
    atexit.register(_stop_engines)
    # Not pytest's own temporary folder, which it closes to all other users: PostgreSQL may run as one.
    folder = Path(tempfile.mkdtemp(prefix="desk-tests-"))
    folders.append(folder)
    if "PYTEST_XDIST_WORKER" not in os.environ:
        _put_developers_settings_aside()
        if not os.environ.get("DATABASE_URL"):
            _start_postgres(folder)
    if not os.environ.get("REDIS_URL") or os.environ.get("DESK_TESTS_OWN_VALKEY"):
        _start_valkey(folder)
    os.environ["REFLECTION_DATA_DIR"] = str(folder)
    # As in life, where a connection that is closed goes back to the pool: a new one costs PostgreSQL a process. Without
    # an engine of our own there is none, for it keeps connections open, and their database could not be dropped.
    os.environ["DATABASE_POOL_SIZE"] = "40" if os.environ.get("DESK_TESTS_OWN_POSTGRES") else "0"
    # Tests of what looks back turn it on by project; to all others two more runs after each would only be in the way.
    os.environ["REFLECTION_MODE"] = "off"
    # Hundreds of tests call from one address; those of the limits set their own.
    os.environ["API_REQUESTS_PER_MINUTE"] = os.environ["API_REQUESTS_WITHOUT_KEY"] = "0"
    os.environ["SECRET_KEY"] = "only-for-tests-" * 4


def _put_developers_settings_aside() -> None:
    for name in list(os.environ):
        if name.startswith(PUT_ASIDE) or name.endswith("_API_KEY"):
            del os.environ[name]


def _start_postgres(folder: Path) -> None:
    sockets = folder / "pg"
    command = asyncio.run(prepared_postgres(folder, sockets=sockets, options=FAST, sync=False))
    process = _start(command, log=folder / "postgres.log")
    _wait_until(lambda: postgres_is_ready(folder, pid=process.pid), process=process, log=folder / "postgres.log")
    os.environ["DATABASE_URL"] = f"postgresql://postgres@/desk?host={sockets}"
    os.environ["DESK_TESTS_OWN_POSTGRES"] = "yes"


def _start_valkey(folder: Path) -> None:
    """Each process has its own: numbered databases would still share one space of channels."""
    command = prepared_valkey(folder, sockets=folder)
    process = _start(command, log=folder / "valkey.log")
    _wait_until(lambda: valkey_is_ready(folder), process=process, log=folder / "valkey.log")
    os.environ["REDIS_URL"] = f"unix://{folder / SOCKET}"
    os.environ["DESK_TESTS_OWN_VALKEY"] = "yes"


def _start(command: Command, *, log: Path) -> subprocess.Popen[bytes]:
    with log.open("wb") as output:
        process: subprocess.Popen[bytes] = subprocess.Popen(
            command.argv, stdout=output, stderr=output, **start_options(command)
        )
    running.append(process)
    return process


def _wait_until(ready: Callable[[], bool], *, process: subprocess.Popen[bytes], log: Path) -> None:
    while not ready():
        if process.poll() is not None:
            raise EmbeddedEngineError(f"{process.args!r} did not start: {log.read_text()}")
        time.sleep(0.02)


def _stop_engines() -> None:
    while running:
        process = running.pop()
        process.send_signal(signal.SIGINT)
        try:
            process.wait(10)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
    while folders:
        shutil.rmtree(folders.pop(), ignore_errors=True)
