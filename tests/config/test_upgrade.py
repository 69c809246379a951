"""A filled database of an earlier version is migrated and keeps its data.

`upgrade/filled_0036.sql.xz` is a `pg_dump` of a first start with demo data at `0036_recurring_by_meaning`.
"""

import asyncio
import lzma
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from psycopg import sql

from reflection_app.config.up.backup import run_tool
from tests.databases import drop_database

DUMP = Path(__file__).parent / "upgrade" / "filled_0036.sql.xz"
# What a migration since then drops or rewrites, as the CHANGELOG says.
DROPPED_TABLES = {
    "reflection_app_checkdraw",
    "reflection_app_daycount",
    "reflection_app_dayfigure",
    "reflection_app_dayspend",
    "reflection_app_label",
    "reflection_app_reviewexample",
    "reflection_app_viewpin",
    "reflection_app_checksuggestion",
    "reflection_app_refereemeasurement",
    "reflection_app_supplementgroup",
}
DROPPED_COLUMNS = {
    ("reflection_app_agentspan", "unread"),
    ("reflection_app_agenttrace", "tells_of_agents"),
    ("reflection_app_membership", "skills"),
    ("reflection_app_reviewqueue", "skills"),
    ("reflection_app_runfigure", "latency"),
    ("reflection_app_runfigure", "referee"),
    ("reflection_app_judgementimport", "applied_at"),
    ("reflection_app_judgementimport", "outcome"),
    ("reflection_app_judgementimport", "rows"),
    ("reflection_app_profile", "review_keys"),
    ("reflection_app_project", "completeness_by_kind"),
    ("reflection_app_supplement", "estimate"),
    ("reflection_app_supplement", "group_id"),
}
REWRITTEN = {("notebook_app_entry", "fingerprint")}
# Traces without an agent are deleted; examples move into a new version of the guidelines.
CHANGED_TABLES = {"reflection_app_agentspan", "reflection_app_agenttrace", "reflection_app_guidelinesversion"}
COLUMNS = """
SELECT table_name, array_agg(column_name::text ORDER BY column_name)
FROM information_schema.columns
WHERE table_schema = 'public' AND (table_name LIKE 'reflection_app_%' OR table_name LIKE 'notebook_app_%')
GROUP BY table_name
"""
CONTENT = "SELECT md5(string_agg(one::text, '' ORDER BY one::text)) FROM (SELECT {}::text AS one FROM {}) AS rows"


@pytest.fixture
def filled(tmp_path: Path) -> Iterator[str]:
    """The address of a database with the dump's tables and rows."""
    name = f"upgrade_{os.getpid()}"
    with psycopg.connect(os.environ["DATABASE_URL"], dbname="postgres", autocommit=True) as server:
        server.execute(sql.SQL("CREATE DATABASE {}").format(sql.Identifier(name)))
    address = psycopg.conninfo.make_conninfo(os.environ["DATABASE_URL"], dbname=name)
    script = tmp_path / "filled.sql"
    script.write_bytes(lzma.decompress(DUMP.read_bytes()))
    on = psycopg.conninfo.conninfo_to_dict(address)
    asyncio.run(run_tool("psql", "--quiet", "--set=ON_ERROR_STOP=1", f"--file={script}", on=on))
    yield address
    drop_database(name)


def contents(address: str) -> dict[tuple[str, str], str]:
    """Return a hash of the values of each column of our tables."""
    with psycopg.connect(address, autocommit=True) as connection:
        tables = connection.execute(COLUMNS).fetchall()
        found = {}
        for table, columns in tables:
            for column in columns:
                query = sql.SQL(CONTENT).format(sql.Identifier(column), sql.Identifier(table))
                [found[table, column]] = connection.execute(query).fetchone() or [""]
        return found


def url_of(address: str) -> str:
    """Return the address as DATABASE_URL has it."""
    parts = psycopg.conninfo.conninfo_to_dict(address)
    return f"postgresql://{parts['user']}@/{parts['dbname']}?host={parts['host']}"


@pytest.mark.skipif(not os.environ.get("DESK_TESTS_OWN_POSTGRES"), reason="makes a database of its own")
def test_an_upgrade_keeps_the_data(filled: str) -> None:
    before = contents(filled)
    assert before["reflection_app_run", "id"]

    subprocess.run(
        [sys.executable, "-W", "ignore", "manage.py", "migrate", "--verbosity=0"],
        cwd=settings.BASE_DIR,
        env=os.environ | {"DATABASE_URL": url_of(filled), "DATABASE_POOL_SIZE": "0"},
        check=True,
    )

    after = contents(filled)
    assert {table for table, _ in before} - {table for table, _ in after} == DROPPED_TABLES
    assert {place for place in before.keys() - after.keys() if place[0] not in DROPPED_TABLES} == DROPPED_COLUMNS
    changed = {place for place in before.keys() & after.keys() if before[place] != after[place]}
    assert {place for place in changed if place[0] not in CHANGED_TABLES} == REWRITTEN
