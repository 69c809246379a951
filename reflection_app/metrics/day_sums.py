"""The sums by day, by the database: over the figures of the runs that finished on it."""

from collections.abc import Sequence
from datetime import date
from uuid import UUID

from django.db import connection

from reflection_app.metrics.definitions import SUMMED
from reflection_app.metrics.models.day_figures import DayCount, DayFigure, DaySpend
from reflection_app.metrics.models.run_figures import RunFigure, RunSpend

SPENT = ("calls", "prompt_tokens", "completion_tokens", "cost_usd", "unpriced_calls")
# What a row is of: one row for all of the day, and one for each combination of what can be asked for by.
KEYS = "project_id, is_total, day, is_scripted, agent, mode, model, kind"
GROUPED = """%(project)s, GROUPING(fact.agent) = 1, fact.finished_on, fact.is_scripted,
  coalesce(fact.agent, ''), coalesce(fact.mode, ''), coalesce(fact.model, ''), coalesce(fact.kind, '')"""
SETS = """GROUPING SETS (
  (fact.finished_on, fact.is_scripted),
  (fact.finished_on, fact.is_scripted, fact.agent, fact.mode, fact.model, fact.kind)
)"""
OF_THE_DAYS = "fact.project_id = %(project)s AND fact.finished_on = ANY(%(days)s)"

FIGURES = """
INSERT INTO {day_figures} ({keys}, {summed})
SELECT {grouped}, {sums} FROM {figures} fact WHERE {of_the_days} GROUP BY {sets}
"""
COUNTS = """
INSERT INTO {day_counts} ({keys}, family, key, count)
SELECT {grouped}, bar.family, bar.key, count(*)
FROM {figures} fact CROSS JOIN LATERAL ({bars}) bar
WHERE {of_the_days} AND fact.is_counted
GROUP BY bar.family, bar.key, {sets}
"""
SPEND = """
INSERT INTO {day_spend} ({keys}, role, spent_on, {spent})
SELECT {grouped}, spent.role, spent.spent_on, {sums_spent}
FROM {figures} fact JOIN {spend} spent ON spent.figure_id = fact.id
WHERE {of_the_days}
GROUP BY spent.role, spent.spent_on, {sets}
"""
# Every bar that a run belongs to. Those of one family are apart, but for failures, of which a run may have several.
BARS = """
  SELECT 'modes' AS family, fact.mode AS key
  UNION ALL SELECT 'agents', fact.agent
  UNION ALL SELECT 'models', fact.model
  UNION ALL SELECT 'kinds', fact.kind
  UNION ALL SELECT 'outcomes', fact.outcome
  UNION ALL SELECT 'referees', fact.referee WHERE fact.referee <> ''
  UNION ALL SELECT 'latency', fact.latency WHERE fact.latency <> ''
  UNION ALL SELECT 'attempts_to_success', fact.attempts_to_success::text WHERE fact.attempts_to_success > 0
  UNION ALL SELECT 'failures', unnest(fact.failures)
"""
TABLES = {
    "day_figures": DayFigure,
    "day_counts": DayCount,
    "day_spend": DaySpend,
    "figures": RunFigure,
    "spend": RunSpend,
}
WORDS = {
    "keys": KEYS,
    "grouped": GROUPED,
    "sets": SETS,
    "of_the_days": OF_THE_DAYS,
    "bars": BARS,
    "summed": ", ".join(SUMMED),
    "sums": ", ".join(f"sum(fact.{name})" for name in SUMMED),
    "spent": ", ".join(SPENT),
    "sums_spent": ", ".join(f"sum(spent.{name})" for name in SPENT),
}


def sum_days(project_id: UUID, days: Sequence[date]) -> None:
    """Works the sums of these days out anew. Call it in the transaction, and under the lock, that changes figures."""
    for model in (DayFigure, DayCount, DaySpend):
        model.objects.filter(project=project_id, day__in=days).delete()
    with connection.cursor() as cursor:
        for query in (FIGURES, COUNTS, SPEND):
            cursor.execute(in_sql(query), {"project": project_id, "days": list(days)})


def in_sql(query: str) -> str:
    """The query with the names of tables, and the words that queries over figures have in common."""
    names = {name: connection.ops.quote_name(model._meta.db_table) for name, model in TABLES.items()}  # noqa: SLF001
    return query.format(**names, **WORDS)
