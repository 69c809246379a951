"""One entry with all that belongs to it: its versions, where it was learned, its conflicts and what was merged in."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID

from django.db.models import Q

from notebook_app.kinds import OF_THE_DESK, Change, uuid_in
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, EntryVersion, Evidence, Settlement
from notebook_app.versions import KEPT, WORDS, kept_of

MOST_VERSIONS = 200
MOST_LISTED = 100


@dataclass(frozen=True)
class Wording:
    """What was said otherwise and counted on the entry: columns by their names. `entry_id` was merged into it."""

    said: dict[str, Any]
    created_at: datetime
    entry_id: UUID | None = None


def entry_of(project_id: UUID, entry_id: UUID) -> Entry | None:
    """The project's entry, None where there is no such one."""
    return Entry.objects.filter(project_id=project_id, pk=entry_id).defer("search").first()


def entries_by_id(project_id: UUID, entry_ids: Sequence[UUID]) -> dict[UUID, Entry]:
    """Those of the entries that the project has."""
    return Entry.objects.filter(project_id=project_id).defer("search").in_bulk(list(entry_ids))


def versions_of(entry: Entry, *, most: int = MOST_VERSIONS) -> list[EntryVersion]:
    """The newest versions of the entry, the newest first."""
    rows = EntryVersion.objects.filter(entry=entry.id, entry__project_id=entry.project_id).order_by("-number")
    return list(rows[:most])


def last_version_of(entry: Entry) -> EntryVersion | None:
    """Who changed the entry last, and how."""
    return next(iter(versions_of(entry, most=1)), None)


def approver_of(entry: Entry) -> int | None:
    """Return the id of the person who approved the entry last; None if a key did, or if it was never approved."""
    rows = EntryVersion.objects.filter(entry=entry.id, change=Change.APPROVED).order_by("-number")
    return rows.values_list("by", flat=True).first()


def last_change_of(entry: Entry) -> EntryVersion:
    """The last change that was made by somebody; what the desk itself screened is none."""
    rows = EntryVersion.objects.filter(entry=entry.id, entry__project_id=entry.project_id)
    return rows.exclude(change__in=OF_THE_DESK).latest("number")


def occurrences_of(entry: Entry, *, most: int = MOST_LISTED) -> list[Evidence]:
    """The newest evidence of the entry, the newest first."""
    rows = Evidence.objects.filter(entry=entry.id, project_id=entry.project_id).order_by("-created_at", "-id")
    return list(rows[:most])


def wordings_of(entries: Sequence[Entry]) -> dict[UUID, list[Wording]]:
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


def differing_columns(said: Mapping[str, Any], entry: Entry) -> dict[str, Any]:
    """Return the columns of `said` that the entry has otherwise: what is lost if it is only counted there.

    An empty agent means every agent and is included; other empty columns lose nothing.
    """
    return {name: said[name] for name in KEPT if (said[name] or name == "agent") and said[name] != getattr(entry, name)}


def runs_behind(entry_id: UUID) -> list[UUID]:
    """The runs that the entry was learned from, as its evidence names them."""
    found = Evidence.objects.filter(entry=entry_id, refs__has_key="run").values_list("refs__run", flat=True)
    return [run_id for run_id in map(uuid_in, found) if run_id is not None]


def conflicts_of(entry: Entry) -> list[tuple[Conflict, Entry]]:
    """Return the entry's open conflicts and refinements, the most similar first, each with the other entry."""
    either = Q(first=entry.id) | Q(second=entry.id)
    linked = Q(state=ConflictState.SETTLED, kind=ConflictKind.REFINEMENT, settlement=Settlement.KEPT_BOTH)
    rows = Conflict.objects.filter(either, Q(state=ConflictState.OPEN) | linked, project_id=entry.project_id)
    rows = rows.select_related("first", "second").order_by("-text_likeness", "id")[:MOST_LISTED]
    return [(row, row.second if row.first_id == entry.id else row.first) for row in rows]


def merged_into(entry: Entry) -> list[Entry]:
    """The entries that were merged into this one, the newest first."""
    rows = Entry.objects.filter(project_id=entry.project_id, merged_into=entry.id).defer("search")
    return list(rows.order_by("-decided_at", "-id")[:MOST_LISTED])


def learned_from(project_id: UUID, *, any_of: Sequence[dict[str, Any]]) -> list[Entry]:
    """The entries with evidence that holds all of one of `any_of`, such as {"run": …}; the most frequent first."""
    wanted = Q()
    for refs in any_of:
        wanted |= Q(refs__contains=refs)
    if not wanted:
        return []
    evidence = Evidence.objects.filter(wanted, project_id=project_id).values("entry")
    rows = Entry.objects.filter(project_id=project_id, pk__in=evidence).defer("search")
    return list(rows.order_by("-occurrences", "-id")[:MOST_LISTED])
