"""Entries of the notebook as REST tells them."""

from collections.abc import Collection, Sequence
from datetime import datetime
from typing import Annotated, Any, Literal
from uuid import UUID

from django.db.models import prefetch_related_objects
from pydantic import AwareDatetime, BeforeValidator, Field

from notebook_app.kinds import Change, EntryKind, EntryState
from notebook_app.lift import level_of
from notebook_app.lift_list import Claim, LessonLift
from notebook_app.public import Entry, Exposure
from notebook_app.versions import KEPT
from reflection_app.api.reading import Answer, OrNull, PageAnswer, Username
from reflection_app.core.ids import id_from
from reflection_app.notebook.bulk import BulkResult


class EntryAnswer(Answer):
    """A notebook entry. `version` changes with every change of its text, labels or state."""

    id: UUID
    kind: EntryKind
    state: EntryState
    version: int
    name: str
    description: str
    content: str
    details: dict[str, Any] = Field(description="fields specific to its kind")
    agent: str
    agents: list[str] = Field(description="agents that it was seen with, the first one first")
    category: str
    tags: list[str]
    owner: Username
    source: str = Field(description="identifier assigned by the proposer")
    occurrences: int = Field(description="number of occurrences")
    last_seen_at: AwareDatetime
    flags: list[dict[str, Any]] = Field(
        description="findings of the safety check: `rule` and `quote`; from the classifier (`steers the reader`) "
        "also its confidence (`sureness`, 0 to 1) and, if a model was asked, its `opinion` (`steers`, "
        "`why`, `model`)"
    )
    is_flagged: bool = Field(description="true if the safety check found something that no curator has cleared")
    is_excluded: bool = Field(
        description="true if excluded from prompts until a curator decides on its flags; false if only the "
        "classifier flagged it after a person had approved it"
    )
    merged_into: UUID | None = Field(
        validation_alias="merged_into_id", description="entry that replaces it, if it was merged or superseded"
    )
    reason: str
    decided_by: Annotated[str | None, OrNull] = Field(validation_alias="decided_by_label")
    decided_at: AwareDatetime | None
    recalled: int = Field(description="number of times that it was given to a run or an agent")
    last_recalled_at: AwareDatetime | None
    created_at: AwareDatetime
    updated_at: AwareDatetime


class EntryListPage(PageAnswer):
    results: list[EntryAnswer]


class ProposalAnswer(Answer):
    entry: EntryAnswer
    is_new: bool = Field(description="false if the notebook already had the entry; the proposal is then counted there")
    is_counted: bool = Field(description="false if the same evidence was already counted")


class VersionAnswer(Answer):
    """A version of an entry, as one change saved it."""

    number: int
    change: Change
    state: EntryState
    words: dict[str, Any] = Field(description="its text and labels in that version")
    reason: str
    by: str = Field(validation_alias="by_label")
    evidence: dict[str, Any] = Field(description="IDs that the change is based on, by type")
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
    pieces: list[PieceAnswer] = Field(
        description="parts of both texts in order; without the added parts it is `before`"
    )


class VersionDiffAnswer(Answer):
    before: int
    after: int
    fields: list[FieldDiffAnswer]


class EvidenceAnswer(Answer):
    """Evidence of one occurrence of the entry."""

    id: UUID
    refs: dict[str, Any] = Field(description="IDs by type, such as `run`")
    wordings: list[dict[str, Any]] = Field(description="texts found there that differ from the entry, by field name")
    created_at: AwareDatetime


class EvidencePage(PageAnswer):
    results: list[EvidenceAnswer]


class UndoneAnswer(Answer):
    entry: EntryAnswer
    undone: Change
    recalled: int = Field(description="number of times that it was injected while approved; this cannot be undone")


class BulkCurationItem(Answer):
    entry_id: UUID
    is_done: bool
    version: int | None = Field(description="version after the change; null if no change was needed")
    why: Annotated[str | None, OrNull] = Field(description="reason for the refusal, or null")


class BulkCurationAnswer(Answer):
    id: UUID = Field(description="ID for undoing the bulk change")
    done: int
    refused: int
    items: list[BulkCurationItem]


