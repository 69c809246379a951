"""The desk's migrations by name, as backups, exported projects and the database list them."""

from functools import cache

from django.db.backends.base.base import BaseDatabaseWrapper
from django.db.migrations.loader import MigrationLoader
from django.db.migrations.recorder import MigrationRecorder

# What the first migrations of today were before: of each app the last is the one that they replace.
FORMER = {
    "notebook_app": (
        "0001_initial",
        "0002_the_notebook",
        "0003_recalls_summed_apart",
        "0004_search_kept_in_the_row",
        "0005_screening_by_meaning",
    ),
    "reflection_app": (
        "0001_initial",
        "0002_tools_transcripts_and_forks",
        "0003_reflection_protocol",
        "0004_the_review_desk",
        "0005_notebook_and_reflectors",
        "0006_teams_and_pipelines",
        "0007_metrics",
        "0008_referee_measurements",
        "0009_the_engine_under_load",
        "0010_keys_are_no_people",
        "0011_what_is_unknown",
        "0012_broken_tests",
        "0013_first_password",
        "0001_squashed_0013_first_password",
        "0014_judged_by_meaning",
        "0015_runs_that_solve_tasks",
        "0016_agent_leases",
        "0017_notify",
        "0018_otel",
        "0019_find",
        "0020_datasets",
        "0021_handing_in",
        "0022_models",
        "0023_rubrics",
        "0024_dashboards",
        "0025_edited",
        "0026_saved_views",
        "0027_pairwise",
        "0028_media",
        "0029_demo",
        "0030_keys",
        "0031_produced_files",
        "0033_seen",
        "0034_supplements_by_worth",
        "0035_adaptive_checks",
        "0036_recurring_by_meaning",
    ),
}
# Every database that can be brought up to date has them on record, new ones too.
NEEDED = frozenset(f"{app}.{names[-1]}" for app, names in FORMER.items())


class NewerDatabase(Exception):
    """A newer version migrated the database; this version cannot use it."""

    def __init__(self, migration: str) -> None:
        super().__init__(
            f"The database was migrated by a newer version (migration {migration} is unknown here). "
            "Start that version or restore a backup."
        )


@cache
def known_migrations() -> frozenset[str]:
    """Those that this desk has or had; any other is of a newer one."""
    former = {f"{app}.{name}" for app, names in FORMER.items() for name in names}
    present = MigrationLoader(None, ignore_no_migrations=True).disk_migrations
    replaced = {f"{app}.{name}" for migration in present.values() for app, name in migration.replaces}
    return frozenset(former | replaced | {f"{app}.{name}" for app, name in present})


def check_database_is_not_newer(database: BaseDatabaseWrapper) -> None:
    """Raise NewerDatabase if a migration of our apps was applied that this version does not know."""
    applied = {f"{app}.{name}" for app, name in MigrationRecorder(database).applied_migrations() if app in FORMER}
    if unknown := sorted(applied - known_migrations()):
        raise NewerDatabase(unknown[0])
