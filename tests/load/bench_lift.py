"""Prints what the lift of all lessons of a project takes, medians, in a database with another project as large.

.venv/bin/python -m tests.load.bench_lift [LESSONS] [EXPOSURES OF EACH] [ROUNDS]
"""

import sys
from uuid import UUID, uuid4

from tests.load.bench_cheat_sheet import median
from tests.load.engines import django_on_own_engines
from tests.load.machine import describe_machine

GOAL_MS = 1_000.0
SHARE = 0.1
# One in ten helps, one in ten harms, by 20 points; the others do nothing.
FILL = """
    INSERT INTO notebook_app_exposure (id, project_id, entry_id, entry_version, subject, is_counted, share, draw,
        is_withheld, rank, score, succeeded, settled_at, created_at)
    SELECT gen_random_uuid(), %(project)s, drawn.id, 1, 'run ' || drawn.run, TRUE, %(share)s, drawn.draw,
        drawn.draw < %(share)s, 1, 0.5,
        random() < 0.5 + CASE WHEN drawn.draw < %(share)s THEN 0 ELSE drawn.effect END,
        now() - (%(runs)s - drawn.run) * interval '1 minute', now() - (%(runs)s - drawn.run) * interval '1 minute'
    FROM (
        SELECT entry.id, run, random() AS draw,
            CASE entry.number %% 10 WHEN 0 THEN 0.2 WHEN 1 THEN -0.2 ELSE 0 END AS effect
        FROM generate_series(1, %(runs)s) run
        CROSS JOIN (
            SELECT id, row_number() OVER (ORDER BY id) AS number
            FROM notebook_app_entry WHERE project_id = %(project)s
        ) entry
    ) drawn
"""


def main() -> None:
    lessons, runs, rounds = (
        int(sys.argv[number]) if len(sys.argv) > number else usual for number, usual in ((1, 1_000), (2, 1_000), (3, 5))
    )
    with django_on_own_engines({}):
        measure(lessons, runs, rounds=rounds)


def measure(lessons: int, runs: int, *, rounds: int) -> None:
    from notebook_app.lift_list import lift_of_all

    mine, other = uuid4(), uuid4()
    for project_id in (mine, other):
        fill(project_id, lessons=lessons, runs=runs)
    found = lift_of_all(mine)
    says = [one.claim.value for one in found]
    print(describe_machine())
    print(f"{lessons:,} lessons with {runs:,} exposures each; goal {GOAL_MS:g} ms")
    print(f"lift of all lessons  median {median(lambda: lift_of_all(mine), rounds):8.1f} ms")
    print("claims: " + ", ".join(f"{claim} {says.count(claim)}" for claim in sorted(set(says))))


def fill(project_id: UUID, *, lessons: int, runs: int) -> None:
    """Approved lessons and their exposures, in the order in which they would have come."""
    from django.db import connection

    from notebook_app.models import Entry

    Entry.objects.bulk_create(
        Entry(
            project_id=project_id,
            kind="lesson",
            state="approved",
            name=f"Lesson {number}",
            source=f"lesson {number}",
            fingerprint=f"{number:064}",
        )
        for number in range(lessons)
    )
    with connection.cursor() as cursor:
        cursor.execute(FILL, {"project": project_id, "share": SHARE, "runs": runs})
        cursor.execute("VACUUM ANALYZE notebook_app_exposure")


if __name__ == "__main__":
    main()
