"""All of the notebook that others may call."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models.functions import Left

from notebook_app.models import Entry, EntryState
from notebook_app.shared_words import LONGEST_READ, most_alike

# The newest are kept: an agent that makes the same mistake for ever would have the whole list written each time.
MOST_EVIDENCE = 500
# Entries that were rejected, retired or merged say nothing that holds.
HOLDING = ("proposed", "screened", "approved")
# Those that were last learned or learned again are looked through: without an index for it, a person would wait.
MOST_LOOKED_THROUGH = 500


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


@dataclass(frozen=True)
class SimilarEntry:
    """An entry with the words that it shares with what was asked about."""

    entry: ProposedEntry
    shared: tuple[str, ...]


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


@transaction.atomic
def withdraw(project_id: UUID, *, source: str, evidence: dict[str, Any]) -> None:
    """Takes back that this was proposed with this evidence; an entry that nothing else speaks for goes.

    Only what nobody has decided on is taken back: of an entry that was, neither the count nor the evidence changes.
    """
    entry = Entry.objects.select_for_update().filter(project_id=project_id, source=source[:200]).first()
    if entry is None or entry.state != EntryState.PROPOSED or evidence not in entry.evidence:
        return
    if entry.occurrences <= 1:
        entry.delete()
        return
    entry.evidence.remove(evidence)
    entry.occurrences -= 1
    entry.save(update_fields=["occurrences", "evidence", "updated_at"])


def proposed_from(project_id: UUID, *, sources: list[str]) -> list[ProposedEntry]:
    """The entries that were proposed from any of `sources`, oldest first."""
    found = Entry.objects.filter(project_id=project_id, source__in=sources).order_by("created_at", "id")
    return [_shown(entry) for entry in found]


def name_of(project_id: UUID, *, entry_id: UUID) -> str | None:
    """The name of the project's entry; None where there is no such entry."""
    return Entry.objects.filter(project_id=project_id, pk=entry_id).values_list("name", flat=True).first()


def similar(project_id: UUID, text: str, *, limit: int = 5) -> list[SimilarEntry]:
    """The accepted and proposed entries that share most of their telling words with `text`, the likest first."""
    looked_through = list(
        Entry.objects.filter(project_id=project_id, state__in=HOLDING)
        .order_by("-updated_at", "-id")
        .values_list("pk", "name", Left("description", LONGEST_READ), Left("content", LONGEST_READ))[
            :MOST_LOOKED_THROUGH
        ]
    )
    texts = ["\n".join(entry[1:]) for entry in looked_through]
    alike = most_alike(text, texts, limit=limit)
    found = Entry.objects.defer("evidence").in_bulk([looked_through[one.place][0] for one in alike])
    rows = ((found.get(looked_through[one.place][0]), one.words) for one in alike)
    return [SimilarEntry(_shown(entry), shared=words) for entry, words in rows if entry is not None]


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
