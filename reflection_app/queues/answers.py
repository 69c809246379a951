"""Queues as REST tells them."""

from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.reading import Answer
from reflection_app.loops.project_settings import GoalMinutes
from reflection_app.queues.models import ReviewQueue
from reflection_app.queues.routing import read_rule
from reflection_app.reviews.filters import ReviewFilter


class QueueRuleAnswer(ReviewFilter):
    """A rule as it is answered, with all that it leaves open."""


class QueueAnswer(Answer):
    """A queue of reviews. `rule` is null where it names what the desk does not know any more: nothing fits it."""

    id: UUID
    name: str
    position: int = Field(description="a review is in the first queue whose rule it fits")
    rule: QueueRuleAnswer | None
    members: list[str] = Field(description="who is given its reviews; empty: everybody who may review")
    goal_minutes: GoalMinutes | None = Field(description="null: the project's goal holds")
    created_at: AwareDatetime


class QueueList(Answer):
    queues: list[QueueAnswer] = Field(description="in their order")


def queue_answer(queue: ReviewQueue) -> QueueAnswer:
    members = queue.members.order_by("user__username").values_list("user__username", flat=True)
    rule = read_rule(queue)
    told = None if rule is None else QueueRuleAnswer(**rule.model_dump())
    return QueueAnswer.from_row(queue, rule=told, members=list(members))
