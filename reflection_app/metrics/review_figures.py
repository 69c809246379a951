"""The figures of the review desk: the queue as it is now, and the decisions of a period."""

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, time, timedelta
from typing import Any
from uuid import UUID

from django.db.models import Aggregate, Case, Count, DurationField, ExpressionWrapper, F, Min, Q, QuerySet, Value, When
from django.db.models.fields import CharField
from django.db.models.functions import Trunc
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.core.streamed import csv_lines
from reflection_app.loops.attempt_effects import Decision
from reflection_app.metrics.calibration import decided_about_critics
from reflection_app.metrics.definitions import Bar, Chosen, Figure, Metrics, Point, figure
from reflection_app.metrics.figures import Step, pieces_of
from reflection_app.reviews.goals import overdue_reviews, review_goals
from reflection_app.reviews.models import OPEN, PanelState, Review, ReviewState

# How long open reviews have waited: up to so much each, and above the one before.
AGES: Mapping[str, timedelta] = {
    "1h": timedelta(hours=1),
    "4h": timedelta(hours=4),
    "1d": timedelta(days=1),
    "3d": timedelta(days=3),
    "1w": timedelta(weeks=1),
}
OLDER = "longer"
MOST_NAMES = 100
OVERRULED = Q(decision=Decision.OVERRULE.value)
TOOK = ExpressionWrapper(F("decided_at") - F("created_at"), output_field=DurationField())


class Percentile(Aggregate):
    """PostgreSQL's `percentile_cont`: between the two nearest values where none stands just there."""

    function = "percentile_cont"
    template = "%(function)s(%(share)s) WITHIN GROUP (ORDER BY %(expressions)s)"

    def __init__(self, expression: Any, *, share: float) -> None:
        super().__init__(expression, share=share, output_field=DurationField())


COUNTED: Mapping[str, Aggregate] = {
    "count": Count("pk"),
    "overruled": Count("pk", filter=OVERRULED),
    "p50": Percentile(TOOK, share=0.5),
    "p95": Percentile(TOOK, share=0.95),
}


NOTHING: Mapping[str, Any] = {"count": 0, "overruled": 0, "p50": None, "p95": None}


@dataclass(frozen=True)
class Overruled:
    """Overrule rate of one reviewer or one critic. `share` has a 95 % interval.

    `name` is the label of a reviewer or the model of a critic.
    """

    name: str
    decided: int
    overruled: int
    share: Figure


@dataclass(frozen=True)
class ReviewFigures:
    """The queue is as it is now, whatever the period; all else is of the decisions from `since` to `until`.

    Figures: queue_length, oldest_age_s, overdue (all of now); decided, time_to_decision_p50_s,
    time_to_decision_p95_s, overrule_rate. `before` and `points` have the last four. `ages` counts open reviews by how
    long they have waited, in order: 1h, 4h, 1d, 3d, 1w, longer (each up to that and above the one before). A critic is
    overruled once where several people judged one verdict; a reviewer's own opinions count each. `reasons` are why what
    was decided had been put before people.

    All of it is of people's decisions; those of keys are in `by_key` alone.
    """

    chosen: Chosen
    figures: Mapping[str, Figure]
    before: Mapping[str, Figure]
    points: tuple[Point, ...] = ()
    ages: tuple[Bar, ...] = ()
    by_reviewer: tuple[Overruled, ...] = ()
    by_key: tuple[Overruled, ...] = ()
    by_critic: tuple[Overruled, ...] = ()
    reasons: Mapping[str, int] = field(default_factory=dict)


def review_figures(project_id: UUID, chosen: Chosen, *, now: datetime | None = None) -> ReviewFigures:
    """The figures of the project's reviews. What people say blindly at an open panel is in none of them."""
    now = now or timezone.now()
    waiting = open_reviews(project_id, chosen).annotate(age=age_at(now)).values("age")
    by_age = {row["age"]: row for row in waiting.annotate(count=Count("pk"), oldest=Min("created_at"))}
    length = sum(row["count"] for row in by_age.values())
    oldest = min((row["oldest"] for row in by_age.values()), default=None)
    age_s = max(0.0, (now - oldest).total_seconds()) if oldest else None
    project = Project.objects.get(pk=project_id)
    has_goal = bool(review_goals(project))
    late = open_reviews(project_id, chosen).filter(pk__in=overdue_reviews(project, now=now).values("pk")).count()
    queue = {
        "queue_length": figure("queue_length", length, length),
        "overdue": figure("overdue", late if has_goal else None, length),
        "oldest_age_s": figure("oldest_age_s", age_s, length),
    }
    ages = tuple(Bar(key=name, count=by_age[name]["count"] if name in by_age else 0) for name in (*AGES, OLDER))
    decided = decided_reviews(project_id, chosen)
    step, pieces = pieces_of(chosen)
    rows = decided.annotate(at=Trunc("decided_at", step.value, tzinfo=UTC)).values("at").annotate(**COUNTED)
    by_time = {row["at"]: row for row in rows}
    points = []
    for piece in pieces:
        # Where the database begins the day or week that the piece begins in.
        first = piece.begin - timedelta(days=piece.begin.weekday()) if step is Step.WEEK else piece.begin
        at = datetime.combine(first, time(), tzinfo=UTC)
        points.append(Point(start=piece.begin.isoformat(), figures=_figures(by_time.get(at, NOTHING))))
    reasons = decided.values("reason").annotate(count=Count("pk")).order_by("-count", "reason")
    return ReviewFigures(
        chosen=chosen,
        figures=queue | _figures(decided.aggregate(**COUNTED)),
        before=_figures(decided_reviews(project_id, chosen.before()).aggregate(**COUNTED)),
        points=tuple(points),
        ages=ages if length else (),
        by_reviewer=_overruled(decided.values(name=F("decided_by_label"))),
        by_key=_overruled(decided_reviews(project_id, chosen, by_keys=True).values(name=F("decided_by_label"))),
        by_critic=_overruled(decided_about_critics(decided).values(name=F("critic"))),
        reasons={row["reason"]: row["count"] for row in reasons},
    )


