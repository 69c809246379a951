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
    "By kind, within an hour": {"name": "Legal", "rule": {"kind": "contract"}, "goal_minutes": 60},
    "By a language in the metadata, for two people": {
        "name": "Chinese",
        "rule": {"metadata_key": "language", "metadata_value": "zh"},
        "members": ["anna", "wei"],
    },
}


class Queues(DeskView):
    def get_object(self, queue_id: UUID) -> ReviewQueue:
        rows = ReviewQueue.objects.select_related("project").filter(project=self.project, deleted_at=None)
        return get_row(rows.filter(pk=queue_id), "queue")

    @read("list_review_queues", "The queues of reviews, in their order", may=Permission.READ_QUEUE)
    def list(self) -> QueueList:
        rows = ReviewQueue.objects.filter(project=self.project, deleted_at=None)
        return QueueList(queues=[queue_answer(queue) for queue in rows])

    @change(
        "create_review_queue",
        "Have certain reviews wait in a queue of their own",
        may=Permission.CHANGE_SETTINGS,
        what="queue",
        status=201,
        problems=(409,),
        examples=EXAMPLES,
    )
    def create(self, body: QueueInput) -> QueueAnswer:
        """It is the last of all. What waits and fits none of the others is in it from then on."""
        return queue_answer(create_queue(self.project, body, actor=self.actor))

    @read("get_review_queue", "One queue of reviews", may=Permission.READ_QUEUE)
    def retrieve(self, queue: ReviewQueue) -> QueueAnswer:
        return queue_answer(queue)

    @change(
        "change_review_queue",
        "Change a queue of reviews; what is left out stays",
        may=Permission.CHANGE_SETTINGS,
        what="change",
        examples={"Within an hour": {"goal_minutes": 60}},
    )
    def partial_update(self, queue: ReviewQueue, body: QueueChange) -> QueueAnswer:
        return queue_answer(change_queue(queue, body, actor=self.actor))

    @change("delete_review_queue", "Delete a queue; what waits in it waits on", may=Permission.CHANGE_SETTINGS)
    def destroy(self, queue: ReviewQueue) -> None:
        delete_queue(queue, actor=self.actor)

    @change(
        "order_review_queues",
        "Put the queues in another order",
        may=Permission.CHANGE_SETTINGS,
        what="order",
    )
    def order(self, body: QueueOrder) -> QueueList:
        """A review that fits the rules of several queues is in the first of them."""
        return QueueList(queues=[queue_answer(queue) for queue in order_queues(self.project, body, actor=self.actor)])
