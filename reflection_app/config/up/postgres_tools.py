"""pg_dump and pg_restore: those of the embedded PostgreSQL's wheel, else the system's."""

import os
import shutil
from pathlib import Path
from typing import Any

from django.conf import settings
from psycopg.conninfo import make_conninfo

from reflection_app.config.services import database_settings
from reflection_app.config.up.child_process import Command, output_of
from reflection_app.config.up.errors import EmbeddedEngineError
from reflection_app.config.up.postgres import installation


class ToolFailed(Exception):
    """pg_dump or pg_restore gave up; the message is what it said."""


def database(name: str = "") -> dict[str, Any]:
    """How to reach the desk's database, or another of the same server, in the words of libpq."""
    given = database_settings(settings.DATABASE_URL, data_dir=settings.DATA_DIR, pool_size=0)
    said = {
        "dbname": name or given["NAME"],
        "user": given.get("USER"),
        "password": given.get("PASSWORD"),
        "host": given.get("HOST"),
        "port": given.get("PORT"),
    }
    found: dict[str, Any] = {key: value for key, value in said.items() if value} | given["OPTIONS"]
    return found


async def run_tool(tool: str, *arguments: str, on: dict[str, Any]) -> None:
    """`tool` has done its work on the database. Raises ToolFailed, or EmbeddedEngineError where there is no such tool.

    A password goes by the environment: other users of the machine can read arguments.
    """
    told = {key: value for key, value in on.items() if key != "password"}
    env = {"PATH": os.defpath} | ({"PGPASSWORD": str(on["password"])} if "password" in on else {})
    argv = (str(_found(tool)), f"--dbname={make_conninfo(**told)}", "--no-password", *arguments)
    code, printed = await output_of(Command(name=tool, argv=argv, env=env))
    if code:
        raise ToolFailed(f"{tool}: {' '.join(printed.split())[-600:] or f'exit code {code}'}")


def _found(tool: str) -> Path:
    try:
        return installation() / "bin" / tool
    except EmbeddedEngineError:
        found = shutil.which(tool)
        if found is None:
            raise EmbeddedEngineError(f"There is no {tool} here: install PostgreSQL's client programs.") from None
        return Path(found)
