from pathlib import Path

import psycopg
import pytest
from django.core.exceptions import ImproperlyConfigured
from django.db import connection
from psycopg_pool import ConnectionPool

from reflection_app.config.services import (
    LONGEST_SOCKET_DIR,
    LOST_WITHIN,
    broker_url,
    check_connection,
    database_settings,
    socket_dir,
)

MANY = 6
STOP_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pool-check'"
DEEP = Path("/" + "deep/" * 40)
SHALLOW = Path("/srv/desk")


def test_sockets_lie_in_the_data_folder() -> None:
    assert socket_dir(SHALLOW) == SHALLOW / "run"


def test_sockets_of_a_deep_data_folder_lie_in_a_short_one_of_its_own(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("tempfile.tempdir", str(DEEP))
    found = socket_dir(DEEP)

    assert len(str(found)) <= LONGEST_SOCKET_DIR
    assert found == socket_dir(DEEP)
    assert found != socket_dir(DEEP / "other")


def test_without_an_address_the_embedded_database_is_meant() -> None:
    found = database_settings("", data_dir=SHALLOW, pool_size=5)

    assert (found["NAME"], found["HOST"]) == ("desk", "/srv/desk/run")
    assert found["OPTIONS"]["pool"]["max_size"] == 5
    assert found["OPTIONS"]["pool"]["check"] is check_connection


def test_an_address_of_a_database_is_taken_apart() -> None:
    found = database_settings(
        "postgresql://me:p%40ss@db.example:5433/desk?sslmode=require", data_dir=SHALLOW, pool_size=0
    )

    assert {key: found[key] for key in ("NAME", "USER", "PASSWORD", "HOST", "PORT", "OPTIONS")} == {
        "NAME": "desk",
        "USER": "me",
        "PASSWORD": "p@ss",
        "HOST": "db.example",
        "PORT": "5433",
        "OPTIONS": LOST_WITHIN | {"sslmode": "require"},
    }


def test_an_address_may_name_a_folder_of_sockets() -> None:
    found = database_settings("postgresql://me@/desk?host=/run/pg", data_dir=SHALLOW, pool_size=0)

    assert (found["HOST"], found["OPTIONS"]) == ("/run/pg", LOST_WITHIN)


@pytest.mark.parametrize("url", ["mysql://db/desk", "postgresql://db", "desk.sqlite3"])
def test_anything_but_a_postgresql_database_is_refused(url: str) -> None:
    with pytest.raises(ImproperlyConfigured, match="DATABASE_URL"):
        database_settings(url, data_dir=SHALLOW, pool_size=0)


@pytest.mark.parametrize(
    ("url", "for_redis", "for_celery"),
    [
        ("", "unix:///srv/desk/run/valkey.sock", "redis+socket:///srv/desk/run/valkey.sock"),
        ("unix:///v.sock?db=2", "unix:///v.sock?db=2", "redis+socket:///v.sock?virtual_host=2"),
        ("rediss://host:6380/1", "rediss://host:6380/1", "rediss://host:6380/1"),
    ],
)
def test_the_broker_is_named_as_each_library_reads_it(url: str, for_redis: str, for_celery: str) -> None:
    assert broker_url(url, data_dir=SHALLOW) == for_redis
    assert broker_url(url, data_dir=SHALLOW, celery=True) == for_celery


def test_anything_but_a_redis_address_is_refused() -> None:
    with pytest.raises(ImproperlyConfigured, match="REDIS_URL"):
        broker_url("amqp://host", data_dir=SHALLOW)


@pytest.mark.django_db
@pytest.mark.parametrize("were_just_checked", [False, True])
def test_after_a_restart_of_the_database_nobody_waits_for_the_dead_connections_one_by_one(
    were_just_checked: bool,
) -> None:
    dsn = psycopg.conninfo.make_conninfo(connection.connection.info.dsn, application_name="pool-check")
    with ConnectionPool(dsn, min_size=MANY, check=check_connection) as pool:
        pool.wait()
        if were_just_checked:
            for taken in [pool.getconn() for _ in range(MANY)]:
                pool.putconn(taken)
        with connection.cursor() as cursor:
            cursor.execute(STOP_ALL)
            assert cursor.rowcount == MANY
        # By its own check it would look at the fifth after 7 s.
        for _ in range(MANY):
            with pool.connection(timeout=5) as found:
                assert found.execute("SELECT 1").fetchone() == (1,)
