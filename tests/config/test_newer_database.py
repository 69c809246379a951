"""A database that a newer version migrated stops every process of this version from starting."""

import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from django.conf import settings

from reflection_app.config.up.preconditions import free_port
from reflection_app.config.up.processes import ASGI, CELERY, WEB_SERVER
from tests.databases import copy_database, drop_database
from tests.pace import PATIENCE_S

SENTENCE = (
    "The database was migrated by a newer version (migration reflection_app.9999_of_the_future is unknown here). "
    "Start that version or restore a backup."
)
MORE = ("web", "beat")
PROCESSES = {
    "up": ("manage.py", "up"),
    "web": ("-m", WEB_SERVER, "-p", "{port}", ASGI),
    "worker": ("-m", "celery", "-A", CELERY, "worker", "-P", "threads", "-c", "1"),
    "beat": ("-m", "celery", "-A", CELERY, "beat", "-s", "{data}/beat-schedule", "--pidfile="),
}


@pytest.fixture(scope="module")
def newer_database() -> Iterator[str]:
    """The address of a database with a migration of ours that does not exist here."""
    name = f"newer_{os.getpid()}"
    copy_database("template1", name)
    url = urlunsplit(urlsplit(os.environ["DATABASE_URL"])._replace(path=f"/{name}"))
    with psycopg.connect(os.environ["DATABASE_URL"], dbname=name) as database:
        database.execute("CREATE TABLE django_migrations (id serial, app text, name text, applied timestamptz)")
        database.execute(
            "INSERT INTO django_migrations (app, name, applied) VALUES "
            "('reflection_app', '9999_of_the_future', now()), ('account', '9999_of_another_package', now())"
        )
    yield url
    drop_database(name)


@pytest.mark.parametrize(
    "name", ["up", "worker", *(pytest.param(name, marks=pytest.mark.exhaustive("a process each")) for name in MORE)]
)
def test_a_process_does_not_start_on_a_newer_database(name: str, newer_database: str, tmp_path: Path) -> None:
    own = {"DATABASE_URL": newer_database, "LLM_MODEL": "openai/unused", "REFLECTION_DATA_DIR": str(tmp_path)}
    argv = [part.format(port=free_port(), data=tmp_path) for part in PROCESSES[name]]
    ended = subprocess.run(
        (sys.executable, *argv),
        env=dict(os.environ) | own,
        cwd=settings.BASE_DIR,
        capture_output=True,
        text=True,
        timeout=PATIENCE_S,
        check=False,
    )
    assert ended.returncode == 1, ended.stdout + ended.stderr
    assert SENTENCE in ended.stderr
