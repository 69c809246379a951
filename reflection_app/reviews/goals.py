"""How long what waits for people may wait, by the project's goals; what is overdue. The decision is pure."""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from reflection_app.core.models import Project
from reflection_app.reviews.models import OPEN, Review
from reflection_app.runs.models import Question, QuestionState


@dataclass(frozen=True)
class Due:
    """When something is to be answered at the latest, as seen at one moment."""

    at: datetime
    is_overdue: bool


def due_of(since: datetime, *, goal_minutes: int | None, now: datetime) -> Due | None:
    """When what waits since then is due; None where there is no goal."""
    if goal_minutes is None:
        return None
    at = since + timedelta(minutes=goal_minutes)
    return Due(at=at, is_overdue=at <= now)


def review_due(review: Review, *, project: Project, now: datetime) -> Due | None:
    """When the review is due; None where it waits for nobody any more, or has no goal."""
    if not review.is_open:
        return None
    return due_of(review.created_at, goal_minutes=project.get_waiting().review_goal_minutes, now=now)


def question_due(question: Question, *, project: Project, now: datetime) -> Due | None:
    """The same of a question."""
    if question.state != QuestionState.OPEN:
        return None
    return due_of(question.created_at, goal_minutes=project.get_waiting().question_goal_minutes, now=now)


def overdue_reviews(project: Project, *, now: datetime) -> QuerySet[Review]:
    """The project's open reviews that have waited longer than the goal."""
    goal = project.get_waiting().review_goal_minutes
    return Review.objects.filter(_older(goal, now=now), project=project, state__in=OPEN)


def overdue_questions(project: Project, *, now: datetime) -> QuerySet[Question]:
    """The same of questions."""
    goal = project.get_waiting().question_goal_minutes
    return Question.objects.filter(_older(goal, now=now), project=project, state=QuestionState.OPEN)


def _older(goal_minutes: int | None, *, now: datetime) -> Q:
    return Q(pk__in=[]) if goal_minutes is None else Q(created_at__lte=now - timedelta(minutes=goal_minutes))
