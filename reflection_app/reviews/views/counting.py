"""How many reviews stand in each view of the queue. Nobody needs more than "999+", and counting further costs time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, JSONField, QuerySet, Subquery
from django.db.models.expressions import RawSQL
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.reviews.models import OPEN, Review
from reflection_app.reviews.queue import QueueView, in_view
from reflection_app.runs.models import Question, QuestionState

MOST = 999
COUNTED_VIEWS = (QueueView.MINE, QueueView.UNCLAIMED, QueueView.SKIPPED)


class CountUpTo(Subquery):
    """How many rows there are, none counted past the first that is too many to tell."""

    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()

    def __init__(self, rows: QuerySet[Any], *, most: int = MOST) -> None:
        super().__init__(rows.order_by().values("pk")[: most + 1])


@dataclass(frozen=True)
class Counts:
    """How many open reviews stand in each view and have each reason, and how many questions are open besides."""

    views: Mapping[QueueView, int]
    reasons: Mapping[ReviewReason, int]
    questions: int

    @property
    def waiting(self) -> int:
        """How many of all wait for a person, as far as anybody tells it."""
        return min(self.views[QueueView.ALL] + self.questions, MOST + 1)


# One text for all reasons: as a subquery for each of them, made by the ORM, it takes as long to write as to answer.
BY_REASON = """(
    SELECT jsonb_object_agg(reason, (
        SELECT count(*) FROM (
            SELECT FROM reflection_app_review review
            WHERE review.project_id = reflection_app_project.id AND review.reason = named.reason
                AND review.state IN ('waiting', 'claimed')
            LIMIT %s
        ) counted
    )) FROM unnest(%s::text[]) named (reason)
)"""


def count_views(project: Project, *, actor: Actor) -> Counts:
    """One query."""
    rows, now = Review.objects.filter(project=project), timezone.now()
    reasons = [reason.value for reason in ReviewReason]
    views = {view.value: CountUpTo(rows.filter(in_view(view, actor=actor, now=now))) for view in COUNTED_VIEWS}
    counted = Project.objects.filter(pk=project.pk).annotate(
        **{f"count_{name}": count for name, count in views.items()},
        by_reason=RawSQL(BY_REASON, (MOST + 1, reasons), output_field=JSONField()),  # noqa: S611 - a text of ours
        count_questions=CountUpTo(open_questions(project)),
    )
    found = counted.values(*(f"count_{name}" for name in views), "by_reason", "count_questions").get()
    by_reason = {ReviewReason(name): count for name, count in found["by_reason"].items()}
    return Counts(
        # Each open review has one reason.
        views={QueueView.ALL: min(sum(by_reason.values()), MOST + 1)}
        | {view: found[f"count_{view.value}"] for view in COUNTED_VIEWS},
        reasons=by_reason,
        questions=found["count_questions"],
    )


def count_up_to(rows: QuerySet[Review]) -> int:
    """How many rows there are, none counted past the first that is too many to tell."""
    return rows.order_by().values("pk")[: MOST + 1].count()


def open_questions(project: Project) -> QuerySet[Question]:
    return Question.objects.filter(project=project, state=QuestionState.OPEN)


def open_reviews(project: Project) -> int:
    """How many verdicts and questions of the project wait for a person, as far as anybody tells it."""
    questions = open_questions(project)[: MOST + 1].count()
    return min(count_up_to(Review.objects.filter(project=project, state__in=OPEN)) + questions, MOST + 1)
