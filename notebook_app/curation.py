"""What a curator does with one entry. Each is one guarded change with a version of its own (see changing.py)."""

from typing import Any
from uuid import UUID

from django.db import transaction

from notebook_app.changing import change, locked
from notebook_app.errors import Refused
from notebook_app.kinds import EntryKind, UnusableDetails, read_details
from notebook_app.life import Change
from notebook_app.models import Entry
from notebook_app.people import By
from notebook_app.proposing import LONGEST_NAME, LONGEST_TEXT, MOST_TAGS
from notebook_app.versions import KEPT

LONGEST_TAG = 60


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
    """The approved entry. Raises Refused where screening found something that nobody has cleared."""
    entry = locked(project_id, entry_id)
    if entry.flags and not entry.is_cleared:
        raise Refused("Screening found something in this entry; clear it or edit it first.", field="flags")
    return change(
        project_id,
        entry_id,
        Change.APPROVED,
        by=by,
        reason=reason,
        expected_version=expected_version,
        evidence=evidence,
    )


def reject(project_id: UUID, entry_id: UUID, *, by: By, reason: str = "", expected_version: int | None = None) -> Entry:
    """The rejected entry; proposed again it is counted and stays rejected."""
    return change(project_id, entry_id, Change.REJECTED, by=by, reason=reason, expected_version=expected_version)


def retire(project_id: UUID, entry_id: UUID, *, by: By, reason: str, expected_version: int | None = None) -> Entry:
    """The retired entry, which is told nobody any more. Raises Refused without a reason."""
    if not reason.strip():
        raise Refused("Say why it is retired; whoever finds it again will want to know.", field="reason")
    return change(project_id, entry_id, Change.RETIRED, by=by, reason=reason.strip(), expected_version=expected_version)


def reopen(project_id: UUID, entry_id: UUID, *, by: By, reason: str = "", expected_version: int | None = None) -> Entry:
    """The entry as a proposal once more, after it had been rejected, retired or merged."""
    return change(
        project_id,
        entry_id,
        Change.REOPENED,
        by=by,
        reason=reason,
        expected_version=expected_version,
        merged_into_id=None,
    )


def edit(
    project_id: UUID,
    entry_id: UUID,
    *,
    by: By,
    reason: str = "",
    expected_version: int | None = None,
    made: Change = Change.EDITED,
    **columns: Any,
) -> Entry:
    """The entry in other words; of `columns` only what a version keeps. Raises Refused, which names the field."""
    unknown = columns.keys() - set(KEPT)
    if unknown:
        raise Refused(f"cannot be edited: {', '.join(sorted(unknown))}", field=min(unknown))
    with transaction.atomic():
        entry = locked(project_id, entry_id)
        wanted = _checked({name: getattr(entry, name) for name in KEPT} | columns)
        return change(project_id, entry_id, made, by=by, reason=reason, expected_version=expected_version, **wanted)


def restore(
    project_id: UUID, entry_id: UUID, *, number: int, by: By, reason: str = "", expected_version: int | None = None
) -> Entry:
    """The entry in the words of its version `number`; its state stays. Raises Refused where there is no such one."""
    with transaction.atomic():
        entry = locked(project_id, entry_id)
        version = entry.versions.filter(number=number).first()
        if version is None:
            raise Refused(f"there is no version {number}", field="version")
        return edit(
            project_id,
            entry_id,
            by=by,
            reason=reason or f"as in version {number}",
            expected_version=expected_version,
            made=Change.RESTORED,
            **{name: version.kept[name] for name in KEPT if name in version.kept},
        )


def tag(project_id: UUID, entry_id: UUID, *, tags: list[str], by: By, expected_version: int | None = None) -> Entry:
    """The entry with exactly these tags."""
    return change(
        project_id, entry_id, Change.TAGGED, by=by, expected_version=expected_version, tags=checked_tags(tags)
    )


def own(project_id: UUID, entry_id: UUID, *, owner_id: int | None, by: By, owner_label: str = "") -> Entry:
    """The entry with its owner, or without one."""
    return change(project_id, entry_id, Change.OWNED, by=by, reason=owner_label, owner_id=owner_id)


def clear(project_id: UUID, entry_id: UUID, *, by: By, reason: str = "", expected_version: int | None = None) -> Entry:
    """The entry with what screening found marked as looked at; the words may stay as they are."""
    return change(
        project_id,
        entry_id,
        Change.CLEARED,
        by=by,
        reason=reason,
        expected_version=expected_version,
        is_cleared=True,
    )


def checked_tags(tags: list[str]) -> list[str]:
    """The tags without doubles. Raises Refused."""
    found = list(dict.fromkeys(" ".join(one.split()) for one in tags if one.strip()))
    if len(found) > MOST_TAGS:
        raise Refused(f"at most {MOST_TAGS} tags", field="tags")
    if any(len(one) > LONGEST_TAG for one in found):
        raise Refused(f"a tag has at most {LONGEST_TAG} characters", field="tags")
    return found


def _checked(columns: dict[str, Any]) -> dict[str, Any]:
    """The columns as they are kept. Raises Refused."""
    name = " ".join(str(columns["name"]).split())
    if not name or len(name) > LONGEST_NAME:
        raise Refused(f"a name of 1 to {LONGEST_NAME} characters", field="name")
    for field in ("description", "content"):
        if len(columns[field]) > LONGEST_TEXT:
            raise Refused(f"at most {LONGEST_TEXT:,} characters", field=field)
    for field in ("agent", "category"):
        if len(columns[field]) > 120:
            raise Refused("at most 120 characters", field=field)
    try:
        kind = EntryKind(columns["kind"])
        details = read_details(kind, columns["details"])
    except UnusableDetails as error:
        raise Refused(str(error), field="details") from None
    except ValueError:
        raise Refused(f"one of {', '.join(EntryKind)}", field="kind") from None
    tags = checked_tags(list(columns["tags"]))
    return columns | {"name": name, "kind": kind.value, "details": details, "tags": tags}
