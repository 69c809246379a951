"""Comments: read, added, changed and taken back by whoever wrote them."""

from typing import ClassVar
from uuid import UUID

from pydantic import BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import DeskView
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.core.audit import Actor
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission, key_may
from reflection_app.reviews.answers.comment_answers import CommentAnswer, CommentPage, comment_answer
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, take_back_comment
from reflection_app.reviews.models.comment import About, Comment
from reflection_app.teams.reading import comments_seen_by


class OfThing(BaseModel):
    """What is commented on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: About = Field(description="what kind of thing")
    id: UUID = Field(description="its id")


class CommentFilters(PageQuery, OfThing):
    pass


class CommentList(DeskView):
    permissions = needs(get=Permission.READ_QUEUE, post=Permission.REVIEW)
    post_query: ClassVar[type[BaseModel]] = OfThing

    @described_get(
        "list_comments", summary="Comments on something, newest first", query=CommentFilters, answer=CommentPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, CommentFilters)
        found = comments_seen_by(self.actor.label, project_id=self.project.pk)
        found = found.filter(about=query.about.value, about_id=query.id)
        page = get_page(found, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([comment_answer(row) for row in page.rows]))

    @described_post(
        "add_comment",
        summary="Comment on a review, a run or an entry of the notebook",
        body=CommentInput,
        query=OfThing,
        answers={201: CommentAnswer},
        problems=(404,),
        examples={"With a mention": {"text": "@anna The second source is the better one."}},
    )
    @idempotent
    def post(self, request: Request) -> Response:
        query = read_query(request, OfThing)
        told = read_input(request, CommentInput, what="comment")
        comment = add_comment(self.project, query.about, query.id, told, actor=self.actor)
        return Response(comment_answer(comment).model_dump(mode="json"), 201)


class CommentDetail(DeskView):
    http_method_names: ClassVar[list[str]] = ["patch", "delete"]  # type: ignore[misc]
    permissions = needs(patch=Permission.REVIEW, delete=Permission.REVIEW)

    @described_post(
        "edit_comment",
        summary="Change the words of a comment of one's own",
        body=CommentInput,
        answers={200: CommentAnswer},
        problems=(404, 409),
    )
    @idempotent
    def patch(self, request: Request, comment_id: UUID) -> Response:
        comment = get_comment_for(self.project, comment_id, reader=self.actor)
        changed = edit_comment(comment, read_input(request, CommentInput, what="comment"), actor=self.actor)
        return Response(comment_answer(changed).model_dump(mode="json"))

    @described_post(
        "take_back_comment",
        summary="Take a comment back: that it was there stays, its words go",
        answers={200: CommentAnswer},
        problems=(404, 409),
    )
    @idempotent
    def delete(self, request: Request, comment_id: UUID) -> Response:
        comment = get_comment_for(self.project, comment_id, reader=self.actor)
        gone = take_back_comment(comment, actor=self.actor, is_admin=key_may(self.key, Permission.UNDO_OTHERS))
        return Response(comment_answer(gone).model_dump(mode="json"))


def get_comment_for(project: Project, comment_id: UUID, *, reader: Actor) -> Comment:
    """The comment, where its reader may see it. Raises NotFound."""
    comment = comments_seen_by(reader.label, project_id=project.pk).filter(pk=comment_id).first()
    if comment is None:
        raise NotFound("There is no such comment.")
    return comment
