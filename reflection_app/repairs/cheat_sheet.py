"""The cheat sheet: what usually fails with each tool, and what helped. Counted by the database, in two queries."""

import json
import re
from dataclasses import dataclass
from datetime import datetime
from itertools import groupby
from typing import Any

from django.db import connection

from reflection_app.core.models import Project
from reflection_app.loops.diagnosis.diagnoses import ErrorType, changed_params, without_values
from reflection_app.repairs.models import FixPair, ToolFailure

MOST_ROWS = 300

# A pair is worth a row also where the failures that it came from are gone with their runs.
QUERY = """
WITH counted AS (
  SELECT tool, error_type, signature, count(*) AS times, max(created_at) AS last_seen
  FROM {failures} WHERE project_id = %(project)s AND error_type <> '' AND source <> 'none' {only}
  GROUP BY tool, error_type, signature
), best AS (
  SELECT DISTINCT ON (tool, error_type, signature)
    tool, error_type, signature, id, fix, action, symptoms, successes, failures
  FROM {pairs} WHERE project_id = %(project)s AND successes > 0 {only}
  ORDER BY tool, error_type, signature, {reliability} DESC, last_worked_at DESC NULLS LAST, id
)
SELECT tool, error_type, signature, coalesce(times, 0), last_seen, fix, action::text, symptoms::text,
  coalesce(successes, 0), coalesce(failures, 0)
FROM counted FULL JOIN best USING (tool, error_type, signature)
ORDER BY (id IS NULL), times DESC NULLS LAST, tool, error_type, signature
LIMIT %(most)s
"""
# The lower bound of the Wilson interval at 95 %, by which fixes are remembered, too (repairs/fix_pairs.py).
RELIABILITY = """(
  (successes + 1.9207 - 1.96 * sqrt(successes::float8 * failures / (successes + failures) + 0.9604))
  / (successes + failures + 3.8416)
)"""
ONLY = "AND strpos(lower(tool), lower(%(tool)s)) > 0"


@dataclass(frozen=True)
class CheatRow:
    """One usual failure of a tool. `fix` is one that worked where `is_proven`, else what was advised last.

    Values of parameters are in no part of it, since they may be secrets: of a change only the names are told.
    """

    tool: str
    error_type: ErrorType
    symptoms: tuple[str, ...]
    times: int
    last_seen: datetime | None
    fix: str
    changed: tuple[str, ...]
    is_proven: bool
    successes: int
    failures: int

    @property
    def tried(self) -> int:
        return self.successes + self.failures

    @property
    def success_share(self) -> float | None:
        return self.successes / self.tried if self.tried else None


@dataclass(frozen=True)
class CheatSheet:
    """The rows, those of one tool together, its usual failures first. `is_cut`: there are rarer ones beside them."""

    rows: tuple[CheatRow, ...]
    is_cut: bool = False

    @property
    def by_tool(self) -> list[tuple[str, list[CheatRow]]]:
        return [(tool, list(rows)) for tool, rows in groupby(self.rows, key=lambda row: row.tool)]


@dataclass(frozen=True)
class _Counted:
    tool: str
    error_type: str
    signature: str
    times: int
    last_seen: datetime | None
    fix: str | None
    action: str | None
    symptoms: str | None
    successes: int
    failures: int


def cheat_sheet(project: Project, *, tool: str = "") -> CheatSheet:
    """What is known of tools whose name contains `tool`."""
    only = ONLY if tool else ""
    query = QUERY.format(failures=_table(ToolFailure), pairs=_table(FixPair), only=only, reliability=RELIABILITY)
    with connection.cursor() as cursor:
        cursor.execute(query, {"project": project.pk, "tool": tool, "most": MOST_ROWS + 1})
        counted = [_Counted(*row) for row in cursor.fetchall()]
    # The newest failure of each row, found by the index over times.
    found = ToolFailure.objects.filter(project=project, created_at__in=[one.last_seen for one in counted])
    found = found.only("tool", "error_type", "signature", "params", "action", "symptoms")
    newest = {(row.tool, row.error_type, row.signature): row for row in found}
    rows = [_row(one, newest.get((one.tool, one.error_type, one.signature))) for one in counted[:MOST_ROWS]]
    rows.sort(key=lambda row: (row.tool.casefold(), row.tool, not row.is_proven, -row.times))
    return CheatSheet(rows=tuple(rows), is_cut=len(counted) > MOST_ROWS)


def _row(one: _Counted, newest: ToolFailure | None) -> CheatRow:
    action: dict[str, Any] = json.loads(one.action) if one.action else (newest and newest.action) or {}
    params = newest.params if newest else {}
    modified = action.get("modified_params")
    fix = one.fix or str(action.get("action", ""))
    symptoms = json.loads(one.symptoms) if one.symptoms else newest.symptoms if newest else []
    texts = [str(symptom) for symptom in symptoms] or [one.signature]
    fix, *texts = without_values([fix, *texts], params, modified)
    # A pair holds nothing but the parameters that it changes; advice holds those of a whole call.
    is_proven = one.fix is not None
    changed = list(modified or {}) if is_proven else [change.name for change in changed_params(params, modified)]
    return CheatRow(
        tool=one.tool,
        error_type=ErrorType(one.error_type),
        symptoms=tuple(texts),
        times=one.times,
        last_seen=one.last_seen,
        fix=fix,
        changed=tuple(changed),
        is_proven=is_proven,
        successes=one.successes,
        failures=one.failures,
    )


def _table(model: type[ToolFailure] | type[FixPair]) -> str:
    return connection.ops.quote_name(model._meta.db_table)  # noqa: SLF001 - Django's documented API


# The cheat sheet as Markdown: a table for each tool, to be put into an agent's prompt or a team's notes.

HEAD = "| Usual failure | Type | Seen | Fix | Worked |\n|---|---|---:|---|---|"
SPECIAL = re.compile(r"([\\`*_\[\]<>|#~])")
LONGEST_CELL = 300


def markdown_of(sheet: CheatSheet) -> str:
    """The whole sheet. Nothing that tools, agents or models said can end a cell or become markup."""
    parts = ["# Cheat sheet of tool failures"]
    for tool, rows in sheet.by_tool:
        lines = [f"## {_plain(tool)}\n", HEAD]
        for row in rows:
            symptoms = "; ".join(_plain(one) for one in row.symptoms)
            changed = f" ({', '.join(_plain(name) for name in row.changed)})" if row.changed else ""
            worked = f"{row.successes} of {row.tried}" if row.tried else "not proven"
            cells = (symptoms, row.error_type.value, str(row.times), _plain(row.fix) + changed, worked)
            lines.append(f"| {' | '.join(cells)} |")
        parts.append("\n".join(lines))
    if not sheet.rows:
        parts.append("Nothing is known yet.")
    return "\n\n".join(parts) + "\n"


def _plain(text: str) -> str:
    short = " ".join(text.split())
    short = short if len(short) <= LONGEST_CELL else short[: LONGEST_CELL - 1] + "…"
    return SPECIAL.sub(r"\\\1", short)
