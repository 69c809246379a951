"""The ids of what is found, the best first, in time that does not grow with how much there is.

A common word is in most rows, and to sort them all by their age takes long; a rare one is in few, which the newest rows
need not hold. So the newest are looked through first, and only what these do not fill is asked of the index. PostgreSQL
does not choose between the two well: it knows how common a word is, not which words stand together.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import IntEnum
from typing import Any
from uuid import UUID

from django.db import connection
from django.db.models import QuerySet

from notebook_app.public import Lexemes
from reflection_app.reviews.models import OPEN
from reflection_app.search.asking import Asked, read_asked
from reflection_app.search.models import Indexed, SearchRow

# So many of the newest are looked through.
NEWEST = 500


class Match(IntEnum):
    """How well something fits, the best first."""

    EXACT = 0
    BEGINNING = 1
    WORDS = 2


@dataclass(frozen=True)
class Found:
    """Ids with how well each fits, the best first and of equals the newest; `total` at least, where `is_counted` is
    false."""

    rows: tuple[tuple[UUID, Match], ...] = ()
    total: int = 0
    is_counted: bool = True


# Both statements take kinds with three queries each, and answer a kind's best rows with how many there are of each
# fit, and whether there are rows that were not looked at.
WANTED = """
unnest(%(kinds)s::text[], %(exact)s::text[], %(begun)s::text[], %(every)s::text[]) AS wanted(kind, exact, begun, every)
CROSS JOIN LATERAL (
  SELECT wanted.exact::tsquery, wanted.begun::tsquery, wanted.every::tsquery
) AS query(exact, begun, every)
"""
RANKED = """
SELECT id, rank, count(*) FILTER (WHERE rank = 0) OVER () AS exact, count(*) FILTER (WHERE rank <= 1) OVER () AS begun,
  count(*) OVER () AS many
