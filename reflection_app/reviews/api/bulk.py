"""Bulk decisions: many reviews decided together with one reason; how far they are; taking them back."""

from typing import Any, ClassVar
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field
from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters, Nothing
from reflection_app.core.audit import Actor
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.core.permissions import Permission, key_may
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.answers import CommentAnswer, CommentPage, comment_answer
from reflection_app.reviews.bulk import BulkInput, begin_bulk, undo_bulk
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, take_back_comment
from reflection_app.reviews.models import (
    About,
    BulkDecision,
    BulkItem,
    BulkItemState,
    BulkState,
    Comment,
    tells_opinions,
)
from reflection_app.teams.notifications import comments_seen_by

EXAMPLES = {
    "Agree with all": {"reviews": ["01890a5d-ac96-774b-bcce-b302099a8057"], "decision": "approve"},
    "Send all back": {
        "reviews": ["01890a5d-ac96-774b-bcce-b302099a8057", "01890a5d-ac96-774b-bcce-b302099a8058"],
        "decision": "overrule",
        "verdict": "REVISE",
        "reason": "All of these cite last year's price list.",
    },
}


class BulkItemAnswer(Answer):
    review_id: UUID
    state: BulkItemState
    error: str | None = Field(description="why it was not decided, or could not be taken back")


class BulkAnswer(Answer):
    """A bulk decision. While its state is `running` or `undoing`, items change; ask again."""

    id: UUID
    state: BulkState
    decision: Decision | None = Field(
        description="null, as are verdict and reason, to everybody else while others judge one of the items blindly"
    )
    verdict: VerdictName | None
    reason: str | None
    by: str
    items: list[BulkItemAnswer] = Field(description="in the order in which they were given")
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


def get_bulk_for(project: Project, bulk_id: UUID) -> BulkDecision:
    """The bulk decision. Raises NotFound."""
    bulk = BulkDecision.objects.filter(project=project, pk=bulk_id).first()
    if bulk is None:
        raise NotFound("There is no such bulk decision.")
    return bulk


def bulk_answer(bulk: BulkDecision, *, reader: Actor) -> BulkAnswer:
    """The bulk decision as `reader` may know it."""
    said: dict[str, Any] = {} if tells_opinions(bulk, reader=reader) else {"reason": "", **bulk.decision}
    return BulkAnswer(
        id=bulk.pk,
        state=BulkState(bulk.state),
        decision=said.get("decision"),
        verdict=said.get("verdict"),
        reason=said.get("reason"),
        by=bulk.user_label,
        items=[_item_answer(item) for item in bulk.items.all()],
        created_at=bulk.created_at,
        finished_at=bulk.finished_at,
    )


def _item_answer(item: BulkItem) -> BulkItemAnswer:
    return BulkItemAnswer(review_id=item.review_id, state=BulkItemState(item.state), error=item.error or None)


class BulkList(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "decide_reviews_together",
        summary="Decide many reviews together with one reason; they are worked through in the background",
        body=BulkInput,
        answers={202: BulkAnswer},
        examples=EXAMPLES,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        told = read_input(request, BulkInput, what="bulk decision")
        bulk = begin_bulk(self.project, told, actor=self.actor)
        return Response(bulk_answer(bulk, reader=self.actor).model_dump(mode="json"), status=202)


class BulkDetail(DeskView):
    permissions = needs(get=Permission.READ_QUEUE)

    @described_get("get_bulk_decision", summary="One bulk decision, item by item", answer=BulkAnswer, problems=(404,))
    def get(self, request: Request, bulk_id: UUID) -> Response:
        read_query(request, NoParameters)
        bulk = get_bulk_for(self.project, bulk_id)
        return Response(bulk_answer(bulk, reader=self.actor).model_dump(mode="json"))


class UndoBulk(DeskView):
    permissions = needs(post=Permission.REVIEW)

    @described_post(
        "undo_bulk_decision",
        summary="Take a bulk decision back, item by item; what cannot be taken back says why",
        body=Nothing,
        answers={202: BulkAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, bulk_id: UUID) -> Response:
        """Only the key that began it, and keys with the scope admin, take it back."""
        read_input(request, Nothing, what="body")
        bulk = undo_bulk(get_bulk_for(self.project, bulk_id), actor=self.actor)
        return Response(bulk_answer(bulk, reader=self.actor).model_dump(mode="json"), status=202)


# Comments: read, added, changed and taken back by whoever wrote them.


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
