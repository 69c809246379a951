"""The figures of the review desk: the queue as it is now, and the decisions of a period."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from uuid import UUID

from reflection_app.metrics.values import Bar, Chosen, Figure, Point


@dataclass(frozen=True)
class Overruled:
    """How often one reviewer overruled, or one critic was overruled. `share` has a 95 % interval.

    Of a reviewer, `name` is the label; of a critic, its model.
    """

    name: str
    decided: int
    overruled: int
    share: Figure


@dataclass(frozen=True)
class ReviewFigures:
    """The queue is as it is now, whatever the period; all else is of the decisions from `since` to `until`.

    Figures: queue_length, oldest_age_s (both of now); decided, time_to_decision_p50_s, time_to_decision_p95_s,
    overrule_rate. `points` have the last four. `ages` counts open reviews by how long they have waited, in order:
    1h, 4h, 1d, 3d, 1w, longer (each up to that and above the one before).
    """

    chosen: Chosen
    figures: Mapping[str, Figure]
    before: Mapping[str, Figure]
    points: tuple[Point, ...] = ()
    ages: tuple[Bar, ...] = ()
    by_reviewer: tuple[Overruled, ...] = ()
    by_critic: tuple[Overruled, ...] = ()
    # Rules of the policy and the like: why what was decided had been put before people.
    reasons: Mapping[str, int] = field(default_factory=dict)


def review_figures(project_id: UUID, chosen: Chosen) -> ReviewFigures:
    """The figures of the project's reviews. What people say blindly at an open panel is in none of them."""
    raise NotImplementedError
