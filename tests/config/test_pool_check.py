import psycopg
import pytest
from django.db import connection
from psycopg_pool import ConnectionPool

from reflection_app.config.pool_check import check_connection

MANY = 6
STOP_ALL = "SELECT pg_terminate_backend(pid, 5000) FROM pg_stat_activity WHERE application_name = 'pool-check'"


@pytest.mark.django_db
def test_after_a_restart_of_the_database_nobody_waits_for_the_dead_connections_one_by_one() -> None:
    dsn = psycopg.conninfo.make_conninfo(connection.connection.info.dsn, application_name="pool-check")
    with ConnectionPool(dsn, min_size=MANY, check=check_connection) as pool:
        pool.wait()
        with connection.cursor() as cursor:
            cursor.execute(STOP_ALL)
            assert cursor.rowcount == MANY
        # By its own check it would look at the fifth after 7 s.
        for _ in range(MANY):
            with pool.connection(timeout=5) as found:
                assert found.execute("SELECT 1").fetchone() == (1,)
