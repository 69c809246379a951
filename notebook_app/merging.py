"""Making one entry of two, and two of one. Nothing is lost: occurrences and evidence go along, and versions tell it."""

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from typing import Any
from uuid import UUID, uuid5

from django.contrib.auth import get_user_model
from django.db import transaction
from django.utils.translation import gettext as _

from notebook_app.changing import change, lock_notebook, lock_rows, locked
from notebook_app.curation import other_columns
from notebook_app.kinds import ALLOWED, OF_THE_DESK, By, Change, ChangedMeanwhile, EntryState, NoSuchEntry, Refused
from notebook_app.models import Entry, EntryVersion, Evidence, Exposure
from notebook_app.proposing import MOST_MERGES_FOLLOWED, Proposal, agents_of, keep
from notebook_app.reading import differing_columns
from notebook_app.versions import KEPT, kept_of


@transaction.atomic
def merge(
    project_id: UUID,
    *,
    gone_id: UUID,
    into_id: UUID,
    by: By,
    reason: str = "",
    expected_versions: dict[UUID, int | None] | None = None,
    **columns: Any,
) -> Entry:
    """The entry that both are now, with the occurrences and the evidence of both, in the words of `columns` if given.

    What is proposed again in the words of the one that is gone is counted on the other; the one that is gone keeps what
    it had, for whoever takes it out again. Raises Refused, NotPossibleNow or ChangedMeanwhile.
    """
    if gone_id == into_id:
        raise Refused(_("an entry cannot be merged into itself"), field="into")
    expected = expected_versions or {}
    gone = _gives_way(project_id, gone_id, Change.MERGED, to=into_id, by=by, reason=reason, expected=expected)
    into = locked(project_id, into_id)
    changed = other_columns(into, columns) if columns else {}
    lent = Evidence.objects.filter(entry=gone)
    # Both have evidence of these already: they are not counted twice.
    shared = lent.filter(refs_key__in=Evidence.objects.filter(entry=into).values("refs_key")).count()
    _copy(lent, to=into, said=differing_columns(kept_of(gone), into))
    return change(
        project_id,
        into_id,
        Change.ABSORBED,
        by=by,
        reason=reason,
        expected_version=expected.get(into_id),
        evidence={"entry": str(gone_id)},
        occurrences=into.occurrences + max(gone.occurrences - shared, 0),
        last_seen_at=max(into.last_seen_at, gone.last_seen_at),
        agents=agents_of(into),
        **changed,
    )


@transaction.atomic
def supersede(
    project_id: UUID,
    *,
    gone_id: UUID,
    by_id: UUID,
    by: By,
    reason: str = "",
    expected_versions: dict[UUID, int | None] | None = None,
) -> Entry:
    """The entry that stands; the other is retired, and what is found again in its words is not counted here."""
    if gone_id == by_id:
        raise Refused(_("an entry cannot supersede itself"), field="by")
    expected = expected_versions or {}
    _gives_way(project_id, gone_id, Change.SUPERSEDED, to=by_id, by=by, reason=reason, expected=expected)
    evidence, seen = {"entry": str(gone_id)}, expected.get(by_id)
    return change(project_id, by_id, Change.ABSORBED, by=by, reason=reason, expected_version=seen, evidence=evidence)


def _gives_way(
    project_id: UUID, gone_id: UUID, made: Change, *, to: UUID, by: By, reason: str, expected: dict[UUID, int | None]
) -> Entry:
    """The entry that holds no more, changed; both of them are locked from here on."""
    lock_notebook(project_id)
    lock_rows(project_id, (gone_id, to))
    seen, evidence = expected.get(gone_id), {"entry": str(to)}
    return change(
        project_id, gone_id, made, by=by, reason=reason, expected_version=seen, evidence=evidence, merged_into_id=to
    )


@transaction.atomic
def reopen(project_id: UUID, entry_id: UUID, *, by: By, reason: str = "", expected_version: int | None = None) -> Entry:
    """The entry as a proposal once more, after it had been rejected, retired or merged.

    What it lent to the one that it was merged into is taken from there again.
    """
    lock_notebook(project_id)
    other = lent_to(project_id, entry_id)
    rows = lock_rows(project_id, [entry_id, *other])
    before = rows[entry_id].state if entry_id in rows else ""
    entry = change(
        project_id,
        entry_id,
        Change.REOPENED,
        by=by,
        reason=reason,
        expected_version=expected_version,
        merged_into_id=None,
    )
    if before == EntryState.MERGED:
        release(entry, other, by=by, reason=reason)
    return entry


