"""One entry with all that belongs to it: its versions, where it was learned, its conflicts and what was merged in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Annotated, Any
from uuid import UUID

from django.db.models import Q
from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, SkipValidation

from notebook_app.identity import nfc
from notebook_app.kinds import OF_THE_DESK, Change, EntryKind, EntryState, uuid_in
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, EntryVersion, Evidence, Settlement
from notebook_app.versions import KEPT, WORDS, kept_of

# An entry as others see it: a value without the row behind it. JSON is handed on as it stands: a row that came from
# another desk in an odd shape is no reason to show nothing of it.


class KeptEntry(BaseModel):
    """One entry. `flags` are what screening found in it; they count until a curator has cleared them."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    id: UUID
    project_id: UUID
    kind: EntryKind
    state: EntryState
    version: int
    name: str
    description: str
    content: str
    details: Annotated[dict[str, Any], SkipValidation]
    agent: str
    agents: tuple[str, ...]
    category: str
    tags: tuple[str, ...]
    owner_id: int | None
    source: str
    occurrences: int
    last_seen_at: datetime
    flags: Annotated[tuple[dict[str, Any], ...], SkipValidation, BeforeValidator(tuple)]
    is_cleared: bool
    is_used_while_flagged: bool
    merged_into_id: UUID | None
    reason: str
    decided_by: str = Field(validation_alias="decided_by_label")
    decided_at: datetime | None
    recalled: int
    last_recalled_at: datetime | None
    created_at: datetime
    updated_at: datetime

    @property
    def is_flagged(self) -> bool:
        """Return True if screening found something in it that no curator has cleared."""
        return bool(self.flags) and not self.is_cleared

    @property
    def is_excluded(self) -> bool:
        """Return True if it is in no prompt until a curator has decided on its flags."""
        return self.is_flagged and not self.is_used_while_flagged

    def covers(self, agent: str) -> bool:
        """Return True if its scope covers `agent`, as `entry_filter.covering` asks the database."""
        is_seen = self.agent in self.agents and bool({"", nfc(agent)} & set(self.agents))
        return self.agent in {"", nfc(agent)} or is_seen


def shown(entry: Entry) -> KeptEntry:
    """The row as a value."""
    return KeptEntry.model_validate(entry)


MOST_VERSIONS = 200
MOST_LISTED = 100


class KeptVersion(BaseModel):
    """An entry as one change left it; `kept` are its words by the names of versions.KEPT."""

    model_config = ConfigDict(from_attributes=True, frozen=True)

    number: int
    change: Change
    state: EntryState
    kept: Annotated[dict[str, Any], SkipValidation]
    reason: str
    by: str = Field(validation_alias="by_label")
    by_id: int | None
    evidence: Annotated[dict[str, Any], SkipValidation]
    created_at: datetime


@dataclass(frozen=True)
class Wording:
    """What was said otherwise and counted on the entry: columns by their names. `entry_id` was merged into it."""

    said: dict[str, Any]
    created_at: datetime
    entry_id: UUID | None = None


@dataclass(frozen=True)
class KeptConflict:
    """A conflict that is open, seen from one of its entries: the other one, and how alike they are."""

    id: UUID
    kind: str
    other: KeptEntry
    text_likeness: float
    meaning_likeness: float | None


def entry_of(project_id: UUID, entry_id: UUID) -> KeptEntry | None:
    """The project's entry, None where there is no such one."""
    row = Entry.objects.filter(project_id=project_id, pk=entry_id).defer("search").first()
    return shown(row) if row else None


def entries_by_id(project_id: UUID, entry_ids: Sequence[UUID]) -> dict[UUID, KeptEntry]:
    """Those of the entries that the project has."""
    rows = Entry.objects.filter(project_id=project_id, pk__in=entry_ids).defer("search")
    return {row.pk: shown(row) for row in rows}


def versions_of(entry: KeptEntry, *, most: int = MOST_VERSIONS) -> list[KeptVersion]:
    """The newest versions of the entry, the newest first."""
    rows = EntryVersion.objects.filter(entry=entry.id, entry__project_id=entry.project_id).order_by("-number")
    return [KeptVersion.model_validate(row) for row in rows[:most]]


def last_version_of(entry: KeptEntry) -> KeptVersion | None:
    """Who changed the entry last, and how."""
    return next(iter(versions_of(entry, most=1)), None)


def approver_of(entry: KeptEntry) -> int | None:
    """Return the id of the person who approved the entry last; None if a key did, or if it was never approved."""
    rows = EntryVersion.objects.filter(entry=entry.id, change=Change.APPROVED).order_by("-number")
    return rows.values_list("by", flat=True).first()


