"""Proposals: the same thing proposed again is counted on the entry that is there, however many propose it at once."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Q
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.changing import derive, lock_notebook, lock_rows
from notebook_app.identity import nfc, text_key
from notebook_app.kinds import (
    DESK,
    OF_THE_DESK,
    WAITING,
    By,
    Change,
    EntryKind,
    EntryState,
    Refused,
    UnusableDetails,
    read_details,
    storable,
)
from notebook_app.models import Entry, Evidence
from notebook_app.reading import differing_columns
from notebook_app.versions import KEPT, write_version

LONGEST_NAME = 200
LONGEST_TEXT = 20_000
LONGEST_LABEL = 120
LONGEST_SOURCE = 200
LONGEST_TAG = 60
MOST_TAGS = 20
# Of one evidence: a source that changes its words with every run keeps the newest.
MOST_WORDINGS = 100
# An entry that was merged into one that was merged in turn …
MOST_MERGES_FOLLOWED = 20


@dataclass(frozen=True)
class Proposal:
    """Something to keep. Without a `source` of its own, it is known by its words alone."""

    kind: EntryKind
    name: str
    description: str = ""
    content: str = ""
    details: dict[str, Any] = field(default_factory=dict)
    agent: str = ""
    category: str = ""
    tags: tuple[str, ...] = ()
    source: str = ""
    evidence: dict[str, Any] = field(default_factory=dict)

    @property
    def fingerprint(self) -> str:
        """Return the key of the proposal's words (see identity.py): equal for the same words from any agent."""
        return text_key(self.columns)

    @property
    def columns(self) -> dict[str, Any]:
        """What the entry's columns of these names hold."""
        return {name: getattr(self, name) for name in KEPT} | {"kind": self.kind.value, "tags": list(self.tags)}


@dataclass(frozen=True)
class Proposed:
    """The entry that a proposal is kept as, whether it is new, and whether it was counted as found again."""

    entry: Entry
    is_new: bool
    is_counted: bool


def keep(project_id: UUID, proposal: Proposal, *, by: By = DESK, made: Change = Change.PROPOSED) -> Proposed:
    """The entry that the proposal is kept as: a new one, or the one that says the same, on which it is counted.

    Evidence that an entry has already is not counted again, so that a proposal made twice by accident counts once. An
    entry that was merged passes it on to the one it was merged into; a rejected or retired one counts it and stays so.
    Raises Refused where the fields are not those of the kind.
    """
    return keep_all(project_id, [proposal], by=by, made=made)[0]


@transaction.atomic
def keep_all(
    project_id: UUID, proposals: Sequence[Proposal], *, by: By = DESK, made: Change = Change.PROPOSED
) -> list[Proposed]:
    """Each proposal as `keep` keeps it, all or none; in the order of `proposals`.

    One transaction at a time keeps proposals of a project: two with the same things in another order would wait for
    each other for ever.
    """
    checked = [_checked(proposal) for proposal in proposals]
    lock_notebook(project_id)
    lock_rows(project_id, ids_known(project_id, checked))
    kept = []
    for proposal in checked:
        rows = Entry.objects.select_for_update(of=("self",), no_key=True).filter(_same(proposal), project_id=project_id)
        # The source is what the proposer calls it, and goes before the words; present words go before earlier ones.
        same = max(
            rows.order_by("id"),
            key=lambda row: (row.source == proposal.source, row.text_key == proposal.fingerprint),
            default=None,
        )
        if same is None:
            entry = Entry(
                **proposal.columns,
                project_id=project_id,
                source=proposal.source or f"words:{proposal.fingerprint}",
                fingerprint=proposal.fingerprint,
                agents=[proposal.agent],
            )
            derive(entry)
            entry.save(force_insert=True)
            write_version(entry, made, by=by, evidence=proposal.evidence)
            _add_evidence(entry, proposal.evidence, at=entry.last_seen_at)
            kept.append(Proposed(entry, is_new=True, is_counted=True))
            continue
        entry, now = _that_counts(same), timezone.now()
        is_counted = _add_evidence(entry, proposal.evidence, at=now, wording=differing_columns(proposal.columns, entry))
        is_seen_elsewhere = proposal.agent not in entry.agents
        if is_counted or is_seen_elsewhere:
            entry.agents += [proposal.agent] if is_seen_elsewhere else []
            entry.occurrences += is_counted
            entry.last_seen_at = now if is_counted else entry.last_seen_at
            entry.save(update_fields=["occurrences", "last_seen_at", "agents", "updated_at"])
        kept.append(Proposed(entry, is_new=False, is_counted=is_counted))
    return kept


