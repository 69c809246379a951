"""Bring the database and the static files to this version: the first process of `manage.py up`."""

import sys
from typing import Any

from django.core.management import call_command
from django.core.management.base import BaseCommand
from django.db import OperationalError, ProgrammingError, connections
from django.db.backends.postgresql.base import DatabaseWrapper
from django.db.migrations.executor import MigrationExecutor

from reflection_app.config.static_files import collect_static
from reflection_app.config.up.backup import remove_interrupted_restore
from reflection_app.core.migrations import NewerDatabase, check_database_is_not_newer


class Command(BaseCommand):
    help = "Bring the database and the static files to this version. `manage.py up` runs it."
    requires_system_checks = ()

    def handle(self, *args: Any, **options: Any) -> None:
        remove_interrupted_restore()
        try:
            self._migrate()
        except NewerDatabase as problem:
            self._give_up(str(problem))
        except (OperationalError, ProgrammingError) as problem:
            self._give_up(f"The database cannot be used: {' '.join(str(problem).split())}")
        collect_static()

    def _migrate(self) -> None:
        """Bring the tables to this version. Checking that is quick; `migrate` with nothing to do is not."""
        database = connections["default"]
        assert isinstance(database, DatabaseWrapper)
        check_database_is_not_newer(database)
        executor = MigrationExecutor(database)
        if executor.migration_plan(executor.loader.graph.leaf_nodes()):
            self.stderr.write("bringing the database up to date")
            call_command("migrate", verbosity=0, interactive=False)

    def _give_up(self, reason: str) -> None:
        """Exit with the reason on standard output, which `manage.py up` repeats as its last line."""
        self.stdout.write(reason)
        sys.exit(1)
