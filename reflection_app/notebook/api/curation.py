"""Deciding on one entry: approve, reject, retire, reopen, clear, restore, label, merge, split, take back."""

from functools import partial
from uuid import UUID

from notebook_app.public import Entry
from reflection_app.api.actions import change
from reflection_app.api.view import DeskView, Nothing
from reflection_app.core.permissions import Permission
from reflection_app.notebook import curating
from reflection_app.notebook.answers import BulkCurationAnswer, EntryAnswer, UndoneAnswer, bulk_answer, entry_answer
from reflection_app.notebook.bulk import BulkCuration, curate_together, undo_together
from reflection_app.notebook.input import (
    ApprovalInput,
    CurationInput,
    MergeInput,
    OwnerInput,
    RestoreInput,
    SplitInput,
    SupersedeInput,
    TagsInput,
    UndoInput,
)
from reflection_app.notebook.proposing import get_entry_for

OTHER = "01890a5d-ac96-774b-bcce-b302099a8058"


on_entry = partial(change, may=Permission.CURATE, problems=(409,))


class Curation(DeskView):
    def get_object(self, entry_id: UUID) -> Entry:
        return get_entry_for(self.project, entry_id)

    @on_entry(
        "approve_entry",
        "Approve an entry: from now on it is told",
        what="approval",
        examples={
            "As it was seen": {"expected_version": 2},
            "Instead of its opposite": {"contradictions": "supersede"},
        },
    )
    def approve(self, entry: Entry, body: ApprovalInput) -> EntryAnswer:
        """Needs the scope `reviews:write` too. A key cannot approve what it proposed itself.

        An entry that is one side of open contradictions is refused (409, with their ids in `conflicts`), unless
        `contradictions` says how they are settled.
        """
        return entry_answer(curating.approve_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("reject_entry", "Reject an entry: found again it is counted and stays rejected", what="rejection")
    def reject(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.reject_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "retire_entry",
        "Retire an approved entry, with a reason: it is told nobody any more",
        what="retirement",
        examples={"With a reason": {"reason": "The tool was replaced."}},
    )
    def retire(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.retire_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("reopen_entry", "Make a rejected, retired or merged entry a proposal once more", what="reopening")
    def reopen(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """What a merged one had lent the other is taken from there. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.reopen_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("clear_entry", "Say that what screening found in an entry was looked at and is harmless", what="clearing")
    def clear(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Other words are screened anew. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.clear_flags(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "restore_entry",
        "Give an entry the words of an earlier version; its state stays",
        what="restoring",
        examples={"The first": {"version": 1}},
    )
    def restore(self, entry: Entry, body: RestoreInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.restore_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "tag_entry",
        "Give an entry exactly these tags",
        what="tags",
        examples={"Two tags": {"tags": ["billing", "dates"]}},
    )
    def tag(self, entry: Entry, body: TagsInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.tag_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "own_entry",
        "Say which member looks after an entry, or that nobody does",
        what="owner",
        examples={"A member": {"owner": "anna"}, "Nobody": {"owner": None}},
    )
    def own(self, entry: Entry, body: OwnerInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.own_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "merge_entry",
        "Merge an entry into another, which gets its occurrences and evidence; answers with that one",
        what="merge",
        examples={
            "As the other says it": {"into": OTHER},
            "In other words": {"into": OTHER, "words": {"content": "Both of it."}},
        },
    )
    def merge(self, entry: Entry, body: MergeInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.merge_entries(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "supersede_entry",
        "Let another entry hold instead of this one, which is retired; answers with the other",
        what="superseding",
        examples={"The other holds": {"by": OTHER, "reason": "The interface was changed."}},
    )
    def supersede(self, entry: Entry, body: SupersedeInput) -> EntryAnswer:
        """Occurrences and evidence stay where they are. Needs the scope `reviews:write` besides."""
        return entry_answer(curating.supersede_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "split_entry",
        "Make a part of an entry a new one; answers with the new one",
        what="split",
        status=201,
        examples={"A rule of its own": {"into": {"kind": "rule", "name": "Dates", "content": "Write 2026-01-31."}}},
    )
    def split(self, entry: Entry, body: SplitInput) -> EntryAnswer:
        """Needs the scope `reviews:write` besides."""
        return entry_answer(curating.split_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "undo_entry_change",
        "Take the last change of an entry back: words, labels and state as before",
        what="undo",
    )
    def undo(self, entry: Entry, body: UndoInput) -> UndoneAnswer:
        """Only the key that made the change, and keys with the scope admin. Needs `reviews:write` besides."""
        undone = curating.undo_curation(self.project, entry.id, body, actor=self.actor)
        return UndoneAnswer(entry=entry_answer(undone.entry), undone=undone.change, recalled=undone.recalled)


# Curating many entries together, and taking that back.

ONE = "01890a5d-ac96-774b-bcce-b302099a8057"
EXAMPLES = {
    "Approve": {"entries": [ONE], "do": "approve"},
    "Retire": {"entries": [ONE], "do": "retire", "reason": "The tool was replaced."},
    "Tag": {"entries": [ONE], "do": "add_tags", "tags": ["billing"]},
    "Look after": {"entries": [ONE], "do": "own", "owner": "anna"},
}


class BulkCurations(DeskView):
    @change(
        "curate_entries_together",
        "Curate up to 500 entries together with one reason; tells what became of each",
        may=Permission.CURATE,
        what="bulk change",
        examples=EXAMPLES,
    )
    def create(self, body: BulkCuration) -> BulkCurationAnswer:
        """Each by itself: one that is refused keeps no other back. Needs the scope `reviews:write` besides."""
        return bulk_answer(curate_together(self.project, body, actor=self.actor))

    @change(
        "undo_entries_together",
        "Take a bulk change of entries back; what was changed since stays, and says so",
        may=Permission.CURATE,
        problems=(409,),
    )
    def undo(self, entry_bulk_id: UUID, body: Nothing) -> BulkCurationAnswer:
        """Only the key that made it, and keys with the scope admin. Needs `reviews:write` besides."""
        return bulk_answer(undo_together(self.project, entry_bulk_id, actor=self.actor))
