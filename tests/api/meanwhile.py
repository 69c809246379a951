"""Something that happens while a call waits."""

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

from django.db import connections

from tests.api.caller import Answer
from tests.pace import PATIENCE_S


def meanwhile(call: Callable[[], Answer], happens: Callable[[], object]) -> Answer:
    """The answer to `call`, made by a thread of its own."""

    def work() -> Answer:
        try:
            return call()
        finally:
            connections.close_all()

    with ThreadPoolExecutor(1) as pool:
        answer = pool.submit(work)
        happens()
        return answer.result(PATIENCE_S)
