"""Keeping the figures of runs as the runs are, under a lock that projects have each for themselves."""

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC
from itertools import batched
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Case, Count, Exists, F, OuterRef, Q, Sum, Value, When
from django.db.models.fields import CharField
from django.db.models.fields.json import KeyTextTransform

from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import AwaitAttempt, Generate
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.effects import ChooseLoop
from reflection_app.loops.requirements import Lowered
from reflection_app.loops.task_spec import NOT_FOR_TASKS, Mode
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.models import FigureDue, RunFigure, RunSpend
from reflection_app.metrics.run_facts import (
    AGENT,
    REFLECTING,
    Check,
    Recorded,
    failures_of,
    most_used,
    sums_of,
)
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict

# What is recorded of runs, as their figures need it: a few facts of each row, picked out by the database.
#
# Requests, answers and test reports may be megabytes, so they never leave the database for it.

# Only a run that solves a task is counted: not what checks, diagnoses or looks at other work.
NOT_COUNTED = frozenset(mode.value for mode in NOT_FOR_TASKS)
ROLE = Case(
    When(kind=AwaitAttempt.kind, then=Value(AGENT)),
    When(role="", then=F("kind")),
    default=F("role"),
    output_field=CharField(),
)
OWN = Q(is_inherited=False)
# What a run's figures say of it as it does.
COPIED = ("project_id", "task_id", "finished_at", "is_scripted", "mode", "outcome")


def figures_of_runs(ids: Sequence[UUID]) -> list[tuple[RunFigure, list[RunSpend]]]:
    """The figures, with what was spent, of those of the runs that are there and finished. Nothing is written yet."""
    rows = Run.objects.filter(pk__in=ids, state=RunState.FINISHED, finished_at__isnull=False).values(
        *("id", "parent_id", "llm_calls", "prompt_tokens", "completion_tokens", "cost_usd", *COPIED),
        most=F("spec__limits__max_iterations"),
        kept=F("best_attempt__number"),
        of_agent=F("task__agent"),
        of_kind=F("task__kind"),
        has_others=Exists(Run.objects.filter(task=OuterRef("task")).exclude(pk=OuterRef("pk"))),
    )
    found = [row["id"] for row in rows]
    # Numbers with the models that made them, in order. What a reviewer wrote is no attempt of the loop's.
    made_by = Attempt.objects.filter(run__in=found, edited_from=None).order_by("run", "number")
    edited = Attempt.objects.filter(run__in=found, edited_from__isnull=False)
    written = {
        (run_id, number): before for run_id, number, before in edited.values_list("run", "number", "edited_from")
    }
    attempts = _by_run(
        (run_id, (number, model)) for run_id, number, model in made_by.values_list("run", "number", "step__model")
    )
    judgements, took, checks = _judgements(found), _took(found), _checks(found)
    about_attempts, reflected, failures = _about_attempts(found), _reflected_on(found), failures_of(found)
    # The type that a classifier, or the facts, gave to a task that has none.
    routed = Step.objects.filter(run__in=found, kind=ChooseLoop.kind, state=StepState.DONE)
    kinds = {
        run_id: kind for run_id, kind in routed.values_list("run", KeyTextTransform("task_kind", "result")) if kind
    }
    figured = []
    for row in rows:
        run_id, made = row["id"], attempts.get(row["id"], [])
        is_counted = row["parent_id"] is None and row["mode"] not in NOT_COUNTED
        is_check = row["parent_id"] is None and row["mode"] == Mode.COMPLETENESS_CHECK
        kept = row["kept"]
        while (run_id, kept) in written:
            kept = written[run_id, kept]
        cycle_ms, reflection_tokens = about_attempts.get(run_id, (0, 0))
        recorded = Recorded(
            mode=row["mode"],
            outcome=Outcome(row["outcome"]),
            is_counted=is_counted,
            max_iterations=row["most"] or 0,
            attempts=[number for number, _ in made],
            kept=kept,
            judgements=judgements.get(run_id, []),
            reflected_on=reflected.get(run_id, frozenset()),
            cycle_ms=cycle_ms,
            reflection_tokens=reflection_tokens,
            # A completeness check that was asked for alone is no run that solves a task, but a check like any other.
            checks=checks.get(run_id, []) if is_counted or is_check else [],
            took=took.get(run_id, []),
            total=RunSpend(
                calls=row["llm_calls"],
                prompt_tokens=row["prompt_tokens"],
                completion_tokens=row["completion_tokens"],
                cost_usd=row["cost_usd"],
            ),
        )
        figure = RunFigure(
            **{name: row[name] for name in COPIED},
            run_id=run_id,
            finished_on=row["finished_at"].astimezone(UTC).date(),
            is_counted=recorded.is_counted,
            is_of_several=row["has_others"],
            agent=row["of_agent"],
            model=most_used(model for _, model in made),
            kind=row["of_kind"] or kinds.get(run_id, ""),
            failures=list(failures.get(run_id, ())) if recorded.is_counted else [],
            **sums_of(recorded),
        )
        figured.append((figure, recorded.spend))
    return figured


