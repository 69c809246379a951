"""What people said of two answers that they saw side by side, blindly, as rows of the preferences."""

from collections.abc import Sequence
from typing import Any

from django.db.models import Q, QuerySet

from reflection_app.comparisons.models import JudgementState, Pair, PairJudgement, Preference, Side
from reflection_app.metrics.datasets.asking import Asked
from reflection_app.metrics.datasets.people import People
from reflection_app.metrics.datasets.reading import Sources
from reflection_app.metrics.datasets.rows import DatasetRow, PreferenceRow, PreferenceSource
from reflection_app.metrics.datasets.runs import task_columns
from reflection_app.runs.models import Attempt

NO_RUN: dict[str, Any] = {
    "run_id": None,
    "task_id": None,
    "external_id": None,
    "agent": "",
    "kind": "",
    "mode": None,
    "metadata": {},
}


def _judged(asked: Asked) -> QuerySet[PairJudgement]:
    """The judgements that prefer one answer; what keys said is no word of a person's."""
    of_run = asked.of_task("pair__attempt_a__run__task__", run="pair__attempt_a__run__")
    wanted = Q(pair__attempt_a__run__is_scripted=asked.query.scripted, **of_run)
    if not of_run and not asked.query.scripted:
        wanted |= Q(pair__attempt_a__isnull=True)
    rows = PairJudgement.objects.filter(
        wanted,
        project=asked.project,
        state=JudgementState.JUDGED,
        choice__in=(Preference.LEFT, Preference.RIGHT),
        is_by_key=False,
    )
    return rows.select_related("pair__attempt_a__run__task", "pair__attempt_b__run__task")


def _rows_of(judged: Sequence[PairJudgement], _asked: Asked, people: People) -> list[DatasetRow]:
    return [_row(one, people) for one in judged]


def _row(judged: PairJudgement, people: People) -> PreferenceRow:
    pair = judged.pair
    sides = (Side.A, Side.B) if judged.better == Side.A else (Side.B, Side.A)
    chosen, rejected = (_attempt(pair, side) for side in sides)
    is_a = judged.better == Side.A
    return PreferenceRow(
        id=str(judged.pk),
        at=judged.judged_at,
        **(task_columns(chosen.run, people) | {"run_id": chosen.run_id} if chosen else NO_RUN),
        source=PreferenceSource.PAIRWISE,
        prompt=people.work(pair.objective if is_a or not pair.objective_b else pair.objective_b),
        chosen=people.work(pair.answer_a if is_a else pair.answer_b),
        rejected=people.work(pair.answer_b if is_a else pair.answer_a),
        chosen_attempt=chosen.number if chosen else None,
        rejected_attempt=rejected.number if rejected else None,
        chosen_score=None,
        rejected_score=None,
        chosen_referee=None,
        rejected_referee=None,
        margin=None,
        rejected_run_id=rejected.run_id if rejected and chosen and rejected.run_id != chosen.run_id else None,
    )


def _attempt(pair: Pair, side: Side) -> Attempt | None:
    return pair.attempt_a if side == Side.A else pair.attempt_b


PAIRWISE = Sources[PairJudgement](moment="judged_at", wanted=_judged, rows_of=_rows_of)
