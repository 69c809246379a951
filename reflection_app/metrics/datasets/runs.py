"""Finished runs as rows of a data set, each with its task, attempts, verdicts, decisions, lessons and cost."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import F, QuerySet

from reflection_app.loops.lessons import Lessons, RecallLessons
from reflection_app.loops.verdicts import Referee
from reflection_app.metrics.datasets.asking import Asked
from reflection_app.metrics.datasets.decisions import decisions_by_run
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.reading import Sources
from reflection_app.metrics.datasets.rows import DatasetAttempt, DatasetLesson, DatasetRow, DatasetVerdict, RunRow
from reflection_app.runs.models import NOT_OF_THE_DESK, VOID, Attempt, Run, RunState, Step, StepState, Verdict

READ = (
    *("project", "parent", "mode", "outcome", "best_attempt", "created_at", "finished_at", "forked_from_step"),
    *("prompt_tokens", "completion_tokens", "llm_calls", "cost_usd", "unpriced_calls"),
    *(f"task__{name}" for name in ("objective", "external_id", "agent", "kind", "metadata")),
)


def finished_runs(asked: Asked) -> QuerySet[Run]:
    """The finished runs that are asked for, with their tasks; none that the desk made about others."""
    wanted = asked.of_task("task__", run="")
    rows = Run.objects.filter(NOT_OF_THE_DESK, project=asked.project, state=RunState.FINISHED, **wanted)
    return rows.filter(is_scripted=asked.query.scripted).select_related("task").only(*READ)


def attempts_by_run(runs: Iterable[UUID]) -> dict[UUID, list[Attempt]]:
    """The attempts, first to last, each with what its step tells: `model`, `inherited` and `edited_by`."""
    found = defaultdict[UUID, list[Attempt]](list)
    rows = Attempt.objects.filter(run__in=runs).annotate(
        model=F("step__model"), inherited=F("step__is_inherited"), edited_by=F("step__edited_by_label")
    )
    for row in rows.defer("artifacts", "self_check", "repairs").order_by("number"):
        found[row.run_id].append(row)
    return found


def verdicts_by_run(runs: Iterable[UUID], *, until: datetime) -> dict[UUID, list[Verdict]]:
    """The verdicts that had been given by then, oldest first; none that rests on broken tests alone."""
    found = defaultdict[UUID, list[Verdict]](list)
    rows = Verdict.objects.filter(attempt__run__in=runs, created_at__lt=until).exclude(VOID)
    rows = rows.select_related("attempt").defer("attempt__content", "tests", "requirements", "feedback")
    for row in rows.order_by("created_at", "id"):
        found[row.attempt.run_id].append(row)
    return found


def _lessons_by_run(runs: Iterable[UUID]) -> dict[UUID, list[DatasetLesson]]:
    rows = Step.objects.filter(run__in=runs, kind=RecallLessons.kind, state=StepState.DONE)
    return {
        run_id: [DatasetLesson.from_row(one) for one in Lessons.model_validate(recalled).lessons]
        for run_id, recalled in rows.order_by("seq").values_list("run_id", "result")
    }


def _rows_of(runs: Sequence[Run], asked: Asked, people: People) -> list[DatasetRow]:
    ids = [run.pk for run in runs]
    attempts, lessons = attempts_by_run(ids), _lessons_by_run(ids)
    verdicts = verdicts_by_run(ids, until=asked.until)
    decisions = decisions_by_run(ids, until=asked.until)
    rows: list[DatasetRow] = []
    for run in runs:
        kept = next((one for one in attempts[run.pk] if one.pk == run.best_attempt_id), None)
        # As the strongest referee has it; of two equally strong, the later one.
        of_kept = [one for one in verdicts[run.pk] if kept and one.attempt_id == kept.pk]
        decisive = max(of_kept, key=lambda one: (one.referee, one.created_at, one.pk), default=None)
        decided = [one.as_column(people) for one in decisions[run.pk]]
        rows.append(
            RunRow.from_row(
                run,
                id=str(run.pk),
                at=run.finished_at,
                **task_columns(run, people),
                objective=people.work(run.task.objective),
                answer=people.work(kept.content) if kept else None,
                answer_attempt=kept.number if kept else None,
                answer_score=decisive.score if decisive else None,
                answer_referee=Referee(decisive.referee).label if decisive else None,
                attempts=[DatasetAttempt.from_row(one, content=people.work(one.content)) for one in attempts[run.pk]],
                verdicts=[_verdict(one, people) for one in verdicts[run.pk]],
                decision=next((one for one in reversed(decided) if not one.by_key), None),
                decisions=decided,
                lessons=[
                    one.model_copy(update={"name": people.work(one.name), "text": people.work(one.text)})
                    for one in lessons.get(run.pk, ())
                ],
                cost_usd=None if run.unpriced_calls else float(run.cost_usd),
                known_cost_usd=float(run.cost_usd),
            )
        )
    return rows


def task_columns(run: Run, people: People) -> dict[str, Any]:
    """What the rows of runs and of what happened in them have in common."""
    task = run.task
    return {
        "task_id": run.task_id,
        "external_id": people.work(task.external_id),
        "agent": task.agent,
        "kind": task.kind,
        "mode": run.mode,
        "metadata": people.work(task.metadata),
    }


def _verdict(row: Verdict, people: People) -> DatasetVerdict:
    told = people.value if row.referee == Referee.PERSON else people.work
    return DatasetVerdict.from_row(
        row,
        attempt=row.attempt.number,
        referee=row.referee_label,
        issues=told(row.issues),
        ratings=told(row.ratings),
    )


RUNS = Sources[Run](moment="finished_at", wanted=finished_runs, rows_of=_rows_of)
