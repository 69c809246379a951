"""The embedded PostgreSQL on its own, for commands that need the data of a desk that is not running."""

import asyncio
import time
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

from reflection_app.config.services import socket_dir
from reflection_app.config.up.errors import EmbeddedEngineError
from reflection_app.config.up.postgres import postgres_is_ready, prepared_postgres
from reflection_app.config.up.processes import Register, start_options, stop, stop_orphans

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
