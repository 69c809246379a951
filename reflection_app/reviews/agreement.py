"""How far a project's blind reviewers agree: over the panels whose last opinion came in during a period."""

from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from itertools import combinations
from uuid import UUID

from django.db.models import QuerySet

from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.metrics.statistics import cohens_kappa, krippendorffs_alpha, percent_agreement
from reflection_app.reviews.models import Panel, Review, ReviewState

# With fewer things that both have judged, one more would turn the figure round.
FEWEST_IN_COMMON = 5
# The newest ones count; so many are read in a moment.
MOST_PANELS = 20_000


@dataclass(frozen=True)
class PairAgreement:
    """Two people, the panels that both sat on, and how far they agreed there. κ is None where there are too few."""

    first: str
    second: str
    panels: int
    agreed: float
    kappa: float | None


@dataclass(frozen=True)
class PanelAgreement:
    """Of the panels of the period on which two people or more sat; what keys said there is left out.

    α is None where nothing can be said: no panels, or nothing but one verdict. `with_keys` are the panels on which a
    key sat, whether or not two people did.
    """

    panels: int
    unanimous: int
    agreed: float | None
    alpha: float | None
    pairs: tuple[PairAgreement, ...]
    with_keys: int = 0

    @property
    def unanimous_share(self) -> float | None:
        return self.unanimous / self.panels if self.panels else None


def complete_panels(project_id: UUID, *, since: datetime, until: datetime) -> QuerySet[Panel]:
    """The panels of which every opinion is in, newest first.

    A dispute that its run's end has withdrawn counts as well: panels that agree are settled at once, so leaving it out
    would make people agree more than they do. Left out are those where somebody had read the others before giving an
    opinion anew, and those about which attempt to keep, which is another question than a verdict's.
    """
    in_period = {"complete_at__gte": since, "complete_at__lt": until}
    complete = Panel.objects.filter(project=project_id, agreed__isnull=False, was_reopened=False, **in_period)
    return complete.exclude(reason__in=(ReviewReason.UNSETTLED_PICK, ReviewReason.BROKEN_TESTS)).order_by(
        "-complete_at", "-id"
    )


def ratings_of(panels: Iterable[UUID]) -> dict[UUID, dict[str, str]]:
    """By panel, which person gave which verdict."""
    seats = spoken(panels).filter(decided_by_key__isnull=True)
    found: dict[UUID, dict[str, str]] = defaultdict(dict)
    for panel_id, who, verdict in seats.values_list("panel_id", "decided_by_label", "opinion__verdict"):
        found[panel_id][who] = str(verdict)
    return found


def spoken(panels: Iterable[UUID]) -> QuerySet[Review]:
    """The seats of the panels whose opinions are in, of people and of keys."""
    return Review.objects.filter(panel__in=list(panels), state=ReviewState.DECIDED, opinion__isnull=False)


def agreement_of(project_id: UUID, *, since: datetime, until: datetime) -> PanelAgreement:
    """The figures of the period."""
    ids = list(complete_panels(project_id, since=since, until=until).values_list("pk", flat=True)[:MOST_PANELS])
    units = [unit for unit in ratings_of(ids).values() if len(unit) > 1]
    with_keys = spoken(ids).filter(decided_by_key__isnull=False).values("panel").distinct().count()
    return replace(figures(units), with_keys=with_keys)


def figures(units: Sequence[Mapping[str, str]]) -> PanelAgreement:
    """The figures over what was judged. Pure."""
    both: dict[tuple[str, str], list[tuple[str, str]]] = defaultdict(list)
    for unit in units:
        for first, second in combinations(sorted(unit), 2):
            both[first, second].append((unit[first], unit[second]))
    # Those who judged most in common first.
    in_order = sorted(both.items(), key=lambda item: (-len(item[1]), item[0]))
    return PanelAgreement(
        panels=len(units),
        unanimous=sum(len(set(unit.values())) == 1 for unit in units),
        agreed=percent_agreement(units),
        alpha=krippendorffs_alpha(units),
        pairs=tuple(
            PairAgreement(
                first=first,
                second=second,
                panels=len(ratings),
                agreed=sum(one == other for one, other in ratings) / len(ratings),
                kappa=cohens_kappa(ratings) if len(ratings) >= FEWEST_IN_COMMON else None,
            )
            for (first, second), ratings in in_order
        ),
    )
