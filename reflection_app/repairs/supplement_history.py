"""The record of tools as supplements in a project: the runs that they completed, and what they cost."""

import time
from datetime import timedelta
from decimal import Decimal
from typing import Any
from uuid import UUID

from django.db.models import Avg, Count, F, Func, Q, TextField
from django.utils import timezone

from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.completeness.records import Records, SupplementRecord
from reflection_app.loops.effect import Performed, Spent
from reflection_app.loops.effects import EstimateSupplements
from reflection_app.repairs.models import Supplement

# Models and their prices change.
OLDEST = timedelta(days=180)
COMPLETED = Q(succeeded=True, completeness_check__state=CheckState.SUPPLEMENTED.value)


def read_records(effect: EstimateSupplements, *, run_id: UUID) -> Performed[Any]:
    """Return for each operation the record of that one of its tools which was used in most runs."""
    began = time.monotonic()
    known = records_of_tools({tool for tools in effect.tools for tool in tools}, run_id=run_id)
    records = tuple(
        max((known[tool] for tool in tools if tool in known), key=lambda record: record.runs, default=None)
        for tools in effect.tools
    )
    return Performed(value=Records(supplements=records), spent=Spent(duration_s=time.monotonic() - began))


def records_of_tools(tools: set[str], *, run_id: UUID) -> dict[str, SupplementRecord]:
    """Map each tool that was used before in the run's project to its record. Forks and the run itself do not count."""
    rows = (
        Supplement.objects.filter(
            project__runs=run_id,
            attempted=True,
            created_at__gte=timezone.now() - OLDEST,
            completeness_check__run__parent=None,
        )
        .exclude(completeness_check__run=run_id)
        .annotate(tool=Func(F("suggested_tools"), function="jsonb_array_elements_text", output_field=TextField()))
        .order_by()
        .values("tool")
        .annotate(
            runs=Count("completeness_check__run", distinct=True),
            completed=Count("completeness_check__run", distinct=True, filter=COMPLETED),
            mean_tokens=Avg("tokens"),
            mean_usd=Avg("cost_usd"),
            unpriced=Count("pk", filter=Q(cost_known=False)),
        )
    )
    return {
        row["tool"]: SupplementRecord(
            runs=row["runs"],
            completed=row["completed"],
            tokens=round(row["mean_tokens"], 1),
            cost_usd=None if row["unpriced"] else row["mean_usd"].quantize(Decimal("1e-8")),
        )
        for row in rows
        if row["tool"] in tools
    }
