"""Deciding on one entry: approve, reject, retire, reopen, clear, restore, label, merge, split, take back."""

from collections.abc import Callable
from uuid import UUID

from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app.public import KeptEntry
from reflection_app.api.idempotency import idempotent
from reflection_app.api.reading import read_input
from reflection_app.api.schema import described_post
from reflection_app.api.view import Nothing
from reflection_app.loops.values import Value
from reflection_app.notebook import curating
from reflection_app.notebook.answers import BulkCurationAnswer, EntryAnswer, UndoneAnswer, bulk_answer, entry_answer
from reflection_app.notebook.api.entries import CuratingView, get_entry_for
from reflection_app.notebook.bulk import BulkCuration, curate_together, undo_together
from reflection_app.notebook.curating import merge_entries, split_entry, supersede_entry, undo_curation
from reflection_app.notebook.input import (
    CurationInput,
    MergeInput,
    OwnerInput,
    RestoreInput,
    SplitInput,
    SupersedeInput,
    TagsInput,
    UndoInput,
)

OTHER = "01890a5d-ac96-774b-bcce-b302099a8058"


class _OneEntry(CuratingView):
    """Reads what is told, does it to the entry, and answers with the entry that it leads to."""

    def changed[T: Value](
        self,
        request: Request,
        entry_id: UUID,
        schema: type[T],
        act: Callable[..., KeptEntry],
        *,
        what: str,
        status: int = 200,
    ) -> Response:
        get_entry_for(self.project, entry_id)
        entry = act(self.project, entry_id, read_input(request, schema, what=what), actor=self.actor)
        return Response(entry_answer(entry).model_dump(mode="json"), status)


class ApproveEntry(_OneEntry):
    @described_post(
        "approve_entry",
        summary="Approve an entry: from now on it is told",
        body=CurationInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"As it was seen": {"expected_version": 2}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides. A key cannot approve what it proposed itself."""
        return self.changed(request, entry_id, CurationInput, curating.approve_entry, what="approval")


class RejectEntry(_OneEntry):
    @described_post(
        "reject_entry",
        summary="Reject an entry: found again it is counted and stays rejected",
        body=CurationInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, CurationInput, curating.reject_entry, what="rejection")


class RetireEntry(_OneEntry):
    @described_post(
        "retire_entry",
        summary="Retire an approved entry, with a reason: it is told nobody any more",
        body=CurationInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"With a reason": {"reason": "The tool was replaced."}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, CurationInput, curating.retire_entry, what="retirement")


class ReopenEntry(_OneEntry):
    @described_post(
        "reopen_entry",
        summary="Make a rejected, retired or merged entry a proposal once more",
        body=CurationInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """What a merged one had lent the other is taken from there. Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, CurationInput, curating.reopen_entry, what="reopening")


class ClearEntry(_OneEntry):
    @described_post(
        "clear_entry",
        summary="Say that what screening found in an entry was looked at and is harmless",
        body=CurationInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Other words are screened anew. Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, CurationInput, curating.clear_flags, what="clearing")


class RestoreEntry(_OneEntry):
    @described_post(
        "restore_entry",
        summary="Give an entry the words of an earlier version; its state stays",
        body=RestoreInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"The first": {"version": 1}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, RestoreInput, curating.restore_entry, what="restoring")


class TagEntry(_OneEntry):
    @described_post(
        "tag_entry",
        summary="Give an entry exactly these tags",
        body=TagsInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"Two tags": {"tags": ["billing", "dates"]}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, TagsInput, curating.tag_entry, what="tags")


class OwnEntry(_OneEntry):
    @described_post(
        "own_entry",
        summary="Say which member looks after an entry, or that nobody does",
        body=OwnerInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"A member": {"owner": "anna"}, "Nobody": {"owner": None}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, OwnerInput, curating.own_entry, what="owner")


class MergeEntry(_OneEntry):
    @described_post(
        "merge_entry",
        summary="Merge an entry into another, which gets its occurrences and evidence; answers with that one",
        body=MergeInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={
            "As the other says it": {"into": OTHER},
            "In other words": {"into": OTHER, "words": {"content": "Both of it."}},
        },
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, MergeInput, merge_entries, what="merge")


class SupersedeEntry(_OneEntry):
    @described_post(
        "supersede_entry",
        summary="Let another entry hold instead of this one, which is retired; answers with the other",
        body=SupersedeInput,
        answers={200: EntryAnswer},
        problems=(404, 409),
        examples={"The other holds": {"by": OTHER, "reason": "The interface was changed."}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Occurrences and evidence stay where they are. Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, SupersedeInput, supersede_entry, what="superseding")


class SplitEntry(_OneEntry):
    @described_post(
        "split_entry",
        summary="Make a part of an entry a new one; answers with the new one",
        body=SplitInput,
        answers={201: EntryAnswer},
        problems=(404, 409),
        examples={"A rule of its own": {"into": {"kind": "rule", "name": "Dates", "content": "Write 2026-01-31."}}},
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides."""
        return self.changed(request, entry_id, SplitInput, split_entry, what="split", status=201)


class UndoEntry(CuratingView):
    @described_post(
        "undo_entry_change",
        summary="Take the last change of an entry back: words, labels and state as before",
        body=UndoInput,
        answers={200: UndoneAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, entry_id: UUID) -> Response:
        """Only the key that made the change, and keys with the scope admin. Needs `reviews:write` besides."""
        get_entry_for(self.project, entry_id)
        told = read_input(request, UndoInput, what="undo")
        undone = undo_curation(self.project, entry_id, told, actor=self.actor)
        answer = UndoneAnswer(entry=entry_answer(undone.entry), undone=undone.change, recalled=undone.recalled)
        return Response(answer.model_dump(mode="json"))


# Curating many entries together, and taking that back.

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
