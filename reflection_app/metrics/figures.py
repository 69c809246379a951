"""The metrics of a project for a period and a choice of runs."""

from uuid import UUID

from reflection_app.metrics.definitions import Sums, figures_of
from reflection_app.metrics.values import Chosen, Metrics


def metrics_of(project_id: UUID, chosen: Chosen) -> Metrics:
    """The figures, what they were in the period before, their course, and what they are made of."""
    figures = figures_of(Sums())
    return Metrics(chosen=chosen, figures=figures, before=figures, points=(), bars={}, spend=(), dearest_tasks=())