def open_reviews(project_id: UUID, chosen: Chosen) -> QuerySet[Review]:
    """What waits for people now, of scripted runs as well."""
    return Review.objects.filter(of_the_choice(chosen), project=project_id, state__in=OPEN).order_by()


def age_at(now: datetime) -> Case:
    """The bar of `ages` that a review belongs to."""
    return Case(
        *(When(created_at__gte=now - most, then=Value(name)) for name, most in AGES.items()),
        default=Value(OLDER),
        output_field=CharField(),
    )


def decided_reviews(project_id: UUID, chosen: Chosen, *, by_keys: bool = False) -> QuerySet[Review]:
    """What people, or else keys, decided in the period, in no order; nothing that is still said blindly."""
    is_public = Q(panel__isnull=True) | ~Q(panel__state=PanelState.OPEN)
    return Review.objects.filter(
        is_public & of_the_choice(chosen),
        project=project_id,
        run__is_scripted=chosen.scripted,
        state=ReviewState.DECIDED,
        decided_by_key__isnull=not by_keys,
        decided_at__gte=chosen.begin,
        decided_at__lt=chosen.end,
    ).order_by()


def of_the_choice(chosen: Chosen) -> Q:
    """By the run that the verdict is of; the model is the one that made the attempt."""
    wanted = {"run__task__agent": chosen.agent, "run__mode": chosen.mode, "attempt__step__model": chosen.model}
    found = Q(**{name: value for name, value in wanted.items() if value})
    # The type that a classifier gave to a task is known of finished runs.
    return found & (Q(run__task__kind=chosen.kind) | Q(run__figure__kind=chosen.kind)) if chosen.kind else found


def _figures(row: Mapping[str, Any]) -> dict[str, Figure]:
    count = row["count"]
    values = {
        "decided": count,
        "overrule_rate": row["overruled"] / count if count else None,
        "time_to_decision_p50_s": row["p50"].total_seconds() if row["p50"] else None,
        "time_to_decision_p95_s": row["p95"].total_seconds() if row["p95"] else None,
    }
    return {name: figure(name, value, count) for name, value in values.items()}


def _overruled(rows: Iterable[Any]) -> tuple[Overruled, ...]:
    """By name, those of whom most was decided first."""
    counted = rows.annotate(count=Count("pk"), overruled=Count("pk", filter=OVERRULED))  # type: ignore[attr-defined]
    found = counted.order_by("-count", "name").values_list("name", "count", "overruled")[:MOST_NAMES]
    return tuple(
        Overruled(name, count, overruled, figure("overrule_rate", overruled / count, count))
        for name, count, overruled in found
    )


# Figures as lines of one table, for spreadsheets and scripts. Pure.

COLUMNS = ("what", "name", "key", "start", "value", "unit", "of", "low", "high")
type Line = tuple[object, ...]


def as_csv(found: Metrics | ReviewFigures) -> str:
    """The table with its heading."""
    return csv_lines([COLUMNS, *_lines(found)])


def _lines(found: Metrics | ReviewFigures) -> Iterator[Line]:
    several = [("figure", "", found.figures), ("figure_before", "", found.before)]
    several += [("point", point.start, point.figures) for point in found.points]
    for what, start, figures in several:
        for name, one in figures.items():
            yield (what, name, "", start, one.value, one.unit.value, one.of, one.low, one.high)
    for family, bars in (found.bars if isinstance(found, Metrics) else {"ages": found.ages}).items():
        yield from (("bar", family, bar.key, "", bar.count, "count", "", "", "") for bar in bars)
    if isinstance(found, Metrics):
        for spend in found.spend:
            of = f"{spend.role}:{spend.model}"
            for name in ("calls", "prompt_tokens", "completion_tokens"):
                yield ("spend", name, of, "", getattr(spend, name), "", "", "", "")
            yield ("spend", "cost_usd", of, "", spend.known_cost_usd, "", "", "", "")
        for task in found.dearest_tasks:
            yield ("task", "tokens", task.task_id, "", task.tokens, "tokens", "", "", "")
            yield ("task", "cost_usd", task.task_id, "", task.known_cost_usd, "usd", "", "", "")
        return
    for by in ("by_critic", "by_reviewer", "by_key"):
        for one in getattr(found, by):
            share = one.share
            yield (by, "overrule_rate", one.name, "", share.value, share.unit.value, share.of, share.low, share.high)
