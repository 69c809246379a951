"""The desk's migrations by name, as backups, exported projects and the database list them."""

from collections.abc import Iterable
from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# Of each app the last migration before today's first, which replaces it. All before it had lower numbers.
LAST_FORMER = {"notebook_app": "0005_screening_by_meaning", "reflection_app": "0036_recurring_by_meaning"}
# Every database that can be brought up to date has them on record, new ones too.
NEEDED = frozenset(f"{app}.{name}" for app, name in LAST_FORMER.items())


class NewerDatabase(Exception):
    """A newer version migrated the database; this version cannot use it."""

    def __init__(self, migration: str) -> None:
        super().__init__(
            f"The database was migrated by a newer version (migration {migration} is unknown here). "
            "Start that version or restore a backup."
        )


@cache
def _present() -> frozenset[str]:
    return frozenset(f"{app}.{name}" for app, name in MigrationLoader(None, ignore_no_migrations=True).disk_migrations)


def unknown_migrations(names: Iterable[str]) -> list[str]:
    """Return the migrations that only a newer version has, in order."""
    return sorted(name for name in set(names) - _present() if not _is_former(name))


def _is_former(migration: str) -> bool:
    app, _, name = migration.partition(".")
    return name[:4].isdigit() and name[:4] <= LAST_FORMER.get(app, "")[:4]


def check_database_is_not_newer(database: BaseDatabaseWrapper) -> None:
    """Raise NewerDatabase if a migration of our apps was applied that this version does not know."""
    applied = MigrationRecorder(database).applied_migrations()
    if unknown := unknown_migrations(f"{app}.{name}" for app, name in applied if app in LAST_FORMER):
        raise NewerDatabase(unknown[0])
