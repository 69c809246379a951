"""Whether a connection of the pool still works, asked before each use."""

from typing import Any

from psycopg import Connection
from psycopg_pool import ConnectionPool


def check_connection(connection: Connection[Any]) -> None:
    """Raises what the driver raises where the connection has died; then the pool's idle ones are replaced, too.

    With a restart of PostgreSQL all die at once. The pool itself looks at one after the other and pauses in between for
    1, 2, 4 and 8 seconds: with five dead ones whoever asks gets none in time.
    """
    try:
        ConnectionPool.check_connection(connection)
    except Exception:
        pool = connection._pool  # noqa: SLF001 - nothing else tells it to a check
        if isinstance(pool, ConnectionPool):
            pool.drain()
        raise
