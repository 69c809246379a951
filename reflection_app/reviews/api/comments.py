"""Comments over REST: read, added, changed and taken back by whoever wrote them."""

from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.view import DeskView, get_row
from reflection_app.core.permissions import Permission, key_may
from reflection_app.reviews.answers import CommentAnswer, CommentPage
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, take_back_comment
from reflection_app.reviews.models import About, Comment
from reflection_app.teams.notifications import comments_seen_by


class OfThing(BaseModel):
    """What is commented on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: About = Field(description="type of object")
    id: UUID = Field(description="its id")


class CommentFilters(PageQuery, OfThing):
    pass


class Comments(DeskView):
    def get_object(self, comment_id: UUID) -> Comment:
        seen = comments_seen_by(self.actor.label, project_id=self.project.pk)
        return get_row(seen.filter(pk=comment_id), "comment")

    @read("list_comments", "List comments on an object, newest first", may=Permission.READ_QUEUE)
    def list(self, query: CommentFilters) -> CommentPage:
        found = comments_seen_by(self.actor.label, project_id=self.project.pk)
        return self.page(CommentPage, found.filter(about=query.about.value, about_id=query.id), query)

    @change(
        "add_comment",
        "Comment on a review, run or notebook entry",
        may=Permission.REVIEW,
        what="comment",
        status=201,
        problems=(404,),
        examples={"With a mention": {"text": "@anna The second source is the better one."}},
    )
    def create(self, query: OfThing, body: CommentInput) -> CommentAnswer:
        return CommentAnswer.from_row(add_comment(self.project, query.about, query.id, body, actor=self.actor))

    @change(
        "edit_comment",
        "Edit your own comment",
        may=Permission.REVIEW,
        what="comment",
        problems=(409,),
    )
    def partial_update(self, comment: Comment, body: CommentInput) -> CommentAnswer:
        return CommentAnswer.from_row(edit_comment(comment, body, actor=self.actor))

    @change(
        "take_back_comment",
        "Delete a comment's text; its record remains",
        may=Permission.REVIEW,
        problems=(409,),
    )
    def destroy(self, comment: Comment) -> CommentAnswer:
        is_admin = key_may(self.key, Permission.UNDO_OTHERS)
        return CommentAnswer.from_row(take_back_comment(comment, actor=self.actor, is_admin=is_admin))
