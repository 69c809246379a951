"""Curating many entries together, and taking that back."""

from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from reflection_app.api.desk_view import Nothing
from reflection_app.api.idempotency import idempotent
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.notebook.answers.notebook_answers import BulkCurationAnswer, bulk_answer
from reflection_app.notebook.api.curating_view import CuratingView
from reflection_app.notebook.notebook_bulk import BulkCuration, curate_together, undo_together

ONE = "01890a5d-ac96-774b-bcce-b302099a8057"
EXAMPLES = {
    "Approve": {"entries": [ONE], "do": "approve"},
    "Retire": {"entries": [ONE], "do": "retire", "reason": "The tool was replaced."},
    "Tag": {"entries": [ONE], "do": "add_tags", "tags": ["billing"]},
    "Look after": {"entries": [ONE], "do": "own", "owner": "anna"},
}


class EntryBulk(CuratingView):
    @described_post(
        "curate_entries_together",
        summary="Curate up to 500 entries together with one reason; tells what became of each",
        body=BulkCuration,
        answers={200: BulkCurationAnswer},
        examples=EXAMPLES,
    )
    @idempotent
    def post(self, request: Request) -> Response:
        """Each by itself: one that is refused keeps no other back. Needs the scope `reviews:write` besides."""
        told = read_input(request, BulkCuration, what="bulk change")
        result = curate_together(self.project, told, actor=self.actor)
        return Response(bulk_answer(result).model_dump(mode="json"))


class UndoEntryBulk(CuratingView):
    @described_post(
        "undo_entries_together",
        summary="Take a bulk change of entries back; what was changed since stays, and says so",
        body=Nothing,
        answers={200: BulkCurationAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, entry_bulk_id: UUID) -> Response:
        """Only the key that made it, and keys with the scope admin. Needs `reviews:write` besides."""
        read_input(request, Nothing, what="body")
        result = undo_together(self.project, entry_bulk_id, actor=self.actor)
        return Response(bulk_answer(result).model_dump(mode="json"))