FROM (
  SELECT id, created_at, CASE WHEN words @@ query.exact THEN 0 WHEN words @@ query.begun THEN 1 ELSE 2 END AS rank
  FROM {rows}
) AS ranked ORDER BY rank, created_at DESC, id DESC LIMIT %(limit)s
"""
AMONG_NEWEST = f"""
SELECT wanted.kind, found.id, found.rank, found.exact, found.begun, found.many, EXISTS (
  SELECT FROM reflection_app_searchrow WHERE project_id = %(project)s AND kind = wanted.kind
  ORDER BY created_at DESC, id DESC OFFSET %(newest)s
)
FROM {WANTED} LEFT JOIN LATERAL ({
    RANKED.format(
        rows='''(
  SELECT id, created_at, words FROM reflection_app_searchrow WHERE project_id = %(project)s AND kind = wanted.kind
  ORDER BY created_at DESC, id DESC LIMIT %(newest)s
) AS newest WHERE words @@ query.every'''
    )
}) AS found ON true
"""  # noqa: S608 — of texts that stand above
# That the queries are columns of another table keeps PostgreSQL from guessing that a walk through all is quicker. Two
# projects may share a mark: their rows are told apart afterwards, where no second index can be brought into it.
IN_ALL = f"""
SELECT wanted.kind, found.id, found.rank, found.exact, found.begun, found.many, false
FROM {WANTED} LEFT JOIN LATERAL ({
    RANKED.format(
        rows='''(
  SELECT id, created_at, words, project_id FROM reflection_app_searchrow WHERE words @@ query.every OFFSET 0
) AS marked WHERE project_id = %(project)s'''
    )
}) AS found ON true
"""  # noqa: S608 — of texts that stand above


def find(project_id: UUID, asked: Asked, *, kinds: Sequence[Indexed], limit: int) -> dict[Indexed, Found]:
    """What of these kinds has the name or the words."""
    queries = {kind: _queries(project_id, asked, kind) for kind in kinds}
    if not asked.words:
        # Few go by just this name, and all of them by the index.
        by_name = _run(IN_ALL, project_id, queries, limit=limit)
        return {kind: Found(one.rows, one.many) for kind, one in by_name.items()}
    found = _run(AMONG_NEWEST, project_id, queries, limit=limit)
    rest = {}
    for kind, (exact, begun, every) in queries.items():
        among = found[kind]
        if among.is_all or among.exact >= limit:
            continue
        # Only what fits better than what was found can change it.
        if among.begun >= limit:
            rest[kind] = (exact, exact, exact)
        else:
            rest[kind] = (exact, begun, begun if among.many >= limit else every)
    older = _run(IN_ALL, project_id, rest, limit=limit) if rest else {}
    answer = {}
    for kind in kinds:
        among = found[kind]
        if kind not in rest:
            answer[kind] = Found(among.rows[:limit], among.many, is_counted=among.is_all)
            continue
        rows = sorted(dict((*among.rows, *older[kind].rows)).items(), key=lambda row: row[1])
        is_whole = rest[kind][2] == queries[kind][2]
        total = older[kind].many if is_whole else among.many
        answer[kind] = Found(tuple(rows[:limit]), total, is_counted=is_whole)
    return answer


@dataclass(frozen=True)
class _Looked:
    rows: tuple[tuple[UUID, Match], ...] = ()
    exact: int = 0
    begun: int = 0
    many: int = 0
    is_all: bool = True


def _run(
    sql: str, project_id: UUID, queries: Mapping[Indexed, tuple[str, str, str]], *, limit: int
) -> dict[Indexed, _Looked]:
    exact, begun, every = zip(*queries.values(), strict=True)
    parameters: dict[str, Any] = {
        "project": project_id,
        "newest": NEWEST,
        "limit": limit,
        "kinds": [kind.value for kind in queries],
    }
    with connection.cursor() as cursor:
        cursor.execute(sql, parameters | {"exact": list(exact), "begun": list(begun), "every": list(every)})
        rows = cursor.fetchall()
    found = {}
    for kind in queries:
        own = [row[1:] for row in rows if row[0] == kind.value]
        ids = tuple((one, Match(rank)) for one, rank, *_ in own if one is not None)
        _id, _rank, has_exact, has_begun, many, has_more = own[0]
        found[kind] = _Looked(ids, has_exact or 0, has_begun or 0, many or 0, is_all=not has_more)
    return found


# The same of the reviews that wait, which are few, and are found by what their task is found by.
WAITING = """
SELECT id, rank, count(*) OVER () FROM (
  SELECT review.id, review.created_at,
    CASE WHEN words @@ query.exact THEN 0 WHEN words @@ query.begun THEN 1 ELSE 2 END AS rank
  FROM (SELECT %(exact)s::tsquery AS exact, %(begun)s::tsquery AS begun, %(every)s::tsquery AS every OFFSET 0) AS query,
    reflection_app_review AS review
    JOIN reflection_app_run AS run ON run.id = review.run_id
    JOIN reflection_app_searchrow AS said ON said.id = run.task_id
  WHERE review.project_id = %(project)s AND review.state = ANY(%(open)s) AND said.words @@ query.every
) AS ranked ORDER BY rank, created_at DESC, id DESC LIMIT %(limit)s
"""


def find_waiting(project_id: UUID, asked: Asked, *, limit: int) -> Found:
    """The reviews that wait whose task has the name or the words."""
    exact, begun, every = _queries(project_id, asked, Indexed.TASK)
    parameters: dict[str, Any] = {"project": project_id, "open": [state.value for state in OPEN], "limit": limit}
    with connection.cursor() as cursor:
        cursor.execute(WAITING, parameters | {"exact": exact, "begun": begun, "every": every})
        rows = cursor.fetchall()
    return Found(tuple((one, Match(rank)) for one, rank, _many in rows), rows[0][2] if rows else 0)


def _queries(project_id: UUID, asked: Asked, kind: Indexed) -> tuple[str, str, str]:
    return asked.exactly(project_id, kind), asked.begun(project_id, kind), asked.anyhow(project_id, kind)


def ids_with_words(project_id: UUID, typed: str, *, kind: Indexed) -> QuerySet[SearchRow, UUID]:
    """The ids of all rows of the kind that a search finds by their names and words, for the filter of a list."""
    asked = read_asked(typed)
    rows = SearchRow.objects.filter(project=project_id, kind=kind)
    found = rows.filter(words=Lexemes(asked.anyhow(project_id, kind))) if asked else rows.none()
    return found.values_list("pk", flat=True)
