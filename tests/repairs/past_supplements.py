"""Rows of supplements that were carried out before, as a history to estimate from."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CheckState, operation_key
from reflection_app.repairs.models import CompletenessCheck, Supplement
from reflection_app.runs.models import Run, Step
from tests import given


def past_supplement(
    project: Project,
    operation: str = "读取第二个文件",
    *,
    completed: bool = True,
    tools: tuple[str, ...] = ("read_file",),
    kind: str = "compare",
    days_ago: float = 0,
    **fields: Any,
) -> Supplement:
    """One supplement of a run of its own, carried out, with its check."""
    run = given.submitted_run(project, kind=kind)
    step = Step.objects.create(
        run=run,
        seq=1,
        key="attempt-1/completeness/found",
        kind="record_completeness",
        request={},
        started_at=timezone.now(),
    )
    check = CompletenessCheck.objects.create(
        project=project,
        run=run,
        step=step,
        task_kind=kind,
        state=(CheckState.SUPPLEMENTED if completed else CheckState.INCOMPLETE).value,
        used=True,
    )
    values = {
        "attempted": True,
        "succeeded": completed,
        "tokens": 1_000,
        "cost_usd": Decimal("0.002"),
        "seconds": 3.0,
    }
    supplement = Supplement.objects.create(
        project=project,
        completeness_check=check,
        number=1,
        task_kind=kind,
        operation=operation,
        operation_key=operation_key(operation),
        suggested_tools=list(tools),
        **(values | fields),
    )
    # Nobody moves these runs on.
    Run.objects.filter(pk=run.pk).update(state="finished", outcome="succeeded")
    if days_ago:
        Supplement.objects.filter(pk=supplement.pk).update(created_at=timezone.now() - timedelta(days=days_ago))
    return supplement
