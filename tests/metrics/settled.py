"""Rows of just now, moved into the past: data sets leave the last seconds to the next read."""

from datetime import timedelta

from django.db.models import F

from reflection_app.comparisons.models import PairJudgement
from reflection_app.metrics.datasets.asking import SETTLED_AFTER
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run, Verdict

MOMENTS = (
    (Run, "finished_at"),
    (Review, "decided_at"),
    (Verdict, "created_at"),
    (PairJudgement, "judged_at"),
)


def let_settle(by: timedelta = 2 * SETTLED_AFTER) -> None:
    """Moves what happened so far back by so much, in its order."""
    for model, moment in MOMENTS:
        model._default_manager.filter(**{f"{moment}__isnull": False}).update(**{moment: F(moment) - by})
