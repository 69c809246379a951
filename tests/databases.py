"""The databases of a session's own PostgreSQL: one goes through all migrations, all others are copies of it."""

import os

import psycopg
from django.core.management import call_command
from django.db import connection, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from psycopg import sql

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
            assert connection.settings_dict["NAME"] == name
            call_command("migrate", verbosity=0, interactive=False)
            database = connections["default"]
            assert isinstance(database, DatabaseWrapper)
            database.close()
            database.close_pool()
            beside.execute(sql.SQL("ALTER DATABASE {} IS_TEMPLATE true").format(sql.Identifier(name)))
    return name


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
