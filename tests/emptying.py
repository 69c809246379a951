"""Emptying the database after a test that committed, in one round trip.

Django's own `flush` truncates every table, which makes new files for each, and then makes all permissions anew: a
tenth of a second and more for tables that hold a few rows or none. What migrations put there stays here.
"""

from functools import cache

from django.db import connections
from django.test import TransactionTestCase

# A thread or process that a test left behind may hold locks. Waiting for it would last for ever.
LONGEST_S = 120
KEPT = frozenset({"django_migrations", "django_content_type", "auth_permission"})


def empty_databases(case: TransactionTestCase) -> None:
    """Deletes all rows but those of migrations, whatever refers to whatever."""
    for name in case._databases_names(include_mirrors=False):  # type: ignore[attr-defined]
        with connections[name].cursor() as cursor:
            cursor.execute(_deletions(name))


@cache
def _deletions(name: str) -> str:
    connection = connections[name]
    tables = [table for table in connection.introspection.django_table_names() if table not in KEPT]
    deletions = "; ".join(f"DELETE FROM {connection.ops.quote_name(table)}" for table in tables)
    # As a replica the session fires no trigger of a foreign key, so the order does not matter.
    settings = f"SET session_replication_role = replica; SET lock_timeout = '{LONGEST_S}s'"
    return f"{settings}; {deletions}; RESET session_replication_role; RESET lock_timeout"
