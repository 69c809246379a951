"""The web server as it is started, on the test's own database, and the official client that speaks to it."""

import os
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import httpx2
from django.conf import settings
from django.db import connection
from mcp import Client
from mcp.client.streamable_http import streamable_http_client

from reflection_app.config.up.desk import answers
from reflection_app.config.up.preconditions import free_port
from reflection_app.config.up.processes import ASGI, WEB_SERVER
from tests.config.waiting import wait_until
from tests.pace import PATIENCE_S


@dataclass(frozen=True)
class Server:
    port: int
    log: Path

    @property
    def origin(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    @asynccontextmanager
    async def client(self, secret: str, *, mode: Any = "auto") -> AsyncIterator[Client]:
        """The official client with a key, as an agent has it."""
        headers = {"Authorization": f"Bearer {secret}"}
        async with httpx2.AsyncClient(headers=headers, timeout=PATIENCE_S) as http:
            transport = streamable_http_client(f"{self.origin}/mcp", http_client=http)
            async with Client(transport, mode=mode) as client:
                yield client


@contextmanager
def serving(folder: Path) -> Iterator[Server]:
    """A daphne that sees the rows which the test commits."""
    port, log = free_port(), folder / "log"
    name = connection.settings_dict["NAME"]
    database = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    with log.open("wb") as output:
        argv = (sys.executable, "-m", WEB_SERVER, "-p", str(port), ASGI)
        environment = os.environ | {"DATABASE_URL": database}
        process = subprocess.Popen(argv, stdout=output, stderr=output, env=environment, cwd=settings.BASE_DIR)
    try:
        wait_until(lambda: answers(f"127.0.0.1:{port}"), process=process, log=log)
        yield Server(port, log)
    finally:
        process.kill()
        process.wait()
