"""Queues of reviews, skills of members and saved views over REST."""

from uuid import UUID

from pydantic import Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission
from reflection_app.queues.answers import (
    QueueAnswer,
    QueueList,
    SavedViewAnswer,
    SavedViewPage,
    SkillsAnswer,
    queue_answer,
    view_answer,
)
from reflection_app.queues.changing import (
    QueueChange,
    QueueInput,
    QueueOrder,
    SkillsInput,
    change_queue,
    create_queue,
    delete_queue,
    order_queues,
    set_skills,
)
from reflection_app.queues.models import ListName, ReviewQueue, SavedView
from reflection_app.queues.saving import ViewChange, ViewInput, change_view, delete_view, save_view, views_for
from reflection_app.queues.views.saved import understood

EXAMPLES = {
    "By kind, for those who know law": {
        "name": "Legal",
        "rule": {"kind": "contract"},
        "skills": ["legal"],
        "goal_minutes": 60,
    },
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


BIGGEST_ID = 2**31 - 1


class Skills(DeskView):
    def get_object(self, user_id: str) -> int:
        """The user's id; 0, which nobody has, where it is none."""
        number = int(user_id) if user_id.isascii() and user_id.isdigit() and len(user_id) <= 10 else 0
        return number if number <= BIGGEST_ID else 0

    @change(
        "put_member_skills",
        "Say what a member knows; some queues are for those alone who have certain skills",
        may=Permission.MANAGE_MEMBERS,
        what="skills",
    )
    def update(self, user_id: int, body: SkillsInput) -> SkillsAnswer:
        member = set_skills(self.project, user_id, body, actor=self.actor)
        return SkillsAnswer(user_id=member.user_id, name=member.user.get_username(), skills=member.skills)


class ViewFilters(PageQuery):
    list: ListName | None = Field(default=None, description="of which list")


class SavedViews(DeskView):
    """A key has no views of its own: it sees and saves those that are shared."""

    def get_object(self, view_id: UUID) -> SavedView:
        return get_row(views_for(self.project.pk, self.actor).filter(pk=view_id), "saved view")

    @read("list_saved_views", "Shared views of lists, newest first", may=Permission.READ)
    def list(self, query: ViewFilters) -> SavedViewPage:
        rows = views_for(self.project.pk, self.actor).filter(**query.get_filters())
        return self.page(SavedViewPage, rows, query, each=view_answer)

    @change(
        "create_saved_view",
        "Save filters and an order of a list under a name, for the whole project",
        may=Permission.REVIEW,
        what="view",
        status=201,
        problems=(409,),
        examples={"Rejected, by planner": {"name": "Rejected, by planner", "query": "verdict=REJECT&agent=planner"}},
    )
    def create(self, body: ViewInput) -> SavedViewAnswer:
        read_again = body.model_copy(update={"query": understood(body.list, body.query)})
        return view_answer(save_view(self.project, read_again, actor=self.actor))

    @read("get_saved_view", "One shared view", may=Permission.READ)
    def retrieve(self, view: SavedView) -> SavedViewAnswer:
        return view_answer(view)

    @change(
        "change_saved_view",
        "Change a shared view; what is left out stays",
        may=Permission.REVIEW,
        what="change",
        problems=(403,),
    )
    def partial_update(self, view: SavedView, body: ViewChange) -> SavedViewAnswer:
        """Only keys of the person who saved it, and keys with the scope admin, change a view."""
        if body.query is not None:
            body = body.model_copy(update={"query": understood(ListName(view.list), body.query)})
        return view_answer(change_view(view, body, actor=self.actor))

    @change("delete_saved_view", "Delete a shared view", may=Permission.REVIEW, problems=(403,))
    def destroy(self, view: SavedView) -> None:
        delete_view(view, actor=self.actor)
