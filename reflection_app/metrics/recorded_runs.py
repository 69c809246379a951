"""What is recorded of runs, as their figures need it: a few facts of each row, picked out by the database.

Requests, answers and test reports may be megabytes, so they never leave the database for it.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import UTC
from uuid import UUID

from django.db.models import Case, Count, Exists, F, OuterRef, Q, Sum, Value, When
from django.db.models.fields import CharField
from django.db.models.fields.json import KeyTextTransform

from reflection_app.loops.attempt_effects import AwaitAttempt, Generate
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.effects import ChooseLoop
from reflection_app.loops.task_spec import OF_THE_DESK
from reflection_app.loops.verdicts import Judgement, Outcome, Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.metrics.models import RunFigure, RunSpend
from reflection_app.metrics.run_facts import (
    AGENT,
    REFLECTING,
    Check,
    Recorded,
    failures_of,
    latency_of,
    most_used,
    referee_of,
    sums_of,
)
from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict

NOT_COUNTED = frozenset(mode.value for mode in OF_THE_DESK)
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
    attempts, judgements, took, checks = _attempts(found), _judgements(found), _took(found), _checks(found)
    about_attempts, reflected, kinds, failures = (
        _about_attempts(found),
        _reflected_on(found),
        _kinds(found),
        failures_of(found),
    )
    figured = []
    for row in rows:
        run_id, made = row["id"], attempts.get(row["id"], [])
        cycle_ms, reflection_tokens = about_attempts.get(run_id, (0, 0))
        recorded = Recorded(
            mode=row["mode"],
            outcome=Outcome(row["outcome"]),
            is_counted=row["parent_id"] is None and row["mode"] not in NOT_COUNTED,
            max_iterations=row["most"] or 0,
            attempts=[number for number, _ in made],
            kept=row["kept"],
            judgements=judgements.get(run_id, []),
            reflected_on=reflected.get(run_id, frozenset()),
            cycle_ms=cycle_ms,
            reflection_tokens=reflection_tokens,
            checks=checks.get(run_id, []),
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
            referee=referee_of(recorded),
            latency=latency_of(recorded),
            failures=list(failures.get(run_id, ())) if recorded.is_counted else [],
            **vars(sums_of(recorded)),
        )
        figured.append((figure, recorded.spend))
    return figured


def _attempts(ids: Sequence[UUID]) -> dict[UUID, list[tuple[int, str]]]:
    """Numbers with the models that made them, in order."""
    rows = Attempt.objects.filter(run__in=ids).order_by("run", "number")
    return _by_run(
        (run_id, (number, model)) for run_id, number, model in rows.values_list("run", "number", "step__model")
    )


def _judgements(ids: Sequence[UUID]) -> dict[UUID, list[Judgement]]:
    rows = Verdict.objects.filter(attempt__run__in=ids).order_by("created_at", "id")
    told = rows.values_list("attempt__run", "attempt__number", "referee", "verdict", "score")
    return _by_run(
        (run_id, Judgement(attempt=number, referee=Referee(referee), verdict=VerdictName(verdict), score=score))
        for run_id, number, referee, verdict, score in told
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


def _kinds(ids: Sequence[UUID]) -> dict[UUID, str]:
    """The type that a classifier, or the facts, gave to a task that has none."""
    rows = Step.objects.filter(run__in=ids, kind=ChooseLoop.kind, state=StepState.DONE)
    told = rows.values_list("run", KeyTextTransform("task_kind", "result"))
    return {run_id: kind for run_id, kind in told if kind}


def _by_run[T](pairs: Iterable[tuple[UUID, T]]) -> dict[UUID, list[T]]:
    found: dict[UUID, list[T]] = defaultdict(list)
    for run_id, value in pairs:
        found[run_id].append(value)
    return found
