"""All of the notebook that others may call."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app.models import Entry

# The newest are kept: an agent that makes the same mistake for ever would have the whole list written each time.
MOST_EVIDENCE = 500


@dataclass(frozen=True)
class ProposedEntry:
    """An entry as others see it."""

    id: UUID
    kind: str
    state: str
    name: str
    description: str
    content: str
    occurrences: int
    source: str


@transaction.atomic
def propose(
    project_id: UUID,
    *,
    kind: str,
    name: str,
    source: str,
    description: str = "",
    content: str = "",
    agent: str = "",
    category: str = "",
    evidence: dict[str, Any] | None = None,
) -> ProposedEntry:
    """The entry that this is kept as. Proposed again from the same `source`, it is counted on the entry that is there.

    Evidence that the entry has already is not counted again, so that a proposal made twice by accident counts once.
    """
    entry, is_new = Entry.objects.select_for_update().get_or_create(
        project_id=project_id,
        source=source[:200],
        defaults={
            "kind": kind,
            "name": name[:200],
            "description": description,
            "content": content,
            "agent": agent[:120],
            "category": category[:120],
            "evidence": [evidence] if evidence else [],
        },
    )
    if not is_new and evidence and evidence not in entry.evidence:
        entry.occurrences += 1
        entry.evidence = [*entry.evidence, evidence][-MOST_EVIDENCE:]
        entry.save(update_fields=["occurrences", "evidence", "updated_at"])
    return _shown(entry)


def proposed_from(project_id: UUID, *, sources: list[str]) -> list[ProposedEntry]:
    """The entries that were proposed from any of `sources`, oldest first."""
    found = Entry.objects.filter(project_id=project_id, source__in=sources).order_by("created_at", "id")
    return [_shown(entry) for entry in found]


def _shown(entry: Entry) -> ProposedEntry:
    return ProposedEntry(
        id=entry.pk,
        kind=entry.kind,
        state=entry.state,
        name=entry.name,
        description=entry.description,
        content=entry.content,
        occurrences=entry.occurrences,
        source=entry.source,
    )
