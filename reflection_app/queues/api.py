"""Queues of reviews over REST."""

from uuid import UUID

from reflection_app.api.actions import change, read
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission
from reflection_app.queues.answers import (
    QueueAnswer,
    QueueList,
    queue_answer,
)
from reflection_app.queues.changing import (
    QueueChange,
    QueueInput,
    QueueOrder,
    change_queue,
    create_queue,
    delete_queue,
    order_queues,
)
from reflection_app.queues.models import ReviewQueue

EXAMPLES = {
    "By task type, one-hour target": {"name": "Legal", "rule": {"kind": "contract"}, "goal_minutes": 60},
    "By metadata language, for two people": {
        "name": "Chinese",
        "rule": {"metadata_key": "language", "metadata_value": "zh"},
        "members": ["anna", "wei"],
    },
}


class Queues(DeskView):
    def get_object(self, queue_id: UUID) -> ReviewQueue:
        rows = ReviewQueue.objects.select_related("project").filter(project=self.project, deleted_at=None)
        return get_row(rows.filter(pk=queue_id), "queue")

    @read("list_review_queues", "List review queues in order", may=Permission.READ_QUEUE)
    def list(self) -> QueueList:
        rows = ReviewQueue.objects.filter(project=self.project, deleted_at=None)
        return QueueList(queues=[queue_answer(queue) for queue in rows])

    @change(
        "create_review_queue",
        "Create a review queue",
        may=Permission.CHANGE_SETTINGS,
        what="queue",
        status=201,
        problems=(409,),
        examples=EXAMPLES,
    )
    def create(self, body: QueueInput) -> QueueAnswer:
        """The new queue is last in order. Waiting reviews that match it and no other queue move into it."""
        return queue_answer(create_queue(self.project, body, actor=self.actor))

    @read("get_review_queue", "Get a review queue", may=Permission.READ_QUEUE)
    def retrieve(self, queue: ReviewQueue) -> QueueAnswer:
        return queue_answer(queue)

    @change(
        "change_review_queue",
        "Update a review queue",
        may=Permission.CHANGE_SETTINGS,
        what="change",
        examples={"One-hour target": {"goal_minutes": 60}},
    )
    def partial_update(self, queue: ReviewQueue, body: QueueChange) -> QueueAnswer:
        return queue_answer(change_queue(queue, body, actor=self.actor))

    @change("delete_review_queue", "Delete a review queue; its reviews stay open", may=Permission.CHANGE_SETTINGS)
    def destroy(self, queue: ReviewQueue) -> None:
        delete_queue(queue, actor=self.actor)

    @change(
        "order_review_queues",
        "Reorder the review queues",
        may=Permission.CHANGE_SETTINGS,
        what="order",
    )
    def order(self, body: QueueOrder) -> QueueList:
        """A review that matches the rules of several queues is in the first of them."""
        return QueueList(queues=[queue_answer(queue) for queue in order_queues(self.project, body, actor=self.actor)])
