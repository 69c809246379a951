"""What people made of entries, as it stood at a moment: their versions tell, whatever has happened since."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import datetime
from typing import Any
from uuid import UUID

from notebook_app.kinds import EntryState
from notebook_app.models import EntryVersion
from notebook_app.versions import WORDS

DECIDED = (EntryState.APPROVED.value, EntryState.REJECTED.value)
WAITING_AGAIN = (EntryState.PROPOSED.value, EntryState.SCREENED.value)


@dataclass(frozen=True)
class JudgedEntry:
    """A person's word on an entry. `words` are the columns that versions keep, by their names."""

    entry_id: UUID
    is_approved: bool
    is_edited: bool
    words: dict[str, Any]
    reason: str
    by: str
    at: datetime


def judged_by_people(project_id: UUID, entry_ids: Sequence[UUID], *, until: datetime) -> dict[UUID, JudgedEntry]:
    """Those of the entries that a person had approved or rejected by then; what keys and the desk did is no judgement.

    An entry that waits again has none. One that was retired or merged later keeps what was said of it.
    """
    first: dict[UUID, dict[str, Any]] = {}
    states: dict[UUID, str] = {}
    judged: dict[UUID, JudgedEntry] = {}
    rows = EntryVersion.objects.filter(entry__in=entry_ids, entry__project_id=project_id, created_at__lt=until)
    columns = ("entry_id", "state", "kept", "reason", "by_label", "by_id", "created_at")
    for entry_id, state, kept, reason, by, by_id, at in rows.order_by("entry", "number").values_list(*columns):
        proposed = first.setdefault(entry_id, kept)
        is_edited = any(kept[name] != proposed[name] for name in WORDS)
        if state != states.get(entry_id) and state in DECIDED and by_id is not None:
            is_approved = state == EntryState.APPROVED
            judged[entry_id] = JudgedEntry(entry_id, is_approved, is_edited, kept, reason, by, at)
        elif state != states.get(entry_id) and state in (*DECIDED, *WAITING_AGAIN):
            judged.pop(entry_id, None)
        elif state in DECIDED and entry_id in judged:
            judged[entry_id] = replace(judged[entry_id], words=kept, is_edited=is_edited)
        states[entry_id] = state
    return judged
