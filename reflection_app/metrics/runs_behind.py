"""The runs that a figure, or a bar, was counted from."""

from collections.abc import Mapping
from typing import Final
from uuid import UUID

from django.db.models import Q, QuerySet
from django.utils import timezone

from reflection_app.loops.storable import is_storable
from reflection_app.metrics.calibration import decided_about_critics
from reflection_app.metrics.definitions import Chosen
from reflection_app.metrics.figures import FAMILIES as FAMILIES_OF_RUNS
from reflection_app.metrics.figures import asked_for, finished_within
from reflection_app.metrics.models import RunFigure
from reflection_app.metrics.review_figures import AGES, OLDER, OVERRULED, age_at, decided_reviews, open_reviews
from reflection_app.metrics.run_facts import LATENCIES, LONGER
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Run

YES, NO = "yes", "no"
COUNTED = Q(is_counted=True)
ENABLED = Q(enabled=1)
TOOK: Final = Q(prompt_tokens__gt=0) | Q(completion_tokens__gt=0) | Q(cost_usd__gt=0)

# Over which runs a figure is computed, and which of them count in its favour.
BEHIND: Mapping[str, tuple[Q, Q]] = {
    "runs": (COUNTED, COUNTED),
    "success_rate": (COUNTED, Q(succeeded=1)),
    "reflection_enabled_tasks": (ENABLED, ENABLED),
    "success_rate_without_reflection": (ENABLED, Q(enabled_first_succeeded=1)),
    "success_rate_with_reflection": (ENABLED, Q(enabled_succeeded=1)),
    "improvement_rate": (Q(enabled_first_failed=1), Q(improved=1)),
    "success_on_first_try": (Q(told=1), Q(first_succeeded=1)),
    "total_reasoning_attempts": (Q(attempted=1), Q(attempted=1)),
    "avg_iterations_per_task": (Q(attempted=1), Q(attempted=1)),
    "avg_iterations_to_success": (Q(attempted_succeeded=1), Q(attempted_succeeded=1)),
    "avg_latency_per_iteration_ms": (Q(attempted=1), Q(attempted=1)),
    "avg_tokens_per_reflection": (Q(reflections__gt=0) | Q(reflection_tokens__gt=0), Q(reflections__gt=0)),
    "reflection_effectiveness": (Q(reflections__gt=0), Q(effective__gt=0)),
    "over_correction_rate": (Q(scored_twice=1), Q(over_corrected=1)),
    "found_incomplete": (Q(checks_complete__gt=0) | Q(checks_incomplete__gt=0), Q(checks_incomplete__gt=0)),
    "supplements_per_task": (Q(checked=1), Q(supplements__gt=0)),
    "exec_used": (Q(exec_used=1), Q(exec_used=1)),
    "exec_attempted": (Q(exec_attempted__gt=0), Q(exec_attempted__gt=0)),
    "exec_succeeded": (Q(exec_succeeded__gt=0), Q(exec_succeeded__gt=0)),
    "exec_success_rate": (Q(exec_attempted__gt=0), Q(exec_succeeded__gt=0)),
    "tokens": (TOOK, TOOK),
    "cost_usd": (Q(cost_usd__gt=0), Q(cost_usd__gt=0)),
    "cost_usd_per_success": (Q(succeeded=1), Q(succeeded=1)),
}
COLUMNS: Mapping[str, str] = {
    "modes": "mode",
    "agents": "agent",
    "models": "model",
    "kinds": "kind",
    "outcomes": "outcome",
    "referees": "referee",
    "latency": "latency",
}
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
    if figure in BEHIND:
        over, favour = BEHIND[figure]
        if key not in {"", YES, NO}:
            raise ValueError(f"the figure {figure} has the keys {YES} and {NO}, or none")
        return over if not key else over & favour if key == YES else over & ~favour
    if figure == SPEND and BETWEEN in key:
        role, model = key.split(BETWEEN, 1)
        return Q(spend__role=role, spend__spent_on=model)
    if figure not in FAMILIES_OF_RUNS:
        raise ValueError(f"there is no figure and no chart named {figure[:60]}")
    return COUNTED & _of_bar(figure, key)


def _of_bar(family: str, key: str) -> Q:
    if family == "failures":
        return Q(failures__contains=[key])
    if family == "attempts_to_success":
        if not (key.isascii() and key.isdigit() and 1 <= int(key) <= 10_000):
            raise ValueError("a number of attempts is wanted here")
        return Q(attempts_to_success=int(key))
    if family == "latency" and key not in (*LATENCIES, LONGER):
        raise ValueError(f"latencies are {', '.join((*LATENCIES, LONGER))}")
    return Q(**{COLUMNS[family]: key})


# The runs whose reviews a figure of the review desk, or a bar of one, was counted from.

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
