import os
import subprocess
import sys
from contextlib import suppress
from pathlib import Path

import psycopg
import pytest
from django.conf import settings
from django.contrib.auth.models import Group
from django.db import connection, transaction
from pytest_django.fixtures import Settings

from reflection_app.config import services
from reflection_app.config.services import NAMES_OF_CONNECTIONS, misfit_of_server, misfit_of_threads
from reflection_app.config.up import processes
from reflection_app.core.connections import released
from reflection_app.runs.lease import KEEPER


def test_the_defaults_fit() -> None:
    assert not misfit_of_threads(threads=64, pool=20)
    assert not misfit_of_server(processes=4, pool=20, most=100, reserved=3, others=0)


def test_too_many_threads_are_told_with_what_to_set() -> None:
    said = misfit_of_threads(threads=64, pool=15)

    assert "64 threads share 15 database connections" in said
    assert "DATABASE_POOL_SIZE to 16 or more, or WORKER_CONCURRENCY (a worker's -c) to 60 or less" in said
    assert not misfit_of_threads(threads=60, pool=15)


def test_what_it_says_to_set_fits_the_server() -> None:
    said = misfit_of_server(processes=6, pool=20, most=100, reserved=3, others=10)

    assert "6 processes may take 126 database connections" in said
    assert "has 87 for them (max_connections=100, 3 reserved, 10 taken by others)" in said
    assert "raise max_connections to 139 or more, or set DATABASE_POOL_SIZE to 13 or less" in said
    assert not misfit_of_server(processes=6, pool=20, most=139, reserved=3, others=10)
    assert not misfit_of_server(processes=6, pool=13, most=100, reserved=3, others=10)


@pytest.mark.django_db(transaction=True)
def test_the_processes_of_the_desk_are_counted_wherever_they_are(
    settings: Settings, caplog: pytest.LogCaptureFixture
) -> None:
    with (
        psycopg.connect(os.environ["DATABASE_URL"], application_name=f"{NAMES_OF_CONNECTIONS}7 first") as first,
        psycopg.connect(os.environ["DATABASE_URL"], application_name=f"{NAMES_OF_CONNECTIONS}7 first"),
        psycopg.connect(os.environ["DATABASE_URL"], application_name=f"{NAMES_OF_CONNECTIONS}7 second"),
    ):
        found = first.execute("SELECT current_setting('max_connections')").fetchone()
        assert found is not None
        settings.DATABASE_POOL_SIZE = int(found[0])
        services.warn(threads=8)

    [said] = caplog.messages
    assert f"max_connections={found[0]}" in said
    # These two and the test's own; other processes of the test session may have theirs.
    assert int(said.split(" processes")[0].split()[-1]) >= 3


@pytest.mark.django_db(transaction=True)
def test_who_renews_leases_is_counted_with_its_process_alone() -> None:
    def others() -> int:
        with connection.cursor() as cursor:
            cursor.execute(services.COUNT, {"names": NAMES_OF_CONNECTIONS, "keeper": KEEPER})
            return int(cursor.fetchone()[1])

    before = others()
    with psycopg.connect(os.environ["DATABASE_URL"], application_name=f"{KEEPER}12ab"):
        assert others() == before
        with psycopg.connect(os.environ["DATABASE_URL"], application_name="somebody else"):
            assert others() == before + 1


def test_a_database_that_is_away_keeps_nobody_from_starting() -> None:
    program = "import django; django.setup()\nfrom reflection_app.config.services import warn; warn(threads=100)"
    told = subprocess.run(
        (sys.executable, "-c", program),
        env=dict(os.environ)
        | {
            "DJANGO_SETTINGS_MODULE": "reflection_app.config.settings",
            "DATABASE_URL": "postgresql://x@127.0.0.1:1/x",
            "DATABASE_POOL_SIZE": "20",
        },
        cwd=Path(settings.BASE_DIR),
        capture_output=True,
        text=True,
        check=True,
    )
    assert "100 threads share 20 database connections" in told.stderr
    assert "could not be counted" in told.stderr


def test_the_embedded_postgres_has_room_for_all_processes_of_a_large_machine(settings: Settings) -> None:
    settings.DATABASE_POOL_SIZE = 20
    for web, workers, room in ((2, 2, 200), (4, 8, 272)):
        settings.WEB_PROCESSES, settings.WORKER_PROCESSES = web, workers
        most = int(processes.options_of_postgres()["max_connections"])
        assert most == room
        assert not misfit_of_server(processes=web + workers, pool=20, most=most, reserved=3, others=0)


@pytest.mark.django_db(transaction=True)
@pytest.mark.parametrize("error", [None, ValueError()])
def test_a_thread_has_no_connection_while_and_after_it_works_with_it_released(error: Exception | None) -> None:
    connection.ensure_connection()

    with suppress(ValueError), released():
        assert connection.connection is None
        connection.ensure_connection()
        if error:
            raise error

    assert connection.connection is None


@pytest.mark.django_db(transaction=True)
def test_a_connection_stays_where_it_is_inside_a_transaction() -> None:
    with transaction.atomic():
        Group.objects.create(name="kept")
        with released():
            assert Group.objects.filter(name="kept").exists()

    assert Group.objects.filter(name="kept").exists()
