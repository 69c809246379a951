"""The databases of a session's own PostgreSQL: one goes through all migrations, all others are copies of it.

What came of the migrations is kept in build/ until one of them or a pinned package changes: they take 10 s and more.
"""

import asyncio
import hashlib
import os
from pathlib import Path

import psycopg
from django.conf import settings
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import sql

from reflection_app.config.up.backup import run_tool

# The first process of the session that comes makes the template, the others wait for it here.
LOCK = 7_001


def migrated_template() -> str:
    """The template's name. Whoever asks first makes it."""
    name = psycopg.conninfo.conninfo_to_dict(os.environ["DATABASE_URL"])["dbname"]
    assert isinstance(name, str)
    with _beside_all() as beside:
        beside.execute("SELECT pg_advisory_lock(%s)", [LOCK])
        found = beside.execute("SELECT datistemplate FROM pg_database WHERE datname = %s", [name]).fetchone()
        if found != (True,):
            kept = _kept_dump()
            server = psycopg.conninfo.conninfo_to_dict(os.environ["DATABASE_URL"])
            if kept.exists():
                asyncio.run(run_tool("pg_restore", "--exit-on-error", str(kept), on=server))
            else:
                assert connection.settings_dict["NAME"] == name
                call_command("migrate", verbosity=0, interactive=False)
                database = connections["default"]
                assert isinstance(database, DatabaseWrapper)
                database.close()
                database.close_pool()
                kept.parent.mkdir(parents=True, exist_ok=True)
                written = kept.with_suffix(f".{os.getpid()}")
                asyncio.run(run_tool("pg_dump", "--format=custom", f"--file={written}", on=server))
                written.replace(kept)
            beside.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE true").format(sql.Identifier(name)))
    return name


def _kept_dump() -> Path:
    root = Path(settings.BASE_DIR)
    told = hashlib.sha256(repr(settings.INSTALLED_APPS).encode())
    for file in (root / "uv.lock", *sorted(root.glob("*_app/migrations/*.py"))):
        told.update(file.name.encode() + file.read_bytes())
    return root / "build" / "tests" / f"migrated-{told.hexdigest()[:16]}.dump"


def copy_database(template: str, name: str) -> None:
    """A database of this name has what the template has."""
    with _beside_all() as beside:
        copied = sql.SQL("CREATE DATABASE {} TEMPLATE {}")
        beside.execute(copied.format(sql.Identifier(name), sql.Identifier(template)))


def drop_database(name: str) -> None:
    """The database is gone, whoever was connected to it."""
    with _beside_all() as beside:
        beside.execute(sql.SQL("DROP DATABASE {} WITH (FORCE)").format(sql.Identifier(name)))


def _beside_all() -> psycopg.Connection:
    """A connection to a database that nothing is done in: a template is not copied while anybody is connected to it."""
    return psycopg.connect(os.environ["DATABASE_URL"], dbname="postgres", autocommit=True)
