"""Engines for benchmarks in this process: as durable as `manage.py up` has them, on a fresh data folder."""

import asyncio
import os
import shutil
import signal
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

from reflection_app.config.up.engines import postgres_is_ready, prepared_postgres, prepared_valkey, valkey_is_ready
from reflection_app.config.up.processes import Command, start_options


@contextmanager
def django_on_own_engines(environment: Mapping[str, str], *, data: Path | None = None) -> Iterator[None]:
    """Django, set up in this process with an empty, migrated database and `environment`.

    Its data is kept where a folder is given for it, and gone at the end where none is.
    """
    folder = data or Path(tempfile.mkdtemp(prefix="desk-load-"))
    running: list[subprocess.Popen[bytes]] = []
    try:
        postgres = _start(asyncio.run(prepared_postgres(folder, sockets=folder / "run")), running)
        _start(prepared_valkey(folder, sockets=folder / "run"), running)
        _wait_until(lambda: postgres_is_ready(folder, pid=postgres.pid))
        _wait_until(lambda: valkey_is_ready(folder / "run"))
        os.environ.pop("DATABASE_URL", None)
        os.environ.pop("REDIS_URL", None)
        os.environ.update({"REFLECTION_DATA_DIR": str(folder), **environment})
        _set_up_django()
        yield
        _close_database()
    finally:
        for process in reversed(running):
            process.send_signal(signal.SIGINT)
            process.wait(10)
        if data is None:
            shutil.rmtree(folder, ignore_errors=True)


def _start(command: Command, running: list[subprocess.Popen[bytes]]) -> subprocess.Popen[bytes]:
    process: subprocess.Popen[bytes] = subprocess.Popen(command.argv, **start_options(command))
    running.append(process)
    return process


def _wait_until(ready: Callable[[], bool]) -> None:
    deadline = time.monotonic() + 30
    while not ready():
        if time.monotonic() > deadline:
            raise TimeoutError("an engine did not start; its own words are above")
        time.sleep(0.02)


def _set_up_django() -> None:
    os.environ["DJANGO_SETTINGS_MODULE"] = "reflection_app.config.settings"
    import django
    from django.core.management import call_command

    django.setup()
    call_command("migrate", verbosity=0)


def _close_database() -> None:
    from django.db import connections

    connections.close_all()
    for database in connections.all():
        database.close_pool()  # type: ignore[attr-defined]
