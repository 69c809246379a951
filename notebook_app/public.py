"""All of the notebook that other features may call, and its rows. Its own pages and REST import its modules."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from notebook_app.changing import lock_notebook
from notebook_app.compiled import compiled
from notebook_app.conflicts import asked_of, conflict_of, count_open_conflicts, keep_suggestion
from notebook_app.curation import approve, retire
from notebook_app.entry_filter import EntryFilter
from notebook_app.exposures import (
    Drawn,
    record_exposures,
    recorded_exposures,
    settle,
    settled,
    sum_recalls,
    was_drawn_for,
    withhold,
)
from notebook_app.identity import text_key
from notebook_app.interchange.importing import open_imports
from notebook_app.kinds import DESK, HOLDING, WAITING, By, EntryKind, EntryState
from notebook_app.learning import Became, keep_learned, memory_names, unlearn
from notebook_app.listing import Listing, entry_rows
from notebook_app.meaning import activate_space, active_space, keep_vectors, lacking_vectors, opening, wanted_space
from notebook_app.models import (
    Conflict,
    ConflictKind,
    ConflictState,
    Entry,
    EntryVersion,
    Evidence,
    Exposure,
    ImportBatch,
    Settlement,
)
from notebook_app.models import EmbeddingSpace as Space
from notebook_app.projects import TAKEN, Row, TakenTable, forget_some
from notebook_app.proposing import Proposal, ids_counted_on, keep, keep_all, take_back_proposal
from notebook_app.reading import entries_by_id, entry_of, learned_from, versions_of
from notebook_app.recall import RejectedEntry, recall
from notebook_app.rules_prompt import (
    BINDING_KINDS,
    binding_rules,
    bounded,
    fitting,
    new_boundary,
    told_of,
    usable_entries,
    without_notebook,
)
from notebook_app.search import LONGEST_WORD, Lexemes, begun, matching, quoted, refresh_search, stems_of

MOST_LOOKED_THROUGH = 50
MOSTLY = 0.4


@dataclass(frozen=True)
class SimilarEntry:
    """An entry with the words that it shares with what was asked about."""

    entry: Entry
    shared: tuple[str, ...]


def propose(project_id: UUID, *, kind: str, evidence: dict[str, Any] | None = None, **given: Any) -> Entry:
    """The entry that this is kept as; see `keep`, which this calls with a Proposal of these fields."""
    return keep(project_id, Proposal(kind=EntryKind(kind), evidence=evidence or {}, **given)).entry


def proposed_from(project_id: UUID, *, sources: list[str]) -> list[Entry]:
    """The entries that were proposed from any of `sources`, oldest first."""
    return list(Entry.objects.filter(project_id=project_id, source__in=sources).order_by("created_at", "id"))


def counted_on(project_id: UUID, proposals: Sequence[Proposal]) -> list[Entry]:
    """The entries that any of the proposals was counted on, by its source or by its words; see `ids_counted_on`."""
    return list(Entry.objects.filter(pk__in=ids_counted_on(project_id, proposals)).order_by("id"))


def name_of(project_id: UUID, *, entry_id: UUID) -> str | None:
    """The name of the project's entry; None where there is no such entry."""
    return Entry.objects.filter(project_id=project_id, pk=entry_id).values_list("name", flat=True).first()


def similar(project_id: UUID, text: str, *, limit: int = 5) -> list[SimilarEntry]:
    """The accepted and proposed entries that share most of their telling words with `text`, the likest first.

    One word in common is chance, unless it is nearly all that the text says.
    """
    held = EntryFilter(states=tuple(HOLDING))
    matches = [
        match
        for match in matching(project_id, text, among=held, limit=MOST_LOOKED_THROUGH)
        if len(match.words) > 1 or match.score >= MOSTLY
    ][:limit]
    found = Entry.objects.in_bulk([match.entry_id for match in matches])
    return [SimilarEntry(found[one.entry_id], shared=one.words) for one in matches if one.entry_id in found]
