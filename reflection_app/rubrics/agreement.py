"""How far critics and people rate alike by each criterion of the rubric, and people among each other."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from statistics import fmean
from uuid import UUID

from reflection_app.loops.rubrics import Criterion, Rating, Scale
from reflection_app.loops.verdicts import Referee
from reflection_app.metrics.statistics import Interval, krippendorffs_alpha, percent_agreement, wilson
from reflection_app.reviews.agreement import complete_panels
from reflection_app.reviews.models import Review, ReviewState

# The newest ones count; so many are read in a moment.
MOST_ITEMS = 20_000
CRITIC, PERSON = "critic", "person"

# By an item, who gave which value and its worth.
Unit = dict[str, tuple[str, float]]


@dataclass(frozen=True)
class CriterionAgreement:
    """Of one criterion: `rated` by critic and person, and by several people on `panels`. None: nothing can be said.

    `above` is how much more the critic gives than people do, in points of 100.
    """

    criterion: str
    name: str
    rated: int
    same: Interval | None
    above: float | None
    alpha: float | None
    panels: int
    people_same: float | None
    people_alpha: float | None

    @property
    def is_known(self) -> bool:
        return bool(self.rated or self.panels)


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
    beside_critic = {verdict_id: {CRITIC: critic, PERSON: person} for verdict_id, critic, person in told}
    panels = complete_panels(project_id, since=since, until=until).values("pk")
    seats = Review.objects.filter(panel__in=panels, opinion__isnull=False, decided_by_key__isnull=True)
    by_panel: dict[UUID, dict[str, list[dict[str, object]]]] = defaultdict(dict)
    of_seats = seats.order_by("-decided_at").values_list("panel_id", "decided_by_label", "opinion__ratings")
    for panel_id, who, ratings in of_seats[:MOST_ITEMS]:
        if ratings:
            by_panel[panel_id][who] = ratings
    return [
        figures_of(
            criterion,
            beside_critic=[units_of(one, criterion) for one in beside_critic.values()],
            people=[units_of(one, criterion) for one in by_panel.values()],
        )
        for criterion in criteria
        if criterion.scale is not Scale.TEXT
    ]


def units_of(said: "dict[str, list[dict[str, object]]]", criterion: Criterion) -> Unit:
    """Who gave which of the criterion's values."""
    unit: Unit = {}
    for who, ratings in said.items():
        for rating in map(Rating.model_validate, ratings):
            if rating.criterion == criterion.key and rating.value in criterion.values and rating.worth is not None:
                unit[who] = rating.value, rating.worth
    return unit


def figures_of(criterion: Criterion, *, beside_critic: Sequence[Unit], people: Sequence[Unit]) -> CriterionAgreement:
    """The figures over what was rated. Pure."""
    pairs = [unit for unit in beside_critic if len(unit) > 1]
    shared = [unit for unit in people if len(unit) > 1]
    # Points have an order, and so has passing; categories are names.
    order = () if criterion.scale is Scale.CATEGORY else criterion.values
    values = [{who: value for who, (value, _) in unit.items()} for unit in pairs]
    of_people = [{who: value for who, (value, _) in unit.items()} for unit in shared]
    same = sum(unit[CRITIC] == unit[PERSON] for unit in values)
    return CriterionAgreement(
        criterion=criterion.key,
        name=criterion.name,
        rated=len(pairs),
        same=wilson(same, len(pairs)),
        above=fmean(unit[CRITIC][1] - unit[PERSON][1] for unit in pairs) if pairs else None,
        alpha=krippendorffs_alpha(values, order=order),
        panels=len(shared),
        people_same=percent_agreement(of_people),
        people_alpha=krippendorffs_alpha(of_people, order=order),
    )
