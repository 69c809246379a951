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
    agents: list[str] = Field(description="the agents that it was seen at, the first one first")
    category: str
    tags: list[str]
    owner: Username
    source: str = Field(description="what the proposer calls it")
    occurrences: int = Field(description="how often it was found")
    last_seen_at: AwareDatetime
    flags: list[dict[str, Any]] = Field(
        description="what screening found in it: `rule` and `quote`; where the classifier did (`steers the reader`) "
        "also how sure it is (`sureness`, 0 to 1) and, if a model was asked, its `opinion` (`steers`, `why`, `model`)"
    )
    is_flagged: bool = Field(description="screening found something that no curator has cleared")
    is_excluded: bool = Field(
        description="in no prompt until a curator has decided on its flags; false if only the classifier flagged it "
        "after a person had approved it"
    )
    merged_into: UUID | None = Field(
        validation_alias="merged_into_id", description="where merged or superseded, the entry that holds instead"
    )
    reason: str
    decided_by: Annotated[str | None, OrNull] = Field(validation_alias="decided_by_label")
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
    by: str = Field(validation_alias="by_label")
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
    wordings: list[dict[str, Any]] = Field(
        description="what was said there otherwise than the entry says it, by the names of its fields"
    )
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
    why: Annotated[str | None, OrNull] = Field(description="why it was refused")


class BulkCurationAnswer(Answer):
    id: UUID = Field(description="by this it is taken back")
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
    """Runs that were given the lesson, or from which it was withheld."""

    outcomes: int
    successes: int = Field(description="first attempts that succeeded")
    rate: IntervalAnswer | None = Field(description="with Wilson's interval; null without outcomes")


class LookAnswer(Answer):
    """What stood there at one of the looks, which were set before: nothing is claimed between them."""

    number: int
    size: int = Field(description="outcomes of the smaller arm")
    level: Annotated[float, BeforeValidator(level_of)] = Field(
        validation_alias="number", description="how likely this look may be wrong; all looks together: 5 %"
    )
    p_value: float = Field(description="Fisher's exact test, two-sided")
    says: str = Field(description="helps, harms or open")


class LiftAnswer(Answer):
    """One lesson. `claim` follows from the looks and from how many lessons are looked at; the intervals describe."""

    entry_id: UUID
    name: str
    kind: EntryKind
    state: EntryState
    recalled: int = Field(description="how often it was given to somebody at work")
    given: ArmAnswer
    withheld: ArmAnswer
    difference: IntervalAnswer | None = Field(description="given minus withheld, with Newcombe's interval")
    claim: Claim
    looks: list[LookAnswer]
    next_look_at: int = Field(description="outcomes of the smaller arm at the next look")
    needs_runs: int | None = Field(description="about how many more runs, for a power of 80 %; null: out of reach")
    needs_runs_for_difference: float
    mixed_shares: bool = Field(description="whether the share that is withheld was changed meanwhile")


class LiftPageAnswer(Answer):
    holdout_share: float = Field(description="from what share of the runs each lesson is withheld from now on")
    results: list[LiftAnswer]
    next: str | None = Field(description="the address of the next page")


class ExposureAnswer(Answer):
    """One draw: it is withheld where `draw` is below `share`."""

    id: UUID
    subject: str
    run_id: UUID | None = Field(description="where the subject is a run of this project")
    entry_version: int
    rank: int
    score: float
    share: float
    draw: float
    withheld: bool = Field(validation_alias="is_withheld")
    counted: bool = Field(validation_alias="is_counted")
    succeeded: bool | None = Field(description="how the first attempt went; null while nothing tells")
    settled_at: datetime | None
    created_at: datetime


class ExposurePageAnswer(Answer):
    results: list[ExposureAnswer]
    next: str | None = Field(description="the address of the next page")


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
