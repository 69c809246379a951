"""Deciding on one entry: approve, reject, retire, reopen, clear, restore, label, merge, split, take back."""

from functools import partial
from typing import Any
from uuid import UUID

from reflection_app.api.view import Nothing
from reflection_app.api.viewset import DeskViewSet, answers_post
from reflection_app.core.permissions import Permission
from reflection_app.notebook import curating
from reflection_app.notebook.answers import BulkCurationAnswer, EntryAnswer, UndoneAnswer, bulk_answer, entry_answer
from reflection_app.notebook.api.entries import get_entry_for
from reflection_app.notebook.bulk import BulkCuration, curate_together, undo_together
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


on_entry = partial(answers_post, permission=Permission.CURATE, answer=EntryAnswer, problems=(404, 409))


class Curation(DeskViewSet):
    def check_found(self, **ids: Any) -> None:
        get_entry_for(self.project, **ids)

    @on_entry(
        "approve_entry",
        summary="Approve an entry: from now on it is told",
        body=CurationInput,
        what="approval",
        examples={"As it was seen": {"expected_version": 2}},
    )
    def approve(self, told: CurationInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides. A key cannot approve what it proposed itself."""
        return entry_answer(curating.approve_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "reject_entry",
        summary="Reject an entry: found again it is counted and stays rejected",
        body=CurationInput,
        what="rejection",
    )
    def reject(self, told: CurationInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.reject_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "retire_entry",
        summary="Retire an approved entry, with a reason: it is told nobody any more",
        body=CurationInput,
        what="retirement",
        examples={"With a reason": {"reason": "The tool was replaced."}},
    )
    def retire(self, told: CurationInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.retire_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "reopen_entry",
        summary="Make a rejected, retired or merged entry a proposal once more",
        body=CurationInput,
        what="reopening",
    )
    def reopen(self, told: CurationInput, entry_id: UUID) -> EntryAnswer:
        """What a merged one had lent the other is taken from there. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.reopen_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "clear_entry",
        summary="Say that what screening found in an entry was looked at and is harmless",
        body=CurationInput,
        what="clearing",
    )
    def clear(self, told: CurationInput, entry_id: UUID) -> EntryAnswer:
        """Other words are screened anew. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.clear_flags(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "restore_entry",
        summary="Give an entry the words of an earlier version; its state stays",
        body=RestoreInput,
        what="restoring",
        examples={"The first": {"version": 1}},
    )
    def restore(self, told: RestoreInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.restore_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "tag_entry",
        summary="Give an entry exactly these tags",
        body=TagsInput,
        what="tags",
        examples={"Two tags": {"tags": ["billing", "dates"]}},
    )
    def tag(self, told: TagsInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.tag_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "own_entry",
        summary="Say which member looks after an entry, or that nobody does",
        body=OwnerInput,
        what="owner",
        examples={"A member": {"owner": "anna"}, "Nobody": {"owner": None}},
    )
    def own(self, told: OwnerInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.own_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "merge_entry",
        summary="Merge an entry into another, which gets its occurrences and evidence; answers with that one",
        body=MergeInput,
        what="merge",
        examples={
            "As the other says it": {"into": OTHER},
            "In other words": {"into": OTHER, "words": {"content": "Both of it."}},
        },
    )
    def merge(self, told: MergeInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.merge_entries(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "supersede_entry",
        summary="Let another entry hold instead of this one, which is retired; answers with the other",
        body=SupersedeInput,
        what="superseding",
        examples={"The other holds": {"by": OTHER, "reason": "The interface was changed."}},
    )
    def supersede(self, told: SupersedeInput, entry_id: UUID) -> EntryAnswer:
        """Occurrences and evidence stay where they are. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.supersede_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "split_entry",
        summary="Make a part of an entry a new one; answers with the new one",
        body=SplitInput,
        what="split",
        status=201,
        examples={"A rule of its own": {"into": {"kind": "rule", "name": "Dates", "content": "Write 2026-01-31."}}},
    )
    def split(self, told: SplitInput, entry_id: UUID) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.split_entry(self.project, entry_id, told, actor=self.actor))

    @on_entry(
        "undo_entry_change",
        summary="Take the last change of an entry back: words, labels and state as before",
        body=UndoInput,
        what="undo",
        answer=UndoneAnswer,
    )
    def undo(self, told: UndoInput, entry_id: UUID) -> UndoneAnswer:
        """Only the key that made the change, and keys with the scope admin. Needs `reviews:write` besides."""
        undone = curating.undo_curation(self.project, entry_id, told, actor=self.actor)
        return UndoneAnswer(entry=entry_answer(undone.entry), undone=undone.change, recalled=undone.recalled)


# Curating many entries together, and taking that back.

ONE = "01890a5d-ac96-774b-bcce-b302099a8057"
EXAMPLES = {
    "Approve": {"entries": [ONE], "do": "approve"},
    "Retire": {"entries": [ONE], "do": "retire", "reason": "The tool was replaced."},
    "Tag": {"entries": [ONE], "do": "add_tags", "tags": ["billing"]},
    "Look after": {"entries": [ONE], "do": "own", "owner": "anna"},
}


class BulkCurations(DeskViewSet):
    @answers_post(
        "curate_entries_together",
        Permission.CURATE,
        summary="Curate up to 500 entries together with one reason; tells what became of each",
        body=BulkCuration,
        what="bulk change",
        answer=BulkCurationAnswer,
        examples=EXAMPLES,
    )
    def curate(self, told: BulkCuration) -> BulkCurationAnswer:
        """Each by itself: one that is refused keeps no other back. Needs the scope `reviews:write` besides."""
        return bulk_answer(curate_together(self.project, told, actor=self.actor))

    @answers_post(
        "undo_entries_together",
        Permission.CURATE,
        summary="Take a bulk change of entries back; what was changed since stays, and says so",
        body=Nothing,
        answer=BulkCurationAnswer,
        problems=(404, 409),
    )
    def undo(self, entry_bulk_id: UUID) -> BulkCurationAnswer:
        """Only the key that made it, and keys with the scope admin. Needs `reviews:write` besides."""
        return bulk_answer(undo_together(self.project, entry_bulk_id, actor=self.actor))