def _checked(proposal: Proposal) -> Proposal:
    """The proposal within bounds and storable. Raises Refused."""
    try:
        details = read_details(proposal.kind, storable(proposal.details))
    except UnusableDetails as error:
        raise Refused(str(error), field=f"details.{error.errors[0]['field']}") from None
    name = " ".join(nfc(storable(proposal.name)).split())[:LONGEST_NAME]
    if not name:
        raise Refused(_("name is required"), field="name")
    tags = (" ".join(nfc(storable(tag)).split())[:LONGEST_TAG].strip() for tag in proposal.tags)
    return Proposal(
        kind=proposal.kind,
        name=name,
        description=storable(proposal.description)[:LONGEST_TEXT],
        content=storable(proposal.content)[:LONGEST_TEXT],
        details=details,
        agent=nfc(storable(proposal.agent))[:LONGEST_LABEL],
        category=nfc(storable(proposal.category))[:LONGEST_LABEL],
        tags=tuple(dict.fromkeys(tag for tag in tags if tag))[:MOST_TAGS],
        source=storable(proposal.source)[:LONGEST_SOURCE],
        evidence=storable(proposal.evidence),
    )


def _same(proposal: Proposal) -> Q:
    """The rows that the proposal may be another occurrence of."""
    of_source = Q(source=proposal.source) if proposal.source else Q()
    return Q(fingerprint=proposal.fingerprint) | Q(text_key=proposal.fingerprint) | of_source


def ids_known(project_id: UUID, proposals: Sequence[Proposal]) -> set[UUID]:
    """The entries that the proposals may be counted on, with those that they were merged into."""
    sources = {one.source for one in proposals if one.source}
    keys = {one.fingerprint for one in proposals}
    same = Q(fingerprint__in=keys) | Q(text_key__in=keys) | Q(source__in=sources)
    found: set[UUID] = set()
    left = set(Entry.objects.filter(same, project_id=project_id).values_list("pk", flat=True))
    while left:
        found |= left
        merged = Entry.objects.filter(pk__in=left, state=EntryState.MERGED)
        left = {pk for pk in merged.values_list("merged_into", flat=True) if pk is not None} - found
    return found


def ids_counted_on(project_id: UUID, proposals: Sequence[Proposal]) -> set[UUID]:
    """Those of the entries that the proposals may be counted on that have the evidence of one."""
    found: set[UUID] = set()
    for proposal in map(_checked, proposals):
        known = ids_known(project_id, [proposal])
        known_evidence = Evidence.objects.filter(entry__in=known, refs_key=refs_key(proposal.evidence))
        found.update(known_evidence.values_list("entry_id", flat=True))
    return found


def _that_counts(entry: Entry) -> Entry:
    """The entry that occurrences of this one are counted on: the one it was merged into, if it was."""
    for _step in range(MOST_MERGES_FOLLOWED):
        if entry.state != EntryState.MERGED or entry.merged_into_id is None:
            break
        entry = Entry.objects.select_for_update(of=("self",), no_key=True).get(pk=entry.merged_into_id)
    return entry


def _add_evidence(entry: Entry, refs: dict[str, Any], *, at: datetime, wording: dict[str, Any] | None = None) -> bool:
    """Return True if the evidence is new to the entry, whose row is locked. Without any, nothing is counted.

    Another `wording` of known evidence is added to the earlier ones.
    """
    if not refs:
        return False
    row, is_new = Evidence.objects.get_or_create(
        entry=entry,
        refs_key=refs_key(refs),
        defaults={
            "project_id": entry.project_id,
            "refs": refs,
            "created_at": at,
            "wordings": [wording] if wording else [],
        },
    )
    if not is_new and wording:
        _append_wording(row, wording)
    return is_new