@transaction.atomic
def split(
    project_id: UUID,
    entry_id: UUID,
    *,
    into: Proposal,
    by: By,
    reason: str = "",
    expected_version: int | None = None,
    evidence_ids: Sequence[UUID] | None = None,
) -> Entry:
    """The new entry that a part of this one became; this one stays, to be edited. Raises Refused where it is known.

    Those of its evidence that `evidence_ids` names, all of it by default, speak for both, and are counted for both.
    """
    lock_notebook(project_id)
    entry = change(project_id, entry_id, Change.SPLIT, by=by, reason=reason, expected_version=expected_version)
    made = keep(project_id, into, by=by, made=Change.SPLIT)
    if not made.is_new:
        raise Refused(_("an entry with this text already exists"), field="name")
    rows = Evidence.objects.filter(entry=entry)
    if evidence_ids is not None:
        rows = rows.filter(pk__in=evidence_ids)
        if rows.count() != len(set(evidence_ids)):
            raise Refused(_("this evidence does not belong to the entry"), field="evidence_ids")
    _copy(rows, to=made.entry)
    made.entry.occurrences = max(made.entry.evidence.count(), 1)
    made.entry.save(update_fields=["occurrences", "updated_at"])
    return made.entry


def lent_to(project_id: UUID, entry_id: UUID) -> list[UUID]:
    """The entry that this one is merged into, and the one that that one is merged into in turn, and so on."""
    found: list[UUID] = []
    at: UUID | None = entry_id
    while at is not None and len(found) < MOST_MERGES_FOLLOWED:
        rows = Entry.objects.filter(project_id=project_id, pk=at, state=EntryState.MERGED)
        at = rows.values_list("merged_into", flat=True).first()
        if at is not None:
            found.append(at)
    return found


def release(entry: Entry, others: Sequence[UUID], *, by: By, reason: str, words: dict[str, Any] | None = None) -> None:
    """Takes from each of the others, locked, nearest first, what the entry had lent it when it was merged.

    The nearest gets other `words` besides, if there are any.
    """
    lent = list(entry.evidence.values_list("pk", flat=True))
    bare = max(entry.occurrences - len(lent), 0)
    for other_id in others:
        lent = [_id_of_copy(pk, of=other_id) for pk in lent]
        gone, _by_model = Evidence.objects.filter(entry=other_id, pk__in=lent).delete()
        other = locked(entry.project_id, other_id)
        change(
            entry.project_id,
            other_id,
            Change.RELEASED,
            by=by,
            reason=reason,
            evidence={"entry": str(entry.pk)},
            occurrences=max(other.occurrences - gone - bare, 1),
            agents=agents_of(other, without=entry.pk),
            **(words or {}),
        )
        words = None


def _copy(rows: Any, *, to: Entry, said: dict[str, Any] | None = None) -> None:
    """Give the entry the same evidence, without what it has already; each row with what was `said` there, if anything.

    Evidence that both have is one row, and the entry that was merged has the words that it had.
    """
    copies = [
        Evidence(
            pk=_id_of_copy(row.pk, of=to.pk),
            entry=to,
            project_id=to.project_id,
            refs=row.refs,
            refs_key=row.refs_key,
            wordings=[*row.wordings, *([said] if said else [])],
            created_at=row.created_at,
        )
        for row in rows
    ]
    Evidence.objects.bulk_create(copies, ignore_conflicts=True, batch_size=1_000)


def _id_of_copy(evidence_id: UUID, *, of: UUID) -> UUID:
    """By its id a copy is told from what was found there itself, and taken back when the two are parted."""
    return uuid5(of, str(evidence_id))


# Taking the last change of an entry back: words, labels and state as they were before it.

UNDOABLE = frozenset(
    {
        Change.EDITED,
        Change.APPROVED,
        Change.REJECTED,
        Change.RETIRED,
        Change.MERGED,
        Change.SUPERSEDED,
        Change.RESTORED,
        Change.REOPENED,
        Change.TAGGED,
        Change.OWNED,
        Change.CLEARED,
    }
)


@dataclass(frozen=True)
class Undone:
    """The entry as it was before the change, and how many times it was told somebody while the change stood."""

    entry: Entry
    change: Change
    recalled: int


