"""Runs that were checked, as rows: many of them, without running any."""

from datetime import timedelta
from decimal import Decimal

from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.effects import RecordCompleteness
from reflection_app.repairs.models import CheckDraw, CompletenessCheck, Supplement
from reflection_app.runs.models import Run, RunState, Step, StepState
from reflection_app.tasks.models import Task

STATES = {".": CheckState.COMPLETE, "x": CheckState.INCOMPLETE, "o": CheckState.SUPPLEMENTED}


def checked_runs(
    project: Project,
    kind: str,
    pattern: str,
    *,
    supplements: int = 1,
    mode: str = "planning",
    parent: Run | None = None,
) -> list[Run]:
    """Of each sign a checked run: `.` lacked nothing, `x` something, `o` something that was then completed.

    Each was checked after the one before it, and all just now.
    """
    now = timezone.now()
    runs, steps, checks, wanted = [], [], [], []
    for number, sign in enumerate(pattern):
        at = now - timedelta(microseconds=len(pattern) - number)
        task = Task(project=project, objective=f"Compare the files, number {number}.", kind=kind, mode=mode)
        run = Run(
            project=project,
            task=task,
            mode=mode,
            spec={},
            loop_version=1,
            state=RunState.FINISHED,
            outcome="succeeded",
            finished_at=at,
            parent=parent,
        )
        step = Step(
            run=run,
            seq=1,
            key="attempt-1/completeness/found",
            kind=RecordCompleteness.kind,
            state=StepState.DONE,
            request={},
            started_at=at,
        )
        check = CompletenessCheck(
            project=project, run=run, step=step, task_kind=kind, state=STATES[sign], cost_usd=Decimal("0.004")
        )
        check.created_at = at
        runs.append(run)
        steps.append(step)
        checks.append(check)
        for place in range(1, supplements * (sign != ".") + 1):
            operation = {"operation": "Read it", "operation_key": "read"}
            wanted.append(
                Supplement(project=project, completeness_check=check, number=place, task_kind=kind, **operation)
            )
    Task.objects.bulk_create([run.task for run in runs])
    Run.objects.bulk_create(runs)
    Step.objects.bulk_create(steps)
    CompletenessCheck.objects.bulk_create(checks)
    Supplement.objects.bulk_create(wanted)
    # What is written at once was checked one after the other.
    for check, number in zip(checks, range(len(checks), 0, -1), strict=True):
        CompletenessCheck.objects.filter(pk=check.pk).update(created_at=now - timedelta(microseconds=number))
    return runs


def drawn_runs(project: Project, kind: str, letters: str, *, share: float = 0.3) -> None:
    """Of each letter a run of the hold-out's comparison: g was checked, w held out, in capitals it ended well."""
    now = timezone.now()
    rows = []
    for number, (run, letter) in enumerate(zip(checked_runs(project, kind, "." * len(letters)), letters, strict=True)):
        rows.append(
            CheckDraw(
                project=project,
                run=run,
                step=run.steps.get(),
                task_kind=kind,
                arm="checked" if letter in "Gg" else "held_out",
                share=1.0,
                holdout_share=share,
                is_counted=True,
                succeeded=letter.isupper(),
                settled_at=now + timedelta(seconds=number),
            )
        )
    CheckDraw.objects.bulk_create(rows)