def add_wording(entry: Entry, wording: dict[str, Any], *, refs: dict[str, Any]) -> None:
    """Store what was said otherwise with the entry's evidence of `refs`, else with its newest; nothing is counted."""
    rows = Evidence.objects.select_for_update().filter(entry=entry).order_by("-created_at", "-id")
    row = rows.filter(refs_key=refs_key(refs)).first() or rows.first()
    if row is None:
        _add_evidence(entry, refs, at=timezone.now(), wording=wording)
    else:
        _append_wording(row, wording)


def _append_wording(row: Evidence, wording: dict[str, Any]) -> None:
    if wording not in row.wordings:
        row.wordings = [*row.wordings, wording][-MOST_WORDINGS:]
        row.save(update_fields=["wordings"])


def agents_of(entry: Entry, *, without: UUID | None = None) -> list[str]:
    """Return the agents that the entry was seen at, by its evidence and by what was merged into it.

    `without` leaves out an entry that is about to be taken out of it.
    """
    first = entry.agents[:1] or [entry.agent]
    wordings = [one for some in entry.evidence.values_list("wordings", flat=True) for one in some]
    gave_way = entry.merged_entries.exclude(pk=without) if without else entry.merged_entries.all()
    merged = gave_way.values_list("agents", flat=True)
    told = [one["agent"] for one in wordings if "agent" in one]
    return list(dict.fromkeys([*first, *told, *(agent for some in merged for agent in some)]))


def refs_key(refs: dict[str, Any]) -> str:
    """The same for the same ids. 64 characters."""
    return hashlib.sha256(json.dumps(refs, sort_keys=True, default=str).encode()).hexdigest()


def own_evidence() -> dict[str, str]:
    """Evidence of a proposal that names none: each such one is an occurrence of its own."""
    return {"proposal": str(uuid4())}


def take_back_proposal(project_id: UUID, proposal: Proposal) -> None:
    """Takes back that this was proposed with its evidence; an entry that nothing else speaks for goes.

    Only what nobody has decided on, or worked on, is taken back: of an entry that somebody did, neither the count nor
    the evidence changes.
    """
    checked = _checked(proposal)
    take_back_where(project_id, _same(checked), refs=checked.evidence)


@transaction.atomic
def take_back_where(project_id: UUID, same: Q, *, refs: dict[str, Any]) -> None:
    """Takes back the first of the rows that it can be taken back of; see `take_back_proposal`."""
    lock_notebook(project_id)
    key = refs_key(refs)
    rows = Entry.objects.select_for_update(of=("self",), no_key=True).filter(same, project_id=project_id)
    for row in rows.order_by("id"):
        if row.state == EntryState.MERGED and Evidence.objects.filter(entry=row, refs_key=key).exists():
            # It was an occurrence when a person merged it.
            return
        entry = _that_counts(row)
        found = Evidence.objects.filter(entry=entry, refs_key=key)
        if entry.state in WAITING and not _is_worked_on(entry) and found.exists():
            if entry.occurrences <= 1:
                entry.delete()
                return
            found.delete()
            entry.occurrences -= 1
            newest = Evidence.objects.filter(entry=entry).order_by("-created_at").first()
            entry.last_seen_at = newest.created_at if newest else entry.created_at
            entry.agents = agents_of(entry)
            entry.save(update_fields=["occurrences", "last_seen_at", "agents", "updated_at"])
            return


def _is_worked_on(entry: Entry) -> bool:
    """Whether somebody did more to it than propose it, or merged something into it."""
    of_the_desk = (Change.PROPOSED, Change.IMPORTED, *OF_THE_DESK)
    return entry.versions.exclude(change__in=of_the_desk).exists() or entry.merged_entries.exists()