@transaction.atomic
def undo(project_id: UUID, entry_id: UUID, *, number: int, by: By, reason: str = "") -> Undone:
    """The entry without its version `number`, which must be the last that anybody made.

    Raises NoSuchEntry; ChangedMeanwhile where it is not the last; Refused where it cannot be taken back.
    """
    lock_notebook(project_id)
    others = lent_to(project_id, entry_id)
    rows = lock_rows(project_id, [entry_id, *others])
    if entry_id not in rows:
        raise NoSuchEntry(entry_id)
    entry = rows[entry_id]
    # What the desk screened meanwhile keeps nobody from taking back the last change that somebody made.
    last = entry.versions.exclude(change__in=OF_THE_DESK).order_by("-number").first()
    if last is None or last.number != number:
        raise ChangedMeanwhile(version=entry.version, by=last.by_label if last else "")
    was = entry.versions.filter(number__lt=number).order_by("-number").first()
    made = Change(last.change)
    if was is None or made not in UNDOABLE or (made is Change.REOPENED and was.state == EntryState.MERGED):
        raise Refused(_why_not(made))
    if made is Change.MERGED:
        _part(entry, others, rows, by=by, reason=reason)
    exposures = Exposure.objects.filter(entry=entry, is_withheld=False, created_at__gte=last.created_at)
    recalled = exposures.count() if made is Change.APPROVED else 0
    kept: dict[str, Any] = was.kept
    columns = {
        name: kept[name] for name in (*KEPT, "is_cleared") if name in kept and kept[name] != getattr(entry, name)
    }
    if "owner_id" in kept and kept["owner_id"] != entry.owner_id:
        # Who looked after it may be gone by now.
        columns["owner_id"] = get_user_model().objects.filter(pk=kept["owner_id"]).values_list("pk", flat=True).first()
    decided: dict[str, Any] = {}
    if ALLOWED[made][1] is not None:
        # The change led to another state: back comes the one before, with who decided it and why.
        decided_at, merged_into = kept.get("decided_at"), kept.get("merged_into_id")
        if merged_into is not None:
            # The other may be gone by now.
            others_there = Entry.objects.filter(project_id=project_id, pk=merged_into)
            merged_into = others_there.values_list("pk", flat=True).first()
        decided = {
            "state": was.state,
            "reason": kept.get("reason", ""),
            "decided_by_label": kept.get("decided_by_label", ""),
            "decided_at": datetime.fromisoformat(decided_at) if decided_at else None,
            "merged_into_id": merged_into,
        }
    undone = change(project_id, entry_id, Change.UNDONE, by=by, reason=reason, put_back=decided, **columns)
    return Undone(undone, made, recalled)


def _why_not(made: Change) -> str:
    why = {
        Change.UNDONE: _("Already undone."),
        Change.REOPENED: _("The merge was already undone. Merge the entry again."),
        Change.ABSORBED: _("Undo this on the entry that was merged."),
        Change.RELEASED: _("Undo this on the entry that was merged."),
        Change.SPLIT: _("A split cannot be undone. Reject or merge the new entry instead."),
    }
    return why.get(made, _("Nothing to undo."))


MOST_VERSIONS_READ = 100


def _last_that_stands(into: Entry) -> tuple[EntryVersion, EntryVersion]:
    """The entry's last version and the one before it, without merges that were taken back again word for word."""
    rows = list(into.versions.order_by("-number")[:MOST_VERSIONS_READ])
    released: list[dict[str, Any]] = []
    for at, row in enumerate(rows[:-1]):
        if row.change == Change.RELEASED:
            released.append(row.evidence)
        elif released and row.change == Change.ABSORBED and row.evidence == released[-1]:
            released.pop()
        elif not released and all(row.kept.get(name) == rows[0].kept.get(name) for name in KEPT):
            return row, rows[at + 1]
        else:
            break
    return rows[0], rows[1]


def _part(entry: Entry, others: list[UUID], rows: dict[UUID, Entry], *, by: By, reason: str) -> None:
    """Takes what was lent from the entry that it was merged into, with the words that both got then."""
    into = rows[others[0]]
    last, was = _last_that_stands(into)
    if last.change != Change.ABSORBED or last.evidence.get("entry") != str(entry.pk):
        # Reopening it takes it out all the same, and leaves the other's words as they are.
        raise ChangedMeanwhile(version=into.version, by=last.by_label)
    words = {name: was.kept[name] for name in KEPT if name in was.kept and was.kept[name] != getattr(into, name)}
    release(entry, others, by=by, reason=reason, words=words)
