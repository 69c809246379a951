"""What a curator does with one entry. Each is one guarded change with a version of its own (see changing.py)."""

from functools import partial
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils.translation import gettext as _

from notebook_app.changing import change, guard, lock_notebook, locked
from notebook_app.identity import nfc
from notebook_app.kinds import By, Change, Contradicted, EntryKind, Refused, UnusableDetails, read_details
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry
from notebook_app.proposing import LONGEST_LABEL, LONGEST_NAME, LONGEST_TAG, LONGEST_TEXT, MOST_TAGS
from notebook_app.versions import KEPT


@transaction.atomic
def approve(
    project_id: UUID,
    entry_id: UUID,
    *,
    by: By,
    reason: str = "",
    expected_version: int | None = None,
    evidence: dict[str, Any] | None = None,
) -> Entry:
    """Return the approved entry.

    Raises Refused if it has flags that no curator has cleared, Contradicted if an open conflict says that another entry
    says the opposite: a curator has to settle that first.
    """
    # Conflicts are written under this lock: none is found between the check and the change.
    lock_notebook(project_id)
    entry = change(
        project_id,
        entry_id,
        Change.APPROVED,
        by=by,
        reason=reason,
        expected_version=expected_version,
        evidence=evidence,
    )
    if entry.flags and not entry.is_cleared:
        raise Refused(_("Flagged by the safety check. Clear the flag or edit the entry first."), field="flags")
    if opposed := open_contradictions(project_id, entry_id):
        raise Contradicted([*opposed], names=[*opposed.values()])
    return entry


def open_contradictions(project_id: UUID, entry_id: UUID) -> dict[UUID, str]:
    """Map the ids of the entry's open contradictions to the names of the other entries, oldest first."""
    rows = Conflict.objects.filter(
        Q(first=entry_id) | Q(second=entry_id),
        project_id=project_id,
        kind=ConflictKind.CONTRADICTION,
        state=ConflictState.OPEN,
    ).select_related("first", "second")
    sides = {row.pk: row.second if row.first_id == entry_id else row.first for row in rows.order_by("created_at", "pk")}
    return {conflict_id: other.name for conflict_id, other in sides.items()}


# Proposed again, a rejected entry is counted and stays rejected.
reject = partial(change, made=Change.REJECTED)
# What screening found was looked at; the words may stay as they are.
clear = partial(change, made=Change.CLEARED, is_cleared=True)


def retire(project_id: UUID, entry_id: UUID, *, by: By, reason: str, expected_version: int | None = None) -> Entry:
    """The retired entry, which is told nobody any more. Raises Refused without a reason."""
    if not reason.strip():
        raise Refused(_("Enter a reason for retiring the entry."), field="reason")
    return change(project_id, entry_id, Change.RETIRED, by=by, reason=reason.strip(), expected_version=expected_version)


def edit(
    project_id: UUID,
    entry_id: UUID,
    *,
    by: By,
    reason: str = "",
    expected_version: int | None = None,
    made: Change = Change.EDITED,
    evidence: dict[str, Any] | None = None,
    **columns: Any,
) -> Entry:
    """The entry in other words; of `columns` only what a version keeps. Raises Refused, which names the field.

    What is the same already is no change: without any other there is no new version.
    """
    unknown = columns.keys() - set(KEPT)
    if unknown:
        raise Refused(_("cannot be edited: %(fields)s") % {"fields": ", ".join(sorted(unknown))}, field=min(unknown))
    with transaction.atomic():
        entry = locked(project_id, entry_id)
        guard(entry, made, expected_version=expected_version)
        changed = other_columns(entry, columns)
        if not changed:
            return entry
        return change(project_id, entry_id, made, by=by, reason=reason, evidence=evidence, **changed)


def other_columns(entry: Entry, columns: dict[str, Any]) -> dict[str, Any]:
    """Those of `columns`, as they are kept, that the entry has otherwise. Raises Refused."""
    now = {name: getattr(entry, name) for name in KEPT}
    wanted = now | columns
    name = " ".join(nfc(str(wanted["name"])).split())
    if not name or len(name) > LONGEST_NAME:
        raise Refused(_("must have 1 to %(most)s characters") % {"most": LONGEST_NAME}, field="name")
    for field in ("description", "content"):
        if len(wanted[field]) > LONGEST_TEXT:
            raise Refused(_("at most %(most)s characters") % {"most": f"{LONGEST_TEXT:,}"}, field=field)
    for field in ("agent", "category"):
        if len(wanted[field]) > LONGEST_LABEL:
            raise Refused(_("at most %(most)s characters") % {"most": LONGEST_LABEL}, field=field)
    try:
        kind = EntryKind(wanted["kind"])
        details = read_details(kind, wanted["details"])
    except UnusableDetails as error:
        raise Refused(str(error), field=f"details.{error.errors[0]['field']}") from None
    except ValueError:
        raise Refused(_("must be one of: %(kinds)s") % {"kinds": ", ".join(EntryKind)}, field="kind") from None
    tags = checked_tags(list(wanted["tags"]))
    labels = {field: nfc(wanted[field]) for field in ("agent", "category")}
    wanted |= {"name": name, "kind": kind.value, "details": details, "tags": tags, **labels}
    return {name: value for name, value in wanted.items() if value != now[name]}


def restore(
    project_id: UUID, entry_id: UUID, *, number: int, by: By, reason: str = "", expected_version: int | None = None
) -> Entry:
    """The entry in the words of its version `number`; its state stays. Raises Refused where there is no such one."""
    with transaction.atomic():
        entry = locked(project_id, entry_id)
        version = entry.versions.filter(number=number).first()
        if version is None:
            raise Refused(_("version %(number)s does not exist") % {"number": number}, field="version")
        return edit(
            project_id,
            entry_id,
            by=by,
            reason=reason or _("restored from version %(number)s") % {"number": number},
            expected_version=expected_version,
            made=Change.RESTORED,
            **{name: version.kept[name] for name in KEPT if name in version.kept},
        )


def tag(project_id: UUID, entry_id: UUID, *, tags: list[str], by: By, expected_version: int | None = None) -> Entry:
    """The entry with exactly these tags."""
    return change(
        project_id, entry_id, Change.TAGGED, by=by, expected_version=expected_version, tags=checked_tags(tags)
    )


def own(project_id: UUID, entry_id: UUID, *, owner: User | None, by: By, expected_version: int | None = None) -> Entry:
    """The entry with its owner, or without one. Whether the owner may be one is for the caller to know."""
    reason = owner.get_username() if owner else ""
    return change(
        project_id, entry_id, Change.OWNED, by=by, reason=reason, expected_version=expected_version, owner=owner
    )


def checked_tags(tags: list[str]) -> list[str]:
    """The tags without doubles. Raises Refused."""
    found = list(dict.fromkeys(" ".join(nfc(one).split()) for one in tags if one.strip()))
    if len(found) > MOST_TAGS:
        raise Refused(_("at most %(most)s tags") % {"most": MOST_TAGS}, field="tags")
    if any(len(one) > LONGEST_TAG for one in found):
        raise Refused(_("a tag has at most %(most)s characters") % {"most": LONGEST_TAG}, field="tags")
    return found
