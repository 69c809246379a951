"""The runs whose reviews a figure of the review desk, or a bar of one, was counted from."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from reflection_app.metrics.overruled_critics import decided_about_critics
from reflection_app.metrics.review_figures import AGES, OLDER, OVERRULED, age_at, decided_reviews, open_reviews
from reflection_app.metrics.runs_behind import NO, YES
from reflection_app.metrics.values import Chosen
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run

DECIDED = frozenset({"decided", "time_to_decision_p50_s", "time_to_decision_p95_s", "overrule_rate"})
QUEUE = frozenset({"queue_length", "oldest_age_s"})
FAMILIES = frozenset({"reviewers", "keys", "critics", "reasons"})
WAITING = "ages"
# What is told of this moment, whatever the period.
OF_NOW = QUEUE | {WAITING}
OF_REVIEWS = DECIDED | OF_NOW | FAMILIES


def runs_behind_reviews(project_id: UUID, chosen: Chosen, figure: str, key: str = "") -> QuerySet[Run]:
    """The runs, in no order. Of the rate of overruling, `yes` are those where somebody did, and `no` the others.

    Raises ValueError where there is no such figure.
    """
    return Run.objects.filter(project=project_id, pk__in=_reviews(project_id, chosen, figure, key).values("run"))


def _reviews(project_id: UUID, chosen: Chosen, figure: str, key: str) -> QuerySet[Review]:
    if figure in QUEUE:
        return open_reviews(project_id, chosen)
    if figure == WAITING:
        if key not in {*AGES, OLDER}:
            raise ValueError(f"ages are {', '.join((*AGES, OLDER))}")
        return open_reviews(project_id, chosen).annotate(age=age_at(timezone.now())).filter(age=key)
    decided = decided_reviews(project_id, chosen, by_keys=figure == "keys")
    if figure in DECIDED:
        return decided.filter({YES: OVERRULED, NO: ~OVERRULED}.get(key, Q()))
    if figure == "critics":
        return decided_about_critics(decided).filter(Q(critic=key))
    if figure in FAMILIES:
        return decided.filter(**{"reason" if figure == "reasons" else "decided_by_label": key})
    raise ValueError(f"there is no figure of reviews named {figure[:60]}")
