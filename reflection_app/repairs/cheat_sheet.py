"""The cheat sheet: what usually fails with each tool, and what helped. Counted by the database, in two queries."""

from collections.abc import Mapping
from typing import Any

from django.db.models import Count, Max
from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer
from reflection_app.core.models import Project
from reflection_app.loops.diagnosis.diagnoses import ErrorType, changed_params, without_values
from reflection_app.repairs.fix_pairs import reliability
from reflection_app.repairs.models import FixPair, ToolFailure

MOST_ROWS = 300
KIND = ("tool", "error_type", "signature")


class CheatRowAnswer(Answer):
    """A common failure of a tool and its fix. Parameters are listed by name, never with their values."""

    tool: str
    error_type: ErrorType
    usual_failure: list[str] = Field(description="symptoms of the failure")
    times_seen: int
    last_seen: AwareDatetime | None
    fix: str
    changed_params: list[str]
    is_proven: bool = Field(description="whether the fix has worked; if false, it is the latest advice")
    successes: int
    failures: int
    success_share: float | None

    @property
    def tried(self) -> int:
        return self.successes + self.failures


class CheatSheetAnswer(Answer):
    """The rows, grouped by tool."""

    rows: list[CheatRowAnswer]
    is_cut: bool = Field(description="whether rarer failures were left out; filter by tool to see them")


def cheat_sheet(project: Project, *, tool: str = "") -> CheatSheetAnswer:
    """Return what is known of tools whose name contains `tool`: proven fixes first, then the most usual failures.

    A pair is a row also where the failures that it came from are deleted with their runs.
    """
    only = {"project": project} | ({"tool__icontains": tool} if tool else {})
    seen = ToolFailure.objects.filter(**only).exclude(error_type="").exclude(source="none").order_by()
    counted: dict[tuple[str, ...], Mapping[str, Any]] = {
        tuple(one[name] for name in KIND): one
        for one in seen.values(*KIND).annotate(times=Count("*"), last_seen=Max("created_at")).order_by("-times", *KIND)
    }
    best: dict[Any, FixPair] = {}
    for pair in FixPair.objects.filter(**only, successes__gt=0).defer("learned").order_by("last_worked_at", "id"):
        kind = (pair.tool, pair.error_type, pair.signature)
        best[kind] = max(pair, best.get(kind, pair), key=reliability)
    proven = sorted(best, key=lambda kind: -counted.get(kind, {}).get("times", 0))
    kinds = [*proven, *(kind for kind in counted if kind not in best)]
    shown = kinds[:MOST_ROWS]
    # The newest failure of each row, found by the index over times.
    times = [counted[kind]["last_seen"] for kind in shown if kind in counted]
    found = ToolFailure.objects.filter(project=project, created_at__in=times).only(
        *KIND, "params", "action", "symptoms"
    )
    newest = {(row.tool, row.error_type, row.signature): row for row in found}
    rows = [_row(kind, counted.get(kind, {}), best.get(kind), newest.get(kind)) for kind in shown]
    rows.sort(key=lambda row: (row.tool.casefold(), row.tool, not row.is_proven, -row.times_seen))
    return CheatSheetAnswer(rows=rows, is_cut=len(kinds) > MOST_ROWS)


def _row(
    kind: tuple[str, ...], counted: Mapping[str, Any], pair: FixPair | None, newest: ToolFailure | None
) -> CheatRowAnswer:
    tool, error_type, signature = kind
    action: dict[str, Any] = pair.action if pair else (newest and newest.action) or {}
    params = newest.params if newest else {}
    modified = action.get("modified_params")
    symptoms = pair.symptoms if pair else newest.symptoms if newest else []
    advised = pair.fix if pair else str(action.get("action", ""))
    fix, *texts = without_values([advised, *(symptoms or [signature])], params, modified)
    # A pair holds nothing but the parameters that it changes; advice holds those of a whole call.
    changed = list(modified or {}) if pair else [change.name for change in changed_params(params, modified)]
    successes, failures = (pair.successes, pair.failures) if pair else (0, 0)
    return CheatRowAnswer(
        tool=tool,
        error_type=ErrorType(error_type),
        usual_failure=texts,
        times_seen=counted.get("times", 0),
        last_seen=counted.get("last_seen"),
        fix=fix,
        changed_params=changed,
        is_proven=pair is not None,
        successes=successes,
        failures=failures,
        success_share=successes / (successes + failures) if pair else None,
    )
