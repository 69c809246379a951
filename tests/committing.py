"""Commits inside a test that is rolled back: what waits for a commit runs, as it would in life.

Django runs no callback of `on_commit` inside the transaction of a test. Without this, a test of what follows a commit
would have to commit for real, and to empty all tables afterwards. Only what another thread or process has to see does.
"""

from collections.abc import Callable, Iterator
from typing import Any
from unittest.mock import patch

import pytest
from django.db import connection
from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.transaction import Atomic


@pytest.fixture
def committing(db: None) -> Iterator[None]:
    """Run callbacks of `on_commit` when the outermost transaction of the code under test ends."""
    of_test = len(connection.atomic_blocks)
    leave, wait = Atomic.__exit__, BaseDatabaseWrapper.on_commit

    def leave_and_run(self: Atomic, *error: Any) -> None:
        leave(self, *error)
        if len(connection.atomic_blocks) == of_test:
            callbacks, connection.run_on_commit = connection.run_on_commit, []
            for _, callback, *_ in callbacks:
                callback()

    def run_or_wait(self: BaseDatabaseWrapper, callback: Callable[[], object], robust: bool = False) -> None:
        if len(self.atomic_blocks) == of_test:
            callback()
        else:
            wait(self, callback, robust)

    with patch.object(Atomic, "__exit__", leave_and_run), patch.object(BaseDatabaseWrapper, "on_commit", run_or_wait):
        yield
