"""How common words are in a project: what few entries have tells more, and is quicker to look up.

Counted over the newest entries, which is exact for a small project. Kept in this process for a while.
"""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from math import log
from uuid import UUID

from django.db import connection

from notebook_app.models import Entry

SAMPLE = 1_000
KEPT_FOR_S = 300.0
# A small project is counted quickly, and changes much with each entry.
SMALL_KEPT_FOR_S = 15.0
MOST_KEPT = 100
COUNT = """
SELECT lexeme, count(*) FROM (
    SELECT search FROM notebook_app_entry WHERE project_id = %s AND search IS NOT NULL
    ORDER BY created_at DESC, id DESC LIMIT %s
) AS newest, unnest(tsvector_to_array(search)) AS lexeme
GROUP BY lexeme HAVING count(*) > 1
"""


@dataclass(frozen=True)
class WordShares:
    """How many of `looked_at` entries have each lexeme, where more than one has; the project has `total` entries."""

    counts: Mapping[str, int]
    looked_at: int
    total: int

    def share(self, lexeme: str) -> float:
        """Which part of the entries has it, rather too high than too low."""
        return self.counts.get(lexeme, 1) / max(1, self.looked_at)

    def weight(self, lexeme: str) -> float:
        """How much it tells that an entry has it (BM25's inverse document frequency)."""
        having = self.counts.get(lexeme, 1)
        return log(1 + (max(self.looked_at, having) - having + 0.5) / (having + 0.5))


_kept: dict[UUID, tuple[float, WordShares]] = {}


def word_shares(project_id: UUID) -> WordShares:
    """The project's, a few minutes old at most."""
    found = _kept.get(project_id)
    if found is not None and time.monotonic() < found[0]:
        return found[1]
    shares = _count(project_id)
    while len(_kept) >= MOST_KEPT:
        _kept.pop(next(iter(_kept), project_id), None)
    kept_for_s = KEPT_FOR_S if shares.total > SAMPLE else SMALL_KEPT_FOR_S
    _kept[project_id] = (time.monotonic() + kept_for_s, shares)
    return shares


def _count(project_id: UUID) -> WordShares:
    total = Entry.objects.filter(project_id=project_id).count()
    with connection.cursor() as cursor:
        cursor.execute(COUNT, [project_id, SAMPLE])
        counts = dict(cursor.fetchall())
    return WordShares(counts, looked_at=min(total, SAMPLE), total=total)
