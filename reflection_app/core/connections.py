"""Give the thread's database connection back while the thread does something else."""

from collections.abc import Iterator
from contextlib import contextmanager

from django.db import connection


@contextmanager
def released() -> Iterator[None]:
    """Return the thread's connection to the pool on entry and on exit. Does nothing inside a transaction.

    Wrap slow work in it, so that other threads can have the connection meanwhile. Wrap what a thread without a request
    reads in it, since nobody else closes its connection. Queries are allowed inside.
    """
    _release()
    try:
        yield
    finally:
        _release()


def _release() -> None:
    # A transaction, also that of a test, would be lost with its connection.
    if not connection.in_atomic_block:
        connection.close()
