"""How far critics and people rate alike by each criterion of the rubric."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from typing import Any
from uuid import UUID

from reflection_app.loops.rubrics import Criterion, Rating, Scale
from reflection_app.loops.verdicts import Referee
from reflection_app.metrics.statistics import Interval, krippendorffs_alpha, wilson
from reflection_app.reviews.models import Review, ReviewState

# The newest ones count; so many are read in a moment.
MOST_ITEMS = 20_000


@dataclass(frozen=True)
class CriterionAgreement:
    """Of one criterion that critic and person have `rated`. None: nothing can be said.

    `above` is how much more the critic gives than people do, in points of 100.
    """

    criterion: str
    name: str
    rated: int
    same: Interval | None
    above: float | None
    alpha: float | None


def agreement_by_criterion(
    project_id: UUID, criteria: Sequence[Criterion], *, since: datetime, until: datetime
) -> list[CriterionAgreement]:
    """The figures of each criterion that is worth something, over what was decided in the period.

    Ratings are told apart by the criterion's key, whatever the rubric's version. Where a rating is of a value that the
    criterion no longer has, it is left out.
    """
    decided = Review.objects.filter(
        project=project_id,
        state=ReviewState.DECIDED,
        decided_at__gte=since,
        decided_at__lt=until,
        verdict__referee=Referee.CRITIC,
        verdict__step__edited_by_label="",
        decided_verdict__isnull=False,
        decided_by_key__isnull=True,
        verdict__step__is_inherited=False,
    ).exclude(verdict__ratings=[])
    rows = decided.exclude(decided_verdict__ratings=[]).order_by("-decided_at")
    told = rows.values_list("verdict_id", "verdict__ratings", "decided_verdict__ratings")[:MOST_ITEMS]
    # Of a panel, all seats share the verdict that came of them, which counts once.
    both = list({verdict_id: (critic, person) for verdict_id, critic, person in told}.values())
    return [_figures(criterion, both) for criterion in criteria if criterion.scale is not Scale.TEXT]


def _figures(criterion: Criterion, both: Sequence[tuple[list[Any], list[Any]]]) -> CriterionAgreement:
    found = [(_rating_by(criterion, critic), _rating_by(criterion, person)) for critic, person in both]
    pairs = [(critic, person) for critic, person in found if critic and person]
    # Points have an order, and so has passing; categories are names.
    order = () if criterion.scale is Scale.CATEGORY else criterion.values
    return CriterionAgreement(
        criterion=criterion.key,
        name=criterion.name,
        rated=len(pairs),
        same=wilson(sum(critic.value == person.value for critic, person in pairs), len(pairs)),
        above=fmean((critic.worth or 0) - (person.worth or 0) for critic, person in pairs) if pairs else None,
        alpha=krippendorffs_alpha(
            [{"critic": critic.value, "person": person.value} for critic, person in pairs], order=order
        ),
    )


def _rating_by(criterion: Criterion, ratings: Sequence[Any]) -> Rating | None:
    """The rating by this criterion, if it is of a value that the criterion has."""
    of_criterion = (rating for rating in map(Rating.model_validate, ratings) if rating.criterion == criterion.key)
    return next((one for one in of_criterion if one.value in criterion.values and one.worth is not None), None)
