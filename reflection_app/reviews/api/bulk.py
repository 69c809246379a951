"""Bulk decisions and comments over REST."""

from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, BaseModel, ConfigDict, Field

from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer, TextOrNull
from reflection_app.api.view import DeskView, Nothing, get_row
from reflection_app.core.audit import Actor
from reflection_app.core.permissions import Permission, key_may
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.answers import CommentAnswer, CommentPage
from reflection_app.reviews.bulk import BulkInput, begin_bulk, undo_bulk
from reflection_app.reviews.comments import CommentInput, add_comment, edit_comment, take_back_comment
from reflection_app.reviews.models import About, BulkDecision, BulkItemState, BulkState, Comment, tells_opinions
from reflection_app.teams.notifications import comments_seen_by

# Bulk decisions: many reviews decided together with one reason; how far they are; taking them back.


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
    error: TextOrNull = Field(description="why it was not decided, or could not be taken back")


class BulkAnswer(Answer):
    """A bulk decision. While its state is `running` or `undoing`, items change; ask again."""

    id: UUID
    state: BulkState
    decision: Decision | None = Field(
        description="null, as are verdict and reason, to everybody else while others judge one of the items blindly"
    )
    verdict: VerdictName | None
    reason: str | None
    by: str = Field(validation_alias="user_label")
    items: list[BulkItemAnswer] = Field(description="in the order in which they were given")
    created_at: AwareDatetime
    finished_at: AwareDatetime | None


def bulk_answer(bulk: BulkDecision, *, reader: Actor) -> BulkAnswer:
    """The bulk decision as `reader` may know it."""
    decision: dict[str, Any] = {} if tells_opinions(bulk, reader=reader) else {"reason": "", **bulk.decision}
    visible = {name: decision.get(name) for name in ("decision", "verdict", "reason")}
    return BulkAnswer.from_row(bulk, items=bulk.items.all(), **visible)


class BulkDecisions(DeskView):
    def get_object(self, bulk_id: UUID) -> BulkDecision:
        return get_row(BulkDecision.objects.filter(project=self.project, pk=bulk_id), "bulk decision")

    @change(
        "decide_reviews_together",
        "Decide many reviews together with one reason; they are worked through in the background",
        may=Permission.REVIEW,
        what="bulk decision",
        status=202,
        examples=EXAMPLES,
    )
    def create(self, body: BulkInput) -> BulkAnswer:
        return bulk_answer(begin_bulk(self.project, body, actor=self.actor), reader=self.actor)

    @read("get_bulk_decision", "One bulk decision, item by item", may=Permission.READ_QUEUE)
    def retrieve(self, bulk: BulkDecision) -> BulkAnswer:
        return bulk_answer(bulk, reader=self.actor)

    @change(
        "undo_bulk_decision",
        "Take a bulk decision back, item by item; what cannot be taken back says why",
        may=Permission.REVIEW,
        status=202,
        problems=(409,),
    )
    def undo(self, bulk: BulkDecision, body: Nothing) -> BulkAnswer:
        """Only the key that began it, and keys with the scope admin, take it back."""
        return bulk_answer(undo_bulk(bulk, actor=self.actor), reader=self.actor)


# Comments: read, added, changed and taken back by whoever wrote them.


class OfThing(BaseModel):
    """What is commented on."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    about: About = Field(description="what kind of thing")
    id: UUID = Field(description="its id")


class CommentFilters(PageQuery, OfThing):
    pass


class Comments(DeskView):
    def get_object(self, comment_id: UUID) -> Comment:
        seen = comments_seen_by(self.actor.label, project_id=self.project.pk)
        return get_row(seen.filter(pk=comment_id), "comment")

    @read("list_comments", "Comments on something, newest first", may=Permission.READ_QUEUE)
    def list(self, query: CommentFilters) -> CommentPage:
        found = comments_seen_by(self.actor.label, project_id=self.project.pk)
        return self.page(CommentPage, found.filter(about=query.about.value, about_id=query.id), query)

    @change(
        "add_comment",
        "Comment on a review, a run or an entry of the notebook",
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
        "Change the words of a comment of one's own",
        may=Permission.REVIEW,
        what="comment",
        problems=(409,),
    )
    def partial_update(self, comment: Comment, body: CommentInput) -> CommentAnswer:
        return CommentAnswer.from_row(edit_comment(comment, body, actor=self.actor))

    @change(
        "take_back_comment",
        "Take a comment back: that it was there stays, its words go",
        may=Permission.REVIEW,
        problems=(409,),
    )
    def destroy(self, comment: Comment) -> CommentAnswer:
        is_admin = key_may(self.key, Permission.UNDO_OTHERS)
        return CommentAnswer.from_row(take_back_comment(comment, actor=self.actor, is_admin=is_admin))
