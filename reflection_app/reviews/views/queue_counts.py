"""How many reviews stand in each view of the queue. Nobody needs more than "999+", and counting further costs time."""

from django.db.models import IntegerField, Q, QuerySet, Subquery
from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.effects import ReviewReason
from reflection_app.reviews.models.review import OPEN, Review
from reflection_app.reviews.review_views import QueueView, in_view
from reflection_app.runs.models import Question, QuestionState

MOST = 999
COUNTED_VIEWS = (QueueView.ALL, QueueView.MINE, QueueView.UNCLAIMED, QueueView.SKIPPED)


class CountUpTo(Subquery):
    """How many rows there are, none counted past the first that is too many to tell."""

    template = "(SELECT count(*) FROM (%(subquery)s) counted)"
    output_field = IntegerField()

    def __init__(self, rows: QuerySet[Review]) -> None:
        super().__init__(rows.order_by().values("pk")[: MOST + 1])


def count_views(project: Project, *, actor: Actor) -> dict[str, int]:
    """By the name of a view or of a reason, how many open reviews it has; one query."""
    rows, now = Review.objects.filter(project=project), timezone.now()
    wanted = {view.value: in_view(view, actor=actor, now=now) for view in COUNTED_VIEWS}
    wanted |= {f"reason_{reason.value}": Q(state__in=OPEN, reason=reason.value) for reason in ReviewReason}
    counted = Project.objects.filter(pk=project.pk)
    counted = counted.annotate(**{f"count_{name}": CountUpTo(rows.filter(which)) for name, which in wanted.items()})
    found = counted.values(*(f"count_{name}" for name in wanted)).get()
    return {name: found[f"count_{name}"] for name in wanted}


def count_up_to(rows: QuerySet[Review]) -> int:
    """How many rows there are, none counted past the first that is too many to tell."""
    return rows.order_by().values("pk")[: MOST + 1].count()


def open_reviews(project: Project) -> int:
    """How many verdicts and questions of the project wait for a person, as far as anybody tells it."""
    questions = Question.objects.filter(project=project, state=QuestionState.OPEN)[: MOST + 1].count()
    return min(count_up_to(Review.objects.filter(project=project, state__in=OPEN)) + questions, MOST + 1)