def entry_answer(entry: Entry) -> EntryAnswer:
    return EntryAnswer.from_row(entry)


def entry_answers(entries: Sequence[Entry]) -> list[EntryAnswer]:
    """The entries in their order; the names of their owners by one query."""
    prefetch_related_objects(entries, "owner")
    return [entry_answer(entry) for entry in entries]


def version_answer(row: Any) -> VersionAnswer:
    return VersionAnswer.from_row(row, words={name: row.kept[name] for name in KEPT if name in row.kept})


def bulk_answer(result: BulkResult) -> BulkCurationAnswer:
    return BulkCurationAnswer.from_row(result, refused=len(result.items) - result.done)


# Lessons' lift and draws as REST tells them.


class IntervalAnswer(Answer):
    """An estimate with its 95 % interval."""

    estimate: float
    low: float
    high: float


class ArmAnswer(Answer):
    """Runs that received the lesson, or runs from which it was held out."""

    outcomes: int
    successes: int = Field(description="number of successful first attempts")
    rate: IntervalAnswer | None = Field(description="success rate with Wilson's interval; null without outcomes")


class LookAnswer(Answer):
    """Result at one of the looks, which are scheduled in advance; nothing is claimed between them."""

    number: int
    size: int = Field(description="number of outcomes in the smaller arm")
    level: Annotated[float, BeforeValidator(level_of)] = Field(
        validation_alias="number", description="error probability of this look; all looks together: 5 %"
    )
    p_value: float = Field(description="p-value of Fisher's exact test, two-sided")
    says: str = Field(description="helps, harms or open")


class LiftAnswer(Answer):
    """One lesson. `claim` follows from the looks and the number of lessons compared; intervals only describe."""

    entry_id: UUID
    name: str
    kind: EntryKind
    state: EntryState
    recalled: int = Field(description="number of times that it was given to a run or an agent")
    given: ArmAnswer
    withheld: ArmAnswer
    difference: IntervalAnswer | None = Field(description="success rate given minus withheld, with Newcombe's interval")
    claim: Claim
    looks: list[LookAnswer]
    next_look_at: int = Field(description="number of outcomes in the smaller arm at the next look")
    needs_runs: int | None = Field(
        description="approximate number of further runs for a power of 80 %; null if out of reach"
    )
    needs_runs_for_difference: float
    mixed_shares: bool = Field(description="true if the hold-out share changed during the measurement")


class LiftPageAnswer(Answer):
    holdout_share: float = Field(description="share of runs from which each lesson is held out from now on")
    results: list[LiftAnswer]
    next: str | None = Field(description="URL of the next page, or null")


class ExposureAnswer(Answer):
    """One random draw: the entry is held out if `draw` is below `share`."""

    id: UUID
    subject: str
    run_id: UUID | None = Field(description="ID of the run, if the subject is a run of this project")
    entry_version: int
    rank: int
    score: float
    share: float
    draw: float
    withheld: bool = Field(validation_alias="is_withheld")
    counted: bool = Field(validation_alias="is_counted")
    succeeded: bool | None = Field(description="true if the first attempt succeeded; null if not known yet")
    settled_at: datetime | None
    created_at: datetime


class ExposurePageAnswer(Answer):
    results: list[ExposureAnswer]
    next: str | None = Field(description="URL of the next page, or null")


def lift_answer(lesson: LessonLift) -> LiftAnswer:
    measured = lesson.measured
    return LiftAnswer.from_row(
        lesson,
        given=ArmAnswer.from_row(measured.given, rate=measured.given_rate),
        withheld=ArmAnswer.from_row(measured.withheld, rate=measured.withheld_rate),
        difference=measured.difference,
        looks=measured.judged.looks,
        next_look_at=measured.judged.next_size,
        needs_runs=measured.needed.more_runs,
        needs_runs_for_difference=measured.needed.difference,
        mixed_shares=measured.has_mixed_shares,
    )


def exposure_answer(one: Exposure, *, runs: Collection[UUID]) -> ExposureAnswer:
    run_id = id_from(one.subject)
    return ExposureAnswer.from_row(one, run_id=run_id if run_id in runs else None)
