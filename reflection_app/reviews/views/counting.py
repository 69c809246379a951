"""How many reviews stand in each view of the queue. Nobody needs more than "999+", and counting further costs time."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import IntegerField, QuerySet, Subquery
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.models import Review
from reflection_app.reviews.queue import QueueView, in_view
from reflection_app.runs.models import Question, QuestionState

MOST = 999
COUNTED_VIEWS = (QueueView.ALL, QueueView.MINE, QueueView.UNCLAIMED, QueueView.SKIPPED)


class CountUpTo(Subquery):
    """Counts rows up to `most` + 1, or all of them if `most` is None."""

    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()
    empty_result_set_value = 0

    def __init__(self, rows: QuerySet[Any], *, most: int | None = MOST) -> None:
        super().__init__(rows.order_by().values("pk")[: None if most is None else most + 1])


@dataclass(frozen=True)
class Counts:
    """How many reviews stand in each of the counted views, and how many questions are open besides."""

    views: Mapping[QueueView, int]
    questions: int

    @property
    def waiting(self) -> int:
        """How many of all wait for a person, as far as anybody tells it."""
        return up_to_most(self.views[QueueView.ALL] + self.questions)


def count_views(project: Project, *, actor: Actor) -> Counts:
    """One query."""
    rows, now = Review.objects.filter(project=project), timezone.now()
    counted = Project.objects.filter(pk=project.pk).annotate(
        **{f"count_{view}": CountUpTo(rows.filter(in_view(view, actor=actor, now=now))) for view in COUNTED_VIEWS},
        count_questions=CountUpTo(open_questions(project)),
    )
    found = counted.values(*(f"count_{view}" for view in COUNTED_VIEWS), "count_questions").get()
    return Counts({view: found[f"count_{view}"] for view in COUNTED_VIEWS}, found["count_questions"])


def count_up_to(rows: QuerySet[Review]) -> int:
    """How many rows there are, none counted past the first that is too many to tell."""
    return rows.order_by().values("pk")[: MOST + 1].count()


def open_questions(project: Project) -> QuerySet[Question]:
    return Question.objects.filter(project=project, state=QuestionState.OPEN)


def up_to_most(count: int) -> int:
    """Return `count`, or the first that is too many to show."""
    return min(count, MOST + 1)
