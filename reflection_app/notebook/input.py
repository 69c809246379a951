"""What is asked of the notebook, by REST or by a page, checked field by field."""

from enum import StrEnum
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from pydantic import AfterValidator, Field

from notebook_app.kinds import EntryKind
from notebook_app.proposing import LONGEST_LABEL, LONGEST_NAME, LONGEST_TAG, LONGEST_TEXT, MOST_TAGS
from reflection_app.core.audit import Actor, audit
from reflection_app.core.json_sizes import at_most
from reflection_app.core.models import Project
from reflection_app.loops.project_settings import NotebookSettings
from reflection_app.loops.storable import Text, storable, storable_value
from reflection_app.loops.values import Value

LONGEST_REASON = 10_000
MOST_EVIDENCE = 500
LARGEST_DETAILS = 200_000
LARGEST_EVIDENCE = 4_000


def not_blank(value: str) -> str:
    """The text, storable. Raises ValueError where it says nothing."""
    if not value.strip():
        raise ValueError("must not be blank")
    return storable(value)


Name = Annotated[str, Field(min_length=1, max_length=LONGEST_NAME), AfterValidator(not_blank)]
Words = Annotated[str, Field(max_length=LONGEST_TEXT), AfterValidator(storable)]
Label = Annotated[str, Field(max_length=LONGEST_LABEL), AfterValidator(storable)]
Tag = Annotated[str, Field(max_length=LONGEST_TAG), AfterValidator(storable)]
Tags = Annotated[tuple[Tag, ...], Field(max_length=MOST_TAGS)]
Reason = Annotated[str, Field(max_length=LONGEST_REASON), AfterValidator(storable)]
Fields = Annotated[dict[str, Any], AfterValidator(storable_value), at_most(LARGEST_DETAILS)]
# Of a column that counts up and is kept in four bytes.
Version = Annotated[int, Field(ge=1, le=2**31 - 1)]


class Guarded(Value):
    """What changes an entry may say which version of it was seen; another one is then left as it is."""

    expected_version: Version | None = Field(
        default=None, description="the version that was looked at: another one is not changed, and answered with 409"
    )


class CurationInput(Guarded):
    """Why the entry is changed so."""

    reason: Reason = Field(default="", description="needed to retire an entry")


class Contradictions(StrEnum):
    """How approving an entry settles the open contradictions that it is one side of."""

    SUPERSEDE = "supersede"
    KEEP_BOTH = "keep_both"


class ApprovalInput(CurationInput):
    """Why the entry is approved, and what becomes of entries that say the opposite."""

    reason: Reason = Field(default="", description="needed to keep both sides of a contradiction")
    contradictions: Contradictions | None = Field(
        default=None,
        description="settles the entry's open contradictions with the approval: `supersede` retires the other "
        "entries, `keep_both` leaves them as they are. Without it an entry with open contradictions is refused (409)",
    )


class EntryInput(Value):
    """Something learned, to be kept as a proposal."""

    kind: EntryKind
    name: Name
    description: Words = ""
    content: Words = ""
    details: Fields = Field(
        default_factory=dict, description="the fields of its kind, such as `cause` of an error note"
    )
    agent: Label = Field(default="", description="whose work it is about; empty is everybody's")
    category: Label = ""
    tags: Tags = ()
    source: Annotated[str, Field(max_length=200), AfterValidator(storable)] = Field(
        default="", description="what the proposer calls it: proposed again under it, it is counted whatever its words"
    )
    evidence: Annotated[dict[str, Text], Field(max_length=20), at_most(LARGEST_EVIDENCE)] = Field(
        default_factory=dict,
        description="ids by kind of thing, such as `run`: the same evidence counts once. Without any, each is counted",
    )


class EntryEdit(CurationInput):
    """Other words for an entry. What is left out stays."""

    kind: EntryKind | None = None
    name: Name | None = None
    description: Words | None = None
    content: Words | None = None
    details: Fields | None = Field(default=None, description="all of them: what is not named goes")
    agent: Label | None = None
    category: Label | None = None
    tags: Tags | None = None

    def columns(self) -> dict[str, Any]:
        """What is to be changed, by column."""
        given = self.model_dump(mode="json", exclude_none=True)
        return {name: value for name, value in given.items() if name not in {"reason", "expected_version"}}


class RestoreInput(CurationInput):
    """Which version's words the entry gets back."""

    version: Version


class TagsInput(Guarded):
    """All tags that the entry is to have."""

    tags: Tags


class OwnerInput(Guarded):
    """Who looks after the entry."""

    owner: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        description="the name of a member of the project, or null"
    )


class MergeInput(CurationInput):
    """What the entry is merged into, and the words that both have then; what is left out stays as the other says it."""

    into: UUID = Field(description="the entry that stays")
    into_expected_version: Version | None = None
    words: "MergedWords | None" = None


class MergedWords(Value):
    name: Name | None = None
    description: Words | None = None
    content: Words | None = None
    details: Fields | None = None
    category: Label | None = None
    tags: Tags | None = None


class SupersedeInput(CurationInput):
    """Which entry holds instead of this one."""

    by: UUID = Field(description="the entry that holds instead")
    by_expected_version: Version | None = None


class SplitInput(CurationInput):
    """The new entry that a part of this one becomes, and what stays."""

    into: EntryInput
    evidence_ids: Annotated[tuple[UUID, ...], Field(max_length=MOST_EVIDENCE)] | None = Field(
        default=None, description="the rows of evidence that speak for the new one; all of them where left out"
    )
    stays: EntryEdit | None = Field(default=None, description="other words for what stays")


class UndoInput(Guarded):
    """The last change of an entry is taken back; with `expected_version` only if it is that one."""


# Changing how a project learns. Runs under way keep the settings they began with.


@transaction.atomic
def change_notebook_settings(project: Project, settings: NotebookSettings, *, actor: Actor) -> Project:
    """The project with its new settings; saving what holds already changes nothing."""
    locked = Project.objects.select_for_update().get(pk=project.pk)
    if locked.get_notebook() == settings:
        return locked
    before, locked.notebook = locked.notebook, settings.model_dump(mode="json")
    locked.save(update_fields=["notebook"])
    audit(
        locked.pk,
        actor,
        "settings.changed",
        target=locked,
        before={"notebook": before},
        after={"notebook": locked.notebook},
    )
    return locked
