"""Where the database and the broker are: the given URLs, else the sockets of the embedded engines."""

import hashlib
import logging
import math
import os
import select
import socket
import tempfile
import time
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, unquote, urlsplit
from weakref import WeakKeyDictionary

from django.core.exceptions import ImproperlyConfigured
from django.db import Error, connection
from psycopg import Connection
from psycopg_pool import ConnectionPool

from reflection_app.core.migrations import NewerDatabase, check_database_is_not_newer

# The connection that renews leases is not of the pool.
BESIDE_THE_POOL = 1
# When a connection of the pool last answered, on the monotonic clock.
CHECKED_AT: "WeakKeyDictionary[Connection[Any], float]" = WeakKeyDictionary()
CHECK_LASTS_S = 1.0
# A Unix socket's path may have 107 bytes; PostgreSQL adds 15 of its own. A deep checkout goes over that.
LONGEST_SOCKET_DIR = 80
# Connections that a network swallowed without a word are given up within a lease, not after TCP's quarter of an hour.
LOST_WITHIN = {
    "connect_timeout": "5",
    "keepalives_idle": "5",
    "keepalives_interval": "2",
    "keepalives_count": "2",
    "tcp_user_timeout": "8000",
}


def socket_dir(data_dir: Path) -> Path:
    """The folder of the embedded engines' sockets: in the data folder, or in the temporary one if that is too deep."""
    inside = data_dir.absolute() / "run"
    name = f"reflection-desk-{hashlib.sha256(str(inside).encode()).hexdigest()[:16]}"
    for candidate in (inside, Path(tempfile.gettempdir()) / name):
        if len(str(candidate).encode()) <= LONGEST_SOCKET_DIR:
            return candidate
    return Path("/tmp") / name  # noqa: S108 - private_folder() refuses one that somebody else made


def _has_news(connection: Connection[Any]) -> bool:
    poll = select.poll()
    poll.register(connection.fileno(), select.POLLIN)
    return bool(poll.poll(0))


def check_connection(connection: Connection[Any]) -> None:
    """Raises what the driver raises where the connection has died; then the pool's idle ones are replaced, too.

    With a restart of PostgreSQL all die at once. The pool itself looks at one after the other and pauses in between for
    1, 2, 4 and 8 seconds: with five dead ones whoever asks gets none in time.

    A run takes a connection six times. One that was checked a moment ago costs no trip, unless the server has sent
    something since: it does when it closes the connection.
    """
    now = time.monotonic()
    is_fresh = now < CHECKED_AT.get(connection, -math.inf) + CHECK_LASTS_S
    try:
        if is_fresh and not _has_news(connection):
            return
        ConnectionPool.check_connection(connection)
        CHECKED_AT[connection] = now
    except Exception:
        pool = connection._pool  # noqa: SLF001 - nothing else tells it to a check
        if isinstance(pool, ConnectionPool):
            pool.drain()
        raise


def database_settings(url: str, *, data_dir: Path, pool_size: int) -> dict[str, Any]:
    """Django's settings for `url`, or for the embedded PostgreSQL where it is empty; a pool unless its size is 0.

    Raises ImproperlyConfigured for anything but a PostgreSQL address.
    """
    # `"pool": True` would mean four connections. Pooled connections and CONN_MAX_AGE exclude each other.
    pool: dict[str, Any] = {}
    if pool_size:
        # What could not connect is given up soon: the next request then tries anew, and not minutes after an outage.
        given_up_s = {"timeout": 10, "reconnect_timeout": 2}
        pool["pool"] = {"min_size": 1, "max_size": pool_size, "check": check_connection, **given_up_s}
        pool["application_name"] = _name_of_process()
    common: dict[str, Any] = {
        "ENGINE": "django.db.backends.postgresql",
        "CONN_MAX_AGE": 0,
        "OPTIONS": pool,
    }
    if not url:
        _rename_after_fork(pool)
        return common | {"NAME": "desk", "USER": "postgres", "HOST": str(socket_dir(data_dir))}
    parts = urlsplit(url)
    if parts.scheme not in {"postgres", "postgresql"} or not parts.path.strip("/"):
        raise ImproperlyConfigured("DATABASE_URL must look like postgresql://user:password@host:5432/name")
    query = LOST_WITHIN | dict(parse_qsl(parts.query))
    host = query.pop("host", parts.hostname or "")
    options = common["OPTIONS"] | query
    _rename_after_fork(options)
    return common | {
        "NAME": unquote(parts.path.strip("/")),
        "USER": unquote(parts.username or ""),
        "PASSWORD": unquote(parts.password or ""),
        "HOST": host,
        "PORT": str(parts.port or ""),
        "OPTIONS": options,
    }


def _name_of_process() -> str:
    return f"reflection-desk {os.getpid()} {socket.gethostname()}"


def _rename_after_fork(options: dict[str, Any]) -> None:
    """The connections of a forked process bear its own number. A name of the operator's choosing stays."""
    if options.get("application_name") == _name_of_process():
        os.register_at_fork(after_in_child=lambda: options.update(application_name=_name_of_process()))


def broker_url(url: str, *, data_dir: Path, celery: bool = False) -> str:
    """`url`, or the embedded Valkey's socket in the form that redis-py (or, with `celery`, kombu) reads.

    Raises ImproperlyConfigured for a scheme that is not Redis's.
    """
    if not url:
        scheme = "redis+socket" if celery else "unix"
        return f"{scheme}://{socket_dir(data_dir) / 'valkey.sock'}"
    scheme = urlsplit(url).scheme
    if scheme not in {"redis", "rediss", "unix"}:
        raise ImproperlyConfigured("REDIS_URL must begin with redis://, rediss:// or unix://")
    if celery and scheme == "unix":
        # kombu's names for the same two things
        return url.replace("unix://", "redis+socket://", 1).replace("?db=", "?virtual_host=")
    return url


log = logging.getLogger(__name__)


def exit_if_database_is_newer() -> None:
    """Exit with the reason if a newer version migrated the database. Return if the database does not answer.

    Uses an unpooled connection, since the pool waits for a server that is away.
    """
    own = connection.copy()
    own.settings_dict["OPTIONS"] = {"connect_timeout": "2"} | {
        name: value for name, value in own.settings_dict["OPTIONS"].items() if name != "pool"
    }
    try:
        check_database_is_not_newer(own)
    except NewerDatabase as problem:
        raise SystemExit(str(problem)) from None
    except Error as problem:
        log.info("the database's version could not be checked: %s", problem)
    finally:
        own.close()
