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
        "Approve an entry",
        what="approval",
        examples={
            "Approve the version you read": {"expected_version": 2},
            "Retire contradicting entries": {"contradictions": "supersede"},
        },
    )
    def approve(self, entry: Entry, body: ApprovalInput) -> EntryAnswer:
        """An approved entry can be retrieved and injected into prompts. Needs the scope `reviews:write` too. A key
        cannot approve its own proposals.

        An entry that is one side of open contradictions is refused (409, with their ids in `conflicts`), unless
        `contradictions` states how to resolve them.
        """
        return entry_answer(curating.approve_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("reject_entry", "Reject an entry; later occurrences are only counted", what="rejection")
    def reject(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.reject_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "retire_entry",
        "Retire an approved entry from use",
        what="retirement",
        examples={"With a reason": {"reason": "The tool was replaced."}},
    )
    def retire(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.retire_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("reopen_entry", "Reopen a rejected, retired or merged entry", what="reopening")
    def reopen(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """The entry becomes a proposal again. What a merged entry contributed is removed from the other. Also needs the
        scope `reviews:write`.
        """
        return entry_answer(curating.reopen_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry("clear_entry", "Clear the safety flags of an entry", what="clearing")
    def clear(self, entry: Entry, body: CurationInput) -> EntryAnswer:
        """Confirms that the flagged text is harmless. Changed text is checked again. Also needs the scope
        `reviews:write`.
        """
        return entry_answer(curating.clear_flags(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "restore_entry",
        "Restore an earlier version of an entry",
        what="restoring",
        examples={"First version": {"version": 1}},
    )
    def restore(self, entry: Entry, body: RestoreInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.restore_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "tag_entry",
        "Replace the tags of an entry",
        what="tags",
        examples={"Two tags": {"tags": ["billing", "dates"]}},
    )
    def tag(self, entry: Entry, body: TagsInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.tag_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "own_entry",
        "Set or clear the owner of an entry",
        what="owner",
        examples={"A member": {"owner": "anna"}, "Nobody": {"owner": None}},
    )
    def own(self, entry: Entry, body: OwnerInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.own_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "merge_entry",
        "Merge an entry into another",
        what="merge",
        examples={
            "Use the text of the target": {"into": OTHER},
            "Use new text": {"into": OTHER, "words": {"content": "Both of it."}},
        },
    )
    def merge(self, entry: Entry, body: MergeInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.merge_entries(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "supersede_entry",
        "Retire an entry in favor of another",
        what="superseding",
        examples={"Replaced by the other entry": {"by": OTHER, "reason": "The interface was changed."}},
    )
    def supersede(self, entry: Entry, body: SupersedeInput) -> EntryAnswer:
        """Returns the other entry. Occurrences and evidence are not moved. Also needs the scope `reviews:write`."""
        return entry_answer(curating.supersede_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "split_entry",
        "Split an entry",
        what="split",
        status=201,
        examples={"Separate rule": {"into": {"kind": "rule", "name": "Dates", "content": "Write 2026-01-31."}}},
    )
    def split(self, entry: Entry, body: SplitInput) -> EntryAnswer:
        """Also needs the scope `reviews:write`."""
        return entry_answer(curating.split_entry(self.project, entry.id, body, actor=self.actor))

    @on_entry(
        "undo_entry_change",
        "Undo the last change of an entry",
        what="undo",
    )
    def undo(self, entry: Entry, body: UndoInput) -> UndoneAnswer:
        """Restores text, labels and state. Only for the key that made the change, and keys with the scope admin. Also
        needs `reviews:write`.
        """
        undone = curating.undo_curation(self.project, entry.id, body, actor=self.actor)
        return UndoneAnswer(entry=entry_answer(undone.entry), undone=undone.change, recalled=undone.recalled)


# Curating many entries together, and taking that back.

ONE = "01890a5d-ac96-774b-bcce-b302099a8057"
EXAMPLES = {
    "Approve": {"entries": [ONE], "do": "approve"},
    "Retire": {"entries": [ONE], "do": "retire", "reason": "The tool was replaced."},
    "Tag": {"entries": [ONE], "do": "add_tags", "tags": ["billing"]},
    "Assign an owner": {"entries": [ONE], "do": "own", "owner": "anna"},
}


class BulkCurations(DeskView):
    @change(
        "curate_entries_together",
        "Curate up to 500 entries at once",
        may=Permission.CURATE,
        what="bulk change",
        examples=EXAMPLES,
    )
    def create(self, body: BulkCuration) -> BulkCurationAnswer:
        """Entries are processed independently. The response has the result of each. Also needs the scope
        `reviews:write`.
        """
        return bulk_answer(curate_together(self.project, body, actor=self.actor))

    @change(
        "undo_entries_together",
        "Undo a bulk change of entries",
        may=Permission.CURATE,
        problems=(409,),
    )
    def undo(self, entry_bulk_id: UUID, body: Nothing) -> BulkCurationAnswer:
        """Entries changed since then are not restored, and are reported. Only for the key that made the change, and
        keys with the scope admin. Also needs `reviews:write`.
        """
        return bulk_answer(undo_together(self.project, entry_bulk_id, actor=self.actor))
