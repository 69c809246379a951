"""What entries did to first attempts lately, found quickly: for the order of recall, no claim (see lift_list.py)."""

from collections.abc import Iterable
from uuid import UUID

from django.db import connection

from notebook_app.ranking import lift_of

NEWEST = 200
OUTCOMES = """
SELECT asked.id,
    count(*) FILTER (WHERE NOT newest.is_withheld), count(*) FILTER (WHERE NOT newest.is_withheld AND newest.succeeded),
    count(*) FILTER (WHERE newest.is_withheld), count(*) FILTER (WHERE newest.is_withheld AND newest.succeeded)
FROM unnest(%s::uuid[]) AS asked (id), LATERAL (
    SELECT is_withheld, succeeded FROM notebook_app_exposure
    WHERE project_id = %s AND entry_id = asked.id AND is_counted AND succeeded IS NOT NULL
    ORDER BY settled_at DESC, id DESC LIMIT %s
) AS newest
GROUP BY asked.id
"""


def lifts_lately(project_id: UUID, entry_ids: Iterable[UUID]) -> dict[UUID, float]:
    """By how much attempts go better with each of these entries, from -1 to 1; without what nothing is known of."""
    with connection.cursor() as cursor:
        cursor.execute(OUTCOMES, [list(entry_ids), project_id, NEWEST])
        return {
            row[0]: lift_of(given=row[1], helped=row[2], withheld=row[3], succeeded_without=row[4])
            for row in cursor.fetchall()
        }
