"""An empty database for a command that measures, so that nothing of a desk is read or touched."""

import asyncio
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from django.core.management import call_command
from django.db import connection

from reflection_app.config.services import database_settings
from reflection_app.config.up.engines import running_postgres


@contextmanager
def throwaway_database() -> Iterator[None]:
    """While inside, this process's database is an embedded one, migrated and empty; it is gone afterwards.

    Raises EmbeddedEngineError where there is no embedded PostgreSQL or it does not start.
    """
    before = dict(connection.settings_dict)
    with tempfile.TemporaryDirectory(prefix="desk-measures-") as folder, asyncio.Runner() as runner:
        server = running_postgres(Path(folder))
        runner.run(server.__aenter__())
        try:
            connection.close()
            connection.settings_dict.update(database_settings("", data_dir=Path(folder), pool_size=0))
            call_command("migrate", verbosity=0)
            yield
        finally:
            connection.close()
            connection.settings_dict.update(before)
            runner.run(server.__aexit__(None, None, None))
