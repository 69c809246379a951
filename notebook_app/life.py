"""The life of an entry: proposed → screened → approved → retired; rejected; merged into another. Pure."""

from enum import StrEnum


class EntryState(StrEnum):
    PROPOSED = "proposed"
    SCREENED = "screened"
    APPROVED = "approved"
    RETIRED = "retired"
    REJECTED = "rejected"
    MERGED = "merged"


class Change(StrEnum):
    """What a version of an entry records."""

    PROPOSED = "proposed"
    SCREENED = "screened"
    EDITED = "edited"
    APPROVED = "approved"
    REJECTED = "rejected"
    RETIRED = "retired"
    MERGED = "merged"
    SUPERSEDED = "superseded"
    ABSORBED = "absorbed"
    RELEASED = "released"
    SPLIT = "split"
    RESTORED = "restored"
    REOPENED = "reopened"
    TAGGED = "tagged"
    OWNED = "owned"
    CLEARED = "cleared"
    FLAGGED = "flagged"
    IMPORTED = "imported"
    UNDONE = "undone"


# What still says something: entries that were rejected, retired or merged do not.
HOLDING = (EntryState.PROPOSED, EntryState.SCREENED, EntryState.APPROVED)
# What the desk itself does to an entry, which is nobody's work on it.
OF_THE_DESK = (Change.SCREENED, Change.FLAGGED)
# What waits for a curator.
WAITING = (EntryState.PROPOSED, EntryState.SCREENED)
EVERY = tuple(EntryState)

# From which states a change may be made, and the state that it leads to; None leaves the state as it is.
ALLOWED: dict[Change, tuple[tuple[EntryState, ...], EntryState | None]] = {
    Change.SCREENED: ((EntryState.PROPOSED,), EntryState.SCREENED),
    Change.APPROVED: (WAITING, EntryState.APPROVED),
    Change.REJECTED: (WAITING, EntryState.REJECTED),
    Change.RETIRED: ((EntryState.APPROVED,), EntryState.RETIRED),
    Change.MERGED: (HOLDING, EntryState.MERGED),
    # What is superseded is not the same as the other: found again, it is not counted there.
    Change.SUPERSEDED: (HOLDING, EntryState.RETIRED),
    Change.REOPENED: ((EntryState.REJECTED, EntryState.RETIRED, EntryState.MERGED), EntryState.PROPOSED),
    Change.EDITED: (HOLDING, None),
    Change.RESTORED: (HOLDING, None),
    Change.SPLIT: (HOLDING, None),
    Change.ABSORBED: (HOLDING, None),
    Change.RELEASED: (EVERY, None),
    Change.CLEARED: (HOLDING, None),
    Change.FLAGGED: (HOLDING, None),
    Change.TAGGED: (EVERY, None),
    Change.OWNED: (EVERY, None),
    # The state that it leads to is the one before what is undone (see undoing.py).
    Change.UNDONE: (EVERY, None),
}


def may(change: Change, state: EntryState) -> bool:
    """Whether an entry in this state can be changed so."""
    return change in ALLOWED and state in ALLOWED[change][0]


def after(change: Change, state: EntryState) -> EntryState:
    """The state that the change leads to from this one."""
    return ALLOWED[change][1] or state
