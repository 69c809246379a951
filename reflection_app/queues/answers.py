"""Queues as REST tells them."""

from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer
from reflection_app.loops.project_settings import GoalMinutes
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.routing import read_rule
from reflection_app.reviews.filters import ReviewFilter


class QueueRuleAnswer(ReviewFilter):
    """A rule, including its empty conditions."""


class QueueAnswer(Answer):
    """A review queue. `rule` is null if it refers to something that no longer exists; then no review matches it."""

    id: UUID
    name: str
    position: int = Field(description="position in the order; a review is in the first queue whose rule it matches")
    rule: QueueRuleAnswer | None
    members: list[str] = Field(description="usernames of its reviewers; empty for everyone who may review")
    goal_minutes: GoalMinutes | None = Field(
        description="response-time target in minutes; null uses the project's target"
    )
    created_at: AwareDatetime


class QueueList(Answer):
    queues: list[QueueAnswer] = Field(description="queues in order")


def queue_answer(queue: ReviewQueue) -> QueueAnswer:
    members = queue.members.order_by("user__username").values_list("user__username", flat=True)
    rule = read_rule(queue)
    told = None if rule is None else QueueRuleAnswer(**rule.model_dump())
    return QueueAnswer.from_row(queue, rule=told, members=list(members))
