"""All of the notebook that others may call."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from notebook_app.changing import lock_notebook, locked
from notebook_app.comparing import WheelsModel, compare, due
from notebook_app.conflicts import (
    SeenConflict,
    Settling,
    ask_for_suggestion,
    asked_of,
    beside,
    conflict_of,
    conflict_rows,
    count_open_conflicts,
    keep_suggestion,
    list_conflicts,
    seen,
    settle_conflict,
    unsettle_conflict,
)
from notebook_app.curation import approve, clear, edit, open_contradictions, own, reject, restore, retire, tag
from notebook_app.entry_filter import EntryFilter
from notebook_app.exposures import (
    Drawn,
    earlier_draws,
    record_exposures,
    settle,
    sum_recalls,
    was_drawn_for,
    withhold,
)
from notebook_app.identity import text_key
from notebook_app.interchange.exporting import archive, every_entry, json_lines, sessions_of
from notebook_app.interchange.importing import (
    Import,
    ImportStep,
    Planned,
    begin_import,
    import_of,
    import_some,
    imports_of,
    open_imports,
    preview,
    project_of_import,
)
from notebook_app.interchange.reading import HandedIn
from notebook_app.kinds import (
    DESK,
    HOLDING,
    WAITING,
    By,
    Change,
    ChangedMeanwhile,
    ConflictMovedOn,
    Contradicted,
    EntryKind,
    EntryState,
    NoSuchConflict,
    NoSuchEntry,
    NotPossibleNow,
    Refused,
    fields_of,
    lists_of,
    may,
    words_of,
)
from notebook_app.learning import Became, Learned, keep_learned, memory_names, unlearn
from notebook_app.lift import Interval, level_of, runs_needed
from notebook_app.lift_list import (
    Claim,
    KeptExposure,
    LessonLift,
    Measured,
    Outcomes,
    exposures_of,
    lift_of,
    lift_of_all,
)
from notebook_app.listing import (
    EntryOrder,
    EntryPage,
    Listing,
    count_by_state,
    count_entries,
    entry_rows,
    evidence_rows,
    in_open_conflict,
    labels_in_use,
    owners,
    page_of_entries,
    stale_rows,
    version_rows,
)
from notebook_app.meaning import (
    Lacking,
    WrongDimensions,
    activate_space,
    active_space,
    drop_other_spaces,
    embedding_status,
    keep_vectors,
    known_space,
    lacking_vectors,
    opening,
    wanted_space,
)
from notebook_app.merging import merge, reopen, split, supersede, undo
from notebook_app.models import ConflictKind, ConflictState, Entry, Settlement
from notebook_app.models import EmbeddingSpace as Space
from notebook_app.projects import TAKEN, Row, TakenTable, forget_some, recount
from notebook_app.proposing import Proposal, ids_counted_on, keep, keep_all, own_evidence, take_back_proposal
from notebook_app.reading import (
    KeptEntry,
    KeptVersion,
    Occurrence,
    approver_of,
    conflicts_of,
    entries_by_id,
    entry_of,
    last_change_of,
    last_version_of,
    learned_from,
    merged_into,
    occurrences_of,
    runs_behind,
    shown,
    versions_of,
    wordings_of,
)
from notebook_app.recall import Recalled, RecalledEntry, RejectedEntry, recall
from notebook_app.rules_prompt import (
    BINDING_KINDS,
    BindingRules,
    RulesPrompt,
    Told,
    binding_rules,
    bounded,
    fitting,
    has_approved,
    new_boundary,
    rules_prompt,
    told_of,
    without_notebook,
)
from notebook_app.screening import Opinion
from notebook_app.screening_by_meaning import count_unread, keep_reading, reading_of, unread
from notebook_app.search import LONGEST_WORD, Lexemes, begun, matching, quoted, refresh_search, stems_of
from notebook_app.versions import KEPT, diff_of, words_changed

MOST_LOOKED_THROUGH = 50
MOSTLY = 0.4


@dataclass(frozen=True)
class SimilarEntry:
    """An entry with the words that it shares with what was asked about."""

    entry: KeptEntry
    shared: tuple[str, ...]


def propose(project_id: UUID, *, kind: str, evidence: dict[str, Any] | None = None, **given: Any) -> KeptEntry:
    """The entry that this is kept as; see `keep`, which this calls with a Proposal of these fields."""
    return shown(keep(project_id, Proposal(kind=EntryKind(kind), evidence=evidence or {}, **given)).entry)


def held(project_id: UUID, entry_id: UUID) -> KeptEntry:
    """The project's entry, locked until the transaction ends; lock no other one then. Raises NoSuchEntry."""
    return shown(locked(project_id, entry_id))


def proposed_from(project_id: UUID, *, sources: list[str]) -> list[KeptEntry]:
    """The entries that were proposed from any of `sources`, oldest first."""
    found = Entry.objects.filter(project_id=project_id, source__in=sources).order_by("created_at", "id")
    return [shown(entry) for entry in found]


def counted_on(project_id: UUID, proposals: Sequence[Proposal]) -> list[KeptEntry]:
    """The entries that any of the proposals was counted on, by its source or by its words; see `ids_counted_on`."""
    return [shown(entry) for entry in Entry.objects.filter(pk__in=ids_counted_on(project_id, proposals)).order_by("id")]


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
    return [SimilarEntry(shown(found[one.entry_id]), shared=one.words) for one in matches if one.entry_id in found]
