"""Proposals: the same thing proposed again is counted on the entry that is there, however many propose it at once."""

import hashlib
import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any
from uuid import UUID, uuid4

from django.db import IntegrityError, transaction
from django.db.models import Q
from django.utils import timezone

from notebook_app.derived import derive
from notebook_app.errors import Refused
from notebook_app.fingerprints import fingerprint_of
from notebook_app.kinds import EntryKind, UnusableDetails, read_details
from notebook_app.life import Change, EntryState
from notebook_app.models import Entry, Evidence
from notebook_app.people import DESK, By
from notebook_app.versions import write_version

LONGEST_NAME = 200
LONGEST_TEXT = 20_000
MOST_TAGS = 20
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
        return fingerprint_of(
            self.kind,
            name=self.name,
            description=self.description,
            content=self.content,
            details=self.details,
            agent=self.agent,
            category=self.category,
        )


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

    They are taken in the order of their fingerprints: two that propose the same things at once cannot lock each other.
    """
    checked = [_checked(proposal) for proposal in proposals]
    order = sorted(range(len(checked)), key=lambda place: (checked[place].fingerprint, checked[place].source))
    kept = {place: _keep(project_id, checked[place], by=by, made=made) for place in order}
    return [kept[place] for place in range(len(checked))]


def _checked(proposal: Proposal) -> Proposal:
    """The proposal within bounds. Raises Refused."""
    try:
        details = read_details(proposal.kind, proposal.details)
    except UnusableDetails as error:
        raise Refused(str(error), field="details") from None
    name = " ".join(proposal.name.split())[:LONGEST_NAME]
    if not name:
        raise Refused("an entry needs a name", field="name")
    return Proposal(
        kind=proposal.kind,
        name=name,
        description=proposal.description[:LONGEST_TEXT],
        content=proposal.content[:LONGEST_TEXT],
        details=details,
        agent=proposal.agent[:120],
        category=proposal.category[:120],
        tags=tuple(dict.fromkeys(tag.strip()[:60] for tag in proposal.tags if tag.strip()))[:MOST_TAGS],
        source=proposal.source[:200],
        evidence=proposal.evidence,
    )


def _keep(project_id: UUID, proposal: Proposal, *, by: By, made: Change) -> Proposed:
    entry = _known(project_id, proposal)
    if entry is None:
        try:
            with transaction.atomic():
                return _new(project_id, proposal, by=by, made=made)
        except IntegrityError:
            # Somebody proposed the same at the same moment, and has committed.
            entry = _known(project_id, proposal)
            if entry is None:
                raise
    return _count(entry, proposal)


def _known(project_id: UUID, proposal: Proposal) -> Entry | None:
    """The entry that says the same, locked; where it was merged, the one it was merged into."""
    same = Q(fingerprint=proposal.fingerprint) | (Q(source=proposal.source) if proposal.source else Q())
    rows = Entry.objects.select_for_update(of=("self",)).filter(same, project_id=project_id)
    # The source is what the proposer calls it, and goes before the words.
    entry = max(rows.order_by("id"), key=lambda row: row.source == proposal.source, default=None)
    for _ in range(MOST_MERGES_FOLLOWED):
        if entry is None or entry.state != EntryState.MERGED or entry.merged_into_id is None:
            break
        entry = Entry.objects.select_for_update(of=("self",)).get(pk=entry.merged_into_id)
    return entry


def _new(project_id: UUID, proposal: Proposal, *, by: By, made: Change) -> Proposed:
    entry = Entry(
        project_id=project_id,
        kind=proposal.kind.value,
        name=proposal.name,
        description=proposal.description,
        content=proposal.content,
        details=proposal.details,
        agent=proposal.agent,
        category=proposal.category,
        tags=list(proposal.tags),
        source=proposal.source or f"words:{proposal.fingerprint}",
        fingerprint=proposal.fingerprint,
    )
    derive(entry)
    entry.save(force_insert=True)
    write_version(entry, made, by=by, evidence=proposal.evidence)
    _add_evidence(entry, proposal.evidence, at=entry.last_seen_at)
    return Proposed(entry, is_new=True, is_counted=True)


def _count(entry: Entry, proposal: Proposal) -> Proposed:
    now = timezone.now()
    if not _add_evidence(entry, proposal.evidence, at=now):
        return Proposed(entry, is_new=False, is_counted=False)
    entry.occurrences += 1
    entry.last_seen_at = now
    entry.save(update_fields=["occurrences", "last_seen_at", "updated_at"])
    return Proposed(entry, is_new=False, is_counted=True)


def _add_evidence(entry: Entry, refs: dict[str, Any], *, at: datetime) -> bool:
    """Whether the evidence is new to the entry, whose row is locked. Without any, nothing is counted."""
    if not refs:
        return False
    _, is_new = Evidence.objects.get_or_create(
        entry=entry,
        refs_key=refs_key(refs),
        defaults={"project_id": entry.project_id, "refs": refs, "created_at": at},
    )
    return is_new


def refs_key(refs: dict[str, Any]) -> str:
    """The same for the same ids. 64 characters."""
    return hashlib.sha256(json.dumps(refs, sort_keys=True, default=str).encode()).hexdigest()


def own_evidence() -> dict[str, str]:
    """Evidence of a proposal that names none: each such one is an occurrence of its own."""
    return {"proposal": str(uuid4())}


@transaction.atomic
def take_back(project_id: UUID, *, source: str, refs: dict[str, Any]) -> None:
    """Takes back that this was proposed with this evidence; an entry that nothing else speaks for goes.

    Only what nobody has decided on is taken back: of an entry that was, neither the count nor the evidence changes.
    """
    rows = Entry.objects.select_for_update(of=("self",)).filter(project_id=project_id, source=source[:200])
    entry = rows.first()
    if entry is None or entry.state not in {EntryState.PROPOSED, EntryState.SCREENED}:
        return
    found = Evidence.objects.filter(entry=entry, refs_key=refs_key(refs))
    if not found.exists():
        return
    if entry.occurrences <= 1:
        entry.delete()
        return
    found.delete()
    entry.occurrences -= 1
    newest = Evidence.objects.filter(entry=entry).order_by("-created_at").first()
    entry.last_seen_at = newest.created_at if newest else entry.created_at
    entry.save(update_fields=["occurrences", "last_seen_at", "updated_at"])
