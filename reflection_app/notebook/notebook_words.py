"""What the states of entries, and the changes that lead to them, are called in messages and on pages."""

from django.utils.functional import Promise
from django.utils.translation import gettext_lazy as _

from notebook_app.public import Change, EntryState

STATES: dict[EntryState, Promise] = {
    EntryState.PROPOSED: _("proposed"),
    EntryState.SCREENED: _("screened"),
    EntryState.APPROVED: _("approved"),
    EntryState.RETIRED: _("retired"),
    EntryState.REJECTED: _("rejected"),
    EntryState.MERGED: _("merged"),
}
CHANGES: dict[Change, Promise] = {
    Change.PROPOSED: _("proposed"),
    Change.SCREENED: _("screened"),
    Change.EDITED: _("edited"),
    Change.APPROVED: _("approved"),
    Change.REJECTED: _("rejected"),
    Change.RETIRED: _("retired"),
    Change.MERGED: _("merged into another"),
    Change.SUPERSEDED: _("superseded by another"),
    Change.ABSORBED: _("given what another had"),
    Change.RELEASED: _("given up what another had"),
    Change.SPLIT: _("split"),
    Change.RESTORED: _("restored"),
    Change.REOPENED: _("reopened"),
    Change.TAGGED: _("tagged"),
    Change.OWNED: _("given an owner"),
    Change.CLEARED: _("cleared"),
    Change.FLAGGED: _("flagged"),
    Change.IMPORTED: _("imported"),
    Change.UNDONE: _("put back as before"),
}


def state_words(state: str) -> str:
    """The state in words; its own name where it has none."""
    return str(STATES.get(EntryState(state), state)) if state in set(EntryState) else state


def change_words(change: str) -> str:
    """The change in words; its own name where it has none."""
    return str(CHANGES.get(Change(change), change)) if change in set(Change) else change
