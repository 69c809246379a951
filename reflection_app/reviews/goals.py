"""How long what waits for people may wait, by the project's goals; what is overdue. The decision is pure.

A named queue may have a goal of its own, which holds for its reviews in place of the project's.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db.models import Q, QuerySet

from reflection_app.core.models import Project
from reflection_app.queues.eligibility import outside
from reflection_app.queues.models import ReviewQueue
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
    """When the review is due; None where it waits for nobody any more, or has no goal.

    Ask for reviews with their queue (`select_related("queue")`).
    """
    if not review.is_open:
        return None
    return due_of(review.created_at, goal_minutes=review_goal(review, project=project), now=now)


def review_goal(review: Review, *, project: Project) -> int | None:
    """Within how many minutes the review is to be decided: by its queue, else by the project."""
    return goal_within(review.queue, project=project)


def goal_within(queue: ReviewQueue | None, *, project: Project) -> int | None:
    """The goal of what is in the queue, or in none."""
    if queue is not None and queue.goal_minutes is not None:
        return queue.goal_minutes
    return project.get_waiting().review_goal_minutes


def review_goals(project: Project) -> list[tuple[int, Q]]:
    """Each goal that there is for reviews, in minutes, with what the reviews are that it holds for."""
    own = dict(
        ReviewQueue.objects.filter(project=project, goal_minutes__isnull=False).values_list("pk", "goal_minutes")
    )
    goals = [(minutes, Q(queue=queue)) for queue, minutes in own.items() if minutes is not None]
    usual = project.get_waiting().review_goal_minutes
    return goals if usual is None else [*goals, (usual, outside(own))]


def question_due(question: Question, *, project: Project, now: datetime) -> Due | None:
    """The same of a question."""
    if question.state != QuestionState.OPEN:
        return None
    return due_of(question.created_at, goal_minutes=project.get_waiting().question_goal_minutes, now=now)


def overdue_reviews(project: Project, *, now: datetime) -> QuerySet[Review]:
    """The project's open reviews that have waited longer than their goal."""
    late = Q(pk__in=[])
    for goal, of in review_goals(project):
        late |= of & due_before(goal, now=now)
    return Review.objects.filter(late, project=project, state__in=OPEN)


def overdue_questions(project: Project, *, now: datetime) -> QuerySet[Question]:
    """The same of questions."""
    goal = project.get_waiting().question_goal_minutes
    return Question.objects.filter(due_before(goal, now=now), project=project, state=QuestionState.OPEN)


def due_before(goal_minutes: int | None, *, now: datetime) -> Q:
    """What has waited longer than this goal, whatever it is; nothing where there is none."""
    return Q(pk__in=[]) if goal_minutes is None else Q(created_at__lte=now - timedelta(minutes=goal_minutes))
