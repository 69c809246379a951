"""An entry as others see it: a value without the row behind it."""

from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from notebook_app.kinds import EntryKind
from notebook_app.life import EntryState
from notebook_app.models import Entry


@dataclass(frozen=True)
class KeptEntry:
    """One entry. `flags` are what screening found in it; they count until a curator has cleared them."""

    id: UUID
    project_id: UUID
    kind: EntryKind
    state: EntryState
    version: int
    name: str
    description: str
    content: str
    details: dict[str, Any]
    agent: str
    category: str
    tags: tuple[str, ...]
    owner_id: int | None
    source: str
    occurrences: int
    last_seen_at: datetime
    flags: tuple[dict[str, Any], ...]
    is_cleared: bool
    merged_into_id: UUID | None
    reason: str
    decided_by: str
    decided_at: datetime | None
    recalled: int
    last_recalled_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_flagged(self) -> bool:
        """Whether it holds something that a curator has to look at before anybody is told it."""
        return bool(self.flags) and not self.is_cleared


def shown(entry: Entry) -> KeptEntry:
    """The row as a value."""
    return KeptEntry(
        id=entry.pk,
        project_id=entry.project_id,
        kind=EntryKind(entry.kind),
        state=EntryState(entry.state),
        version=entry.version,
        name=entry.name,
        description=entry.description,
        content=entry.content,
        details=entry.details,
        agent=entry.agent,
        category=entry.category,
        tags=tuple(entry.tags),
        owner_id=entry.owner_id,
        source=entry.source,
        occurrences=entry.occurrences,
        last_seen_at=entry.last_seen_at,
        flags=tuple(entry.flags),
        is_cleared=entry.is_cleared,
        merged_into_id=entry.merged_into_id,
        reason=entry.reason,
        decided_by=entry.decided_by_label,
        decided_at=entry.decided_at,
        recalled=entry.recalled,
        last_recalled_at=entry.last_recalled_at,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )
