"""Doing things at the same time, each on a database connection of its own."""

from collections.abc import Callable, Iterable
from concurrent.futures import ThreadPoolExecutor

from django.db import connection


def at_once[T, R](act: Callable[[T], R], given: Iterable[T], *, threads: int) -> list[R]:
    """What `act` returns for each; raises what any of them raises."""

    def one(item: T) -> R:
        try:
            return act(item)
        finally:
            connection.close()

    with ThreadPoolExecutor(threads) as pool:
        return list(pool.map(one, given))