def _judgements(ids: Sequence[UUID]) -> dict[UUID, list[Judgement]]:
    rows = Verdict.objects.filter(attempt__run__in=ids, attempt__edited_from=None).order_by("created_at", "id")
    told = rows.values_list("attempt__run", "attempt__number", "referee", "verdict", "score", "lowered")
    return _by_run(
        (
            run_id,
            Judgement(
                attempt=number,
                referee=Referee(referee),
                verdict=VerdictName(verdict),
                score=score,
                lowered=Lowered.model_validate(lowered) if lowered else None,
            ),
        )
        for run_id, number, referee, verdict, score, lowered in told
    )


def _took(ids: Sequence[UUID]) -> dict[UUID, list[RunSpend]]:
    """By role and model. What a fork inherited was paid by its parent."""
    answered = Q(kind=Generate.kind, state__in=(StepState.DONE, StepState.FAILED))
    spending = answered | Q(prompt_tokens__gt=0) | Q(completion_tokens__gt=0)
    rows = (
        Step.objects.filter(OWN & (spending | Q(cost_usd__gt=0)), run__in=ids)
        .order_by()
        .values("run", "model", by=ROLE)
        .annotate(
            calls=Count("pk", filter=Q(kind__in=(Generate.kind, AwaitAttempt.kind))),
            prompt=Sum("prompt_tokens"),
            completion=Sum("completion_tokens"),
            cost=Sum("cost_usd"),
            unpriced=Count("pk", filter=Q(cost_known=False)),
        )
    )
    return _by_run(
        (
            row["run"],
            RunSpend(
                role=row["by"],
                spent_on=row["model"],
                calls=row["calls"],
                prompt_tokens=row["prompt"],
                completion_tokens=row["completion"],
                cost_usd=row["cost"],
                unpriced_calls=row["unpriced"],
            ),
        )
        for row in rows.order_by("run", "by", "model")
    )


def _about_attempts(ids: Sequence[UUID]) -> dict[UUID, tuple[int, int]]:
    """Milliseconds of the steps about attempts, and tokens of those that evaluate them or reflect on them."""
    reflecting = Q(role__in=sorted(REFLECTING))
    rows = (
        Step.objects.filter(OWN, run__in=ids, attempt_number__isnull=False)
        .order_by()
        .values("run")
        .annotate(
            seconds=Sum("duration_s"),
            tokens=Sum(F("prompt_tokens") + F("completion_tokens"), filter=reflecting),
        )
    )
    return {row["run"]: (round((row["seconds"] or 0) * 1000), row["tokens"] or 0) for row in rows}


def _reflected_on(ids: Sequence[UUID]) -> dict[UUID, frozenset[int]]:
    rows = Step.objects.filter(
        OWN, run__in=ids, kind=Generate.kind, role="reflector", state=StepState.DONE, attempt_number__isnull=False
    )
    pairs = rows.order_by().values_list("run", "attempt_number").distinct()
    numbers = _by_run((run_id, number) for run_id, number in pairs if number is not None)
    return {run_id: frozenset(of_run) for run_id, of_run in numbers.items()}


def _checks(ids: Sequence[UUID]) -> dict[UUID, list[Check]]:
    rows = CompletenessCheck.objects.filter(run__in=ids).order_by("created_at", "id")
    told = rows.annotate(asked=Count("supplements")).values_list(
        "run", "state", "asked", "used", "attempted", "succeeded"
    )
    return _by_run(
        (run_id, Check(CheckState(state), asked, bool(used), attempted, succeeded))
        for run_id, state, asked, used, attempted, succeeded in told
    )


