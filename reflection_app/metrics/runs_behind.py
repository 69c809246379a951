"""The runs that a figure, or a bar, was counted from."""

from uuid import UUID

from django.db.models import QuerySet

from reflection_app.metrics.values import Chosen
from reflection_app.models import Run


def runs_behind(project_id: UUID, chosen: Chosen, figure: str, key: str = "") -> QuerySet[Run]:
    """The runs, in no order. Of a figure those that it is computed over, with `key` `yes` those that count in its
    favour, with `no` the others of them. Of a family of bars (see `Metrics.bars`) those of the bar `key`.

    Raises ValueError where there is no such figure or bar. Runs that were deleted since are not among them.
    """
    raise NotImplementedError