def last_change_of(entry: KeptEntry) -> KeptVersion | None:
    """The last change that was made by somebody; what the desk itself screened is none."""
    rows = EntryVersion.objects.filter(entry=entry.id, entry__project_id=entry.project_id)
    row = rows.exclude(change__in=OF_THE_DESK).order_by("-number").first()
    return KeptVersion.model_validate(row) if row else None


def occurrences_of(entry: KeptEntry, *, most: int = MOST_LISTED) -> list[Evidence]:
    """The newest evidence of the entry, the newest first."""
    rows = Evidence.objects.filter(entry=entry.id, project_id=entry.project_id).order_by("-created_at", "-id")
    return list(rows[:most])


def wordings_of(entries: Sequence[KeptEntry]) -> dict[UUID, list[Wording]]:
    """Map entry id to its other wordings, each once: of its evidence, newest first, and of what was merged into it.

    Entries without any are left out. Two queries.
    """
    known = {entry.id: entry for entry in entries}
    found: dict[UUID, list[Wording]] = {}
    rows = Evidence.objects.filter(entry__in=known).exclude(wordings=[]).order_by("-created_at", "-id")
    for entry_id, wordings, at in rows.values_list("entry_id", "wordings", "created_at"):
        found.setdefault(entry_id, []).extend(Wording(said, at) for said in wordings)
    for row in Entry.objects.filter(merged_into__in=known).defer("search").order_by("-decided_at", "-id"):
        assert row.merged_into_id is not None
        said = differing_columns(kept_of(row), known[row.merged_into_id])
        found.setdefault(row.merged_into_id, []).append(Wording(said, row.created_at, row.pk))
    told = {}
    for entry_id, wordings in found.items():
        # Another label alone is no other wording. Evidence that a merge copied repeats what the merged entry says.
        by_words = {json.dumps([one.said.get(name) for name in WORDS]): one for one in wordings}
        by_words.pop(json.dumps([None for _ in WORDS]), None)
        told[entry_id] = list(by_words.values())[:MOST_LISTED]
    return {entry_id: wordings for entry_id, wordings in told.items() if wordings}


def differing_columns(said: Mapping[str, Any], entry: Entry | KeptEntry) -> dict[str, Any]:
    """Return the columns of `said` that the entry has otherwise: what is lost if it is only counted there.

    An empty agent means every agent and is included; other empty columns lose nothing.
    """
    return {
        name: said[name]
        for name in KEPT
        if (said[name] or name == "agent") and said[name] != _as_json(getattr(entry, name))
    }


def _as_json(value: Any) -> Any:
    return list(value) if isinstance(value, tuple) else value


def runs_behind(entry_id: UUID) -> list[UUID]:
    """The runs that the entry was learned from, as its evidence names them."""
    found = Evidence.objects.filter(entry=entry_id, refs__has_key="run").values_list("refs__run", flat=True)
    return [run_id for run_id in map(uuid_in, found) if run_id is not None]


def conflicts_of(entry: KeptEntry) -> list[KeptConflict]:
    """The conflicts of the entry that nobody has settled, and what it is linked with, the likest first."""
    either = Q(first=entry.id) | Q(second=entry.id)
    linked = Q(state=ConflictState.SETTLED, kind=ConflictKind.REFINEMENT, settlement=Settlement.KEPT_BOTH)
    rows = Conflict.objects.filter(either, Q(state=ConflictState.OPEN) | linked, project_id=entry.project_id)
    rows = rows.select_related("first", "second").order_by("-text_likeness", "id")[:MOST_LISTED]
    return [
        KeptConflict(
            id=row.pk,
            kind=row.kind,
            other=shown(row.second if row.first_id == entry.id else row.first),
            text_likeness=row.text_likeness,
            meaning_likeness=row.meaning_likeness,
        )
        for row in rows
    ]


def merged_into(entry: KeptEntry) -> list[KeptEntry]:
    """The entries that were merged into this one, the newest first."""
    rows = Entry.objects.filter(project_id=entry.project_id, merged_into=entry.id).defer("search")
    return [shown(row) for row in rows.order_by("-decided_at", "-id")[:MOST_LISTED]]


def learned_from(project_id: UUID, *, any_of: Sequence[dict[str, Any]]) -> list[KeptEntry]:
    """The entries with evidence that holds all of one of `any_of`, such as {"run": …}; the most frequent first."""
    wanted = Q()
    for refs in any_of:
        wanted |= Q(refs__contains=refs)
    if not wanted:
        return []
    evidence = Evidence.objects.filter(wanted, project_id=project_id).values("entry")
    rows = Entry.objects.filter(project_id=project_id, pk__in=evidence).defer("search")
    return [shown(row) for row in rows.order_by("-occurrences", "-id")[:MOST_LISTED]]
