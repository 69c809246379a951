"""Entries of the notebook as REST tells them."""

from collections.abc import Sequence
from typing import Any, Literal
from uuid import UUID

from django.contrib.auth.models import User
from pydantic import AwareDatetime, Field

from notebook_app.public import KEPT, Change, EntryKind, EntryState, FieldDiff, KeptEntry
from reflection_app.api.answer import Answer, PageAnswer
from reflection_app.notebook.notebook_bulk import BulkResult


class EntryAnswer(Answer):
    """Something learned. `version` changes with every change of its words, labels or state."""

    id: UUID
    kind: EntryKind
    state: EntryState
    version: int
    name: str
    description: str
    content: str
    details: dict[str, Any] = Field(description="the fields of its kind")
    agent: str
    category: str
    tags: list[str]
    owner: str | None
    source: str = Field(description="what the proposer calls it")
    occurrences: int = Field(description="how often it was found")
    last_seen_at: AwareDatetime
    flags: list[dict[str, Any]] = Field(
        description="what screening found in it: `rule` and `quote`; where the classifier did (`steers the reader`) "
        "also how sure it is (`sureness`, 0 to 1) and by which `signs`"
    )
    is_flagged: bool = Field(description="nobody is told it before a curator has looked at what screening found")
    merged_into: UUID | None = Field(description="where merged or superseded, the entry that holds instead")
    reason: str
    decided_by: str | None
    decided_at: AwareDatetime | None
    recalled: int = Field(description="how often it was given to somebody at work")
    last_recalled_at: AwareDatetime | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class EntryListPage(PageAnswer):
    results: list[EntryAnswer]


class ProposalAnswer(Answer):
    entry: EntryAnswer
    is_new: bool = Field(description="false where the notebook had it already: then it was counted on that entry")
    is_counted: bool = Field(description="false where the same evidence was counted before")


class VersionAnswer(Answer):
    """An entry as one change left it."""

    number: int
    change: Change
    state: EntryState
    words: dict[str, Any] = Field(description="what it said then, and its labels")
    reason: str
    by: str
    evidence: dict[str, Any] = Field(description="ids by kind of thing that the change rests on")
    created_at: AwareDatetime


class VersionPage(PageAnswer):
    results: list[VersionAnswer]


class PieceAnswer(Answer):
    kind: Literal["same", "removed", "added"]
    text: str


class FieldDiffAnswer(Answer):
    field: str = Field(examples=["content", "details.cause"])
    before: str
    after: str
    pieces: list[PieceAnswer] = Field(description="both texts in order: without what was added it is `before`")


class VersionDiffAnswer(Answer):
    before: int
    after: int
    fields: list[FieldDiffAnswer]


class EvidenceAnswer(Answer):
    """One occurrence: where it was found."""

    id: UUID
    refs: dict[str, Any] = Field(description="ids by kind of thing, such as `run`")
    created_at: AwareDatetime


class EvidencePage(PageAnswer):
    results: list[EvidenceAnswer]


class UndoneAnswer(Answer):
    entry: EntryAnswer
    undone: Change
    recalled: int = Field(description="how often it was told somebody while it was approved; they stay told")


class BulkCurationItem(Answer):
    entry_id: UUID
    is_done: bool
    version: int | None = Field(description="the version after the change; null where nothing had to be changed")
    why: str | None = Field(description="why it was refused")


class BulkCurationAnswer(Answer):
    id: UUID = Field(description="by this it is taken back")
    done: int
    refused: int
    items: list[BulkCurationItem]


def entry_answer(entry: KeptEntry) -> EntryAnswer:
    return entry_answers([entry])[0]


def entry_answers(entries: Sequence[KeptEntry]) -> list[EntryAnswer]:
    """The entries in their order, with the names of their owners; one query for all."""
    owners = {entry.owner_id for entry in entries if entry.owner_id is not None}
    names = dict(User.objects.filter(pk__in=owners).values_list("pk", "username")) if owners else {}
    return [_answer(entry, names) for entry in entries]


def _answer(entry: KeptEntry, names: dict[int, str]) -> EntryAnswer:
    return EntryAnswer(
        id=entry.id,
        kind=entry.kind,
        state=entry.state,
        version=entry.version,
        name=entry.name,
        description=entry.description,
        content=entry.content,
        details=entry.details,
        agent=entry.agent,
        category=entry.category,
        tags=list(entry.tags),
        owner=names.get(entry.owner_id) if entry.owner_id is not None else None,
        source=entry.source,
        occurrences=entry.occurrences,
        last_seen_at=entry.last_seen_at,
        flags=list(entry.flags),
        is_flagged=entry.is_flagged,
        merged_into=entry.merged_into_id,
        reason=entry.reason,
        decided_by=entry.decided_by or None,
        decided_at=entry.decided_at,
        recalled=entry.recalled,
        last_recalled_at=entry.last_recalled_at,
        created_at=entry.created_at,
        updated_at=entry.updated_at,
    )


def version_answer(row: Any) -> VersionAnswer:
    return VersionAnswer(
        number=row.number,
        change=Change(row.change),
        state=EntryState(row.state),
        words={name: row.kept[name] for name in KEPT if name in row.kept},
        reason=row.reason,
        by=row.by_label,
        evidence=row.evidence,
        created_at=row.created_at,
    )


def diff_answer(before: int, after: int, fields: Sequence[FieldDiff]) -> VersionDiffAnswer:
    return VersionDiffAnswer(
        before=before,
        after=after,
        fields=[
            FieldDiffAnswer(
                field=one.field,
                before=one.before,
                after=one.after,
                pieces=[PieceAnswer.model_validate({"kind": piece.kind, "text": piece.text}) for piece in one.pieces],
            )
            for one in fields
        ],
    )


def bulk_answer(result: BulkResult) -> BulkCurationAnswer:
    return BulkCurationAnswer(
        id=result.id,
        done=result.done,
        refused=len(result.items) - result.done,
        items=[
            BulkCurationItem(entry_id=item.entry_id, is_done=item.is_done, version=item.version, why=item.why or None)
            for item in result.items
        ],
    )