def _by_run[T](pairs: Iterable[tuple[UUID, T]]) -> dict[UUID, list[T]]:
    found: dict[UUID, list[T]] = defaultdict(list)
    for run_id, value in pairs:
        found[run_id].append(value)
    return found


AT_ONCE = 500
log = logging.getLogger(__name__)


def figure_due(*, at_most: int = AT_ONCE) -> int:
    """Figures the runs that have ended or changed since, oldest first; how many notes of such runs were dealt with.

    0 where another worker is at it: many that wait for one project's lock would be missed where runs are advanced.
    """
    # One statement where there is nothing to do, as every few seconds on an idle server.
    return _figure_due(at_most) if FigureDue.objects.exists() else 0


@transaction.atomic
def _figure_due(at_most: int) -> int:
    with connection.cursor() as cursor:
        # Held until the transaction's end.
        cursor.execute("SELECT pg_try_advisory_xact_lock(hashtextextended('figures that are due', 0))")
        if not cursor.fetchone()[0]:
            return 0
    # A note that is being dealt with elsewhere is passed over; a run that changes meanwhile has another note.
    due = list(
        FigureDue.objects.select_for_update(skip_locked=True).order_by("pk").values_list("pk", "run_id")[:at_most]
    )
    FigureDue.objects.filter(pk__in=[pk for pk, _ in due]).delete()
    figure_runs(run_id for _, run_id in due)
    return len(due)


@transaction.atomic
def figure_runs(run_ids: Iterable[UUID]) -> None:
    """Figures these runs as they are now. One that is finished no more has no figure any more."""
    ids = list(dict.fromkeys(run_ids))
    projects = Run.objects.filter(pk__in=ids).order_by("project").values_list("project", flat=True).distinct()
    for project_id in projects:
        lock_figures(project_id)
    RunFigure.objects.filter(run__in=ids).delete()
    _figured(ids)


def rebuild(project: Project) -> int:
    """Figures all runs of the project anew; how many runs.

    What runs counted for that are deleted is kept.
    """
    with transaction.atomic():
        lock_figures(project.pk)
        RunFigure.objects.filter(project=project, run__isnull=False).delete()
        ids = Run.objects.filter(project=project).order_by("pk").values_list("pk", flat=True)
        figured = 0
        for some in batched(ids.iterator(), AT_ONCE):
            figured += _figured(some)
    return figured


def _figured(run_ids: Sequence[UUID]) -> int:
    """Write the figures of those of the runs that are finished, and return how many.

    One whose rows make no sense, such as from another desk's file, is left out: it must not hold up all others.
    """
    try:
        with transaction.atomic():
            figured = figures_of_runs(run_ids)
            figures = RunFigure.objects.bulk_create(figure for figure, _ in figured)
            # A task's first run was alone until it had another.
            several = [figure.task_id for figure in figures if figure.is_of_several]
            RunFigure.objects.filter(task__in=several, is_of_several=False).update(is_of_several=True)
            for figure, spend in figured:
                for one in spend:
                    one.figure = figure
            RunSpend.objects.bulk_create(one for _, spend in figured for one in spend)
            # What is wrong with a row is said here, and not at the commit, where it would take all others along.
            with connection.cursor() as cursor:
                cursor.execute("SET CONSTRAINTS ALL IMMEDIATE")
                cursor.execute("SET CONSTRAINTS ALL DEFERRED")
    except OperationalError:
        # The database's trouble and not the runs': the next look tries again.
        raise
    except Exception:
        if len(run_ids) > 1:
            half = len(run_ids) // 2
            return _figured(run_ids[:half]) + _figured(run_ids[half:])
        log.exception("run %s is left out of the metrics", run_ids[0])
        return 0
    return len(figures)


def lock_figures(project_id: UUID) -> None:
    """Until the transaction's end nobody else changes the project's figures.

    Whoever deletes runs takes this lock before it locks them: figures that are being written refer to runs.
    """
    with connection.cursor() as cursor:
        cursor.execute("SELECT pg_advisory_xact_lock(hashtextextended(%s, 0))", [f"figures of {project_id}"])
