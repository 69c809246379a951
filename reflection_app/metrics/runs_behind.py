"""The runs that a figure, or a bar, was counted from."""

from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.storable import is_storable
from reflection_app.metrics.calibration import decided_about_critics
from reflection_app.metrics.definitions import COLUMNS, FIGURES, Chosen
from reflection_app.metrics.figures import asked_for, finished_within
from reflection_app.metrics.models import RunFigure
from reflection_app.metrics.review_figures import AGES, OLDER, OVERRULED, age_at, decided_reviews, open_reviews
from reflection_app.reviews.goals import overdue_reviews
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run

YES, NO = "yes", "no"
# What `spend` leads by: the role and the model of a bar, told apart by a character that is in neither.
SPEND, BETWEEN = "spend", "|"


def runs_behind(project_id: UUID, chosen: Chosen, figure: str, key: str = "") -> QuerySet[Run]:
    """The runs, in no order.

    Of a figure those that it is computed over; with `key` `yes` those that count in its favour, with `no` the others
    of them. Of a family of bars (see `Metrics.bars`) those of the bar `key`; of `spend` those in which the role and the
    model of `role|model` took something. Runs that were deleted since are not among them.
    Raises ValueError where there is no such figure or bar.
    """
    rows = RunFigure.objects.filter(
        _behind(figure, key), project=project_id, run__isnull=False, **asked_for(chosen), **finished_within(chosen)
    )
    return Run.objects.filter(project=project_id, pk__in=rows.values("run"))


def _behind(figure: str, key: str) -> Q:
    if not is_storable(key):
        raise ValueError("no bar is named by characters that cannot be stored")
    if (definition := FIGURES.get(figure)) and definition.sums:
        over, favour = definition.runs_behind()
        if key not in {"", YES, NO}:
            raise ValueError(f"the figure {figure} has the keys {YES} and {NO}, or none")
        return over if not key else over & favour if key == YES else over & ~favour
    if figure == SPEND and BETWEEN in key:
        role, model = key.split(BETWEEN, 1)
        return Q(spend__role=role, spend__spent_on=model)
    if figure not in COLUMNS:
        raise ValueError(f"there is no figure and no chart named {figure[:60]}")
    if figure == "attempts_to_success" and not (key.isascii() and key.isdigit() and 1 <= int(key) <= 10_000):
        raise ValueError("a number of attempts is wanted here")
    if figure == "failures":
        return Q(is_counted=True, failures__contains=[key])
    return Q(**{"is_counted": True, COLUMNS[figure]: int(key) if figure == "attempts_to_success" else key})


# The runs whose reviews a figure of the review desk, or a bar of one, was counted from.

DECIDED = frozenset({"decided", "time_to_decision_p50_s", "time_to_decision_p95_s", "overrule_rate"})
LATE = "overdue"
QUEUE = frozenset({"queue_length", "oldest_age_s", LATE})
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
    if figure == LATE:
        late = overdue_reviews(Project.objects.get(pk=project_id), now=timezone.now())
        return open_reviews(project_id, chosen).filter(pk__in=late.values("pk"))
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
