"""Whether pool, threads and PostgreSQL fit each other, told in the log of each web server and worker as it starts.

A process can count those of the whole desk, in whichever containers they are: the connections of each have its name.
"""

import logging
import math
import threading

from django.conf import settings
from django.db import Error, connection

from reflection_app.config.services import NAMES_OF_CONNECTIONS

log = logging.getLogger(__name__)

# A thread holds none during a model's call or a sandbox's run: the load tests hold with 64 threads on 20.
MOST_THREADS_A_CONNECTION = 4
# The one that renews leases is not of the pool.
BESIDE_THE_POOL = 1
# Of other roles' sessions a role without rights is shown neither kind nor name, only that they are of a database.
COUNT = """
SELECT count(DISTINCT application_name) FILTER (WHERE starts_with(application_name, %(names)s)),
       count(*) FILTER (
         WHERE NOT starts_with(COALESCE(application_name, ''), %(names)s)
           AND NOT starts_with(COALESCE(application_name, ''), %(keeper)s)
       ),
       current_setting('max_connections')::int,
       current_setting('superuser_reserved_connections')::int + current_setting('reserved_connections')::int
FROM pg_stat_activity WHERE datname IS NOT NULL AND COALESCE(backend_type, 'client backend') = 'client backend'
"""


def misfit_of_threads(*, threads: int, pool: int) -> str:
    """What is wrong with so many threads on a pool of this size, and what to set; nothing where they fit."""
    if threads <= pool * MOST_THREADS_A_CONNECTION:
        return ""
    return (
        f"{threads} threads share {pool} database connections, and give up after 10 s of waiting for one: set "
        f"DATABASE_POOL_SIZE to {math.ceil(threads / MOST_THREADS_A_CONNECTION)} or more, or WORKER_CONCURRENCY "
        f"(a worker's -c) to {pool * MOST_THREADS_A_CONNECTION} or less."
    )


def misfit_of_server(*, processes: int, pool: int, most: int, reserved: int, others: int) -> str:
    """What is wrong with so many processes on a server that has `most` connections; nothing where they fit."""
    wanted, room = processes * (pool + BESIDE_THE_POOL), most - reserved - others
    if wanted <= room:
        return ""
    return (
        f"The desk's {processes} processes may take {wanted} database connections ({processes} times "
        f"DATABASE_POOL_SIZE={pool} and {BESIDE_THE_POOL}), and PostgreSQL has {room} for them "
        f"(max_connections={most}, {reserved} reserved, {others} taken by others): raise max_connections to "
        f"{wanted + reserved + others} or more, or set DATABASE_POOL_SIZE to "
        f"{max(1, room // processes - BESIDE_THE_POOL)} or less."
    )


def warn_beside(*, threads: int = 0) -> None:
    """Warns of what does not fit, from a thread of its own: a server that is away must keep nobody from starting."""
    threading.Thread(target=warn, kwargs={"threads": threads}, name="count-connections", daemon=True).start()


def warn(*, threads: int) -> None:
    """Warns of what does not fit this process of so many threads, as far as the database can be asked."""
    # Models are not there yet where this module is imported.
    from reflection_app.runs.lease import KEEPER

    pool = settings.DATABASE_POOL_SIZE
    if not pool:
        return
    misfits = [misfit_of_threads(threads=threads, pool=pool)]
    try:
        with connection.cursor() as cursor:
            cursor.execute(COUNT, {"names": NAMES_OF_CONNECTIONS, "keeper": KEEPER})
            processes, others, most, reserved = cursor.fetchone()
        misfits.append(misfit_of_server(processes=processes, pool=pool, most=most, reserved=reserved, others=others))
    except Error as problem:
        log.info("connections could not be counted: %s", problem)
    finally:
        connection.close()
    for misfit in filter(None, misfits):
        log.warning("%s", misfit)
