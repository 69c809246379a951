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
        default=None,
        description="version that you read; if it is not the current one, nothing is changed and 409 is returned",
    )


class CurationInput(Guarded):
    """Reason for the change."""

    reason: Reason = Field(default="", description="required to retire an entry")


class Contradictions(StrEnum):
    """Resolution, on approval, of the open contradictions of an entry."""

    SUPERSEDE = "supersede"
    KEEP_BOTH = "keep_both"


class ApprovalInput(CurationInput):
    """Reason for the approval, and the resolution of contradictions."""

    reason: Reason = Field(default="", description="required to retain both sides of a contradiction")
    contradictions: Contradictions | None = Field(
        default=None,
        description="resolves the entry's open contradictions on approval: `supersede` retires the other entries, "
        "`keep_both` leaves them unchanged. Without it, an entry with open contradictions is refused "
        "(409)",
    )


class EntryInput(Value):
    """A proposal for a notebook entry."""

    kind: EntryKind
    name: Name
    description: Words = ""
    content: Words = ""
    details: Fields = Field(
        default_factory=dict, description="fields specific to its kind, such as `cause` of an error note"
    )
    agent: Label = Field(default="", description="agent that it concerns; empty for all agents")
    category: Label = ""
    tags: Tags = ()
    source: Annotated[str, Field(max_length=200), AfterValidator(storable)] = Field(
        default="",
        description="identifier assigned by the proposer: a further proposal with it is counted, "
        "regardless of its text",
    )
    evidence: Annotated[dict[str, Text], Field(max_length=20), at_most(LARGEST_EVIDENCE)] = Field(
        default_factory=dict,
        description="IDs by type, such as `run`. The same evidence counts once; every proposal without evidence is "
        "counted",
    )


class EntryEdit(CurationInput):
    """Changes to an entry. Omitted fields are unchanged."""

    kind: EntryKind | None = None
    name: Name | None = None
    description: Words | None = None
    content: Words | None = None
    details: Fields | None = Field(default=None, description="all details; omitted ones are removed")
    agent: Label | None = None
    category: Label | None = None
    tags: Tags | None = None

    def columns(self) -> dict[str, Any]:
        """What is to be changed, by column."""
        given = self.model_dump(mode="json", exclude_none=True)
        return {name: value for name, value in given.items() if name not in {"reason", "expected_version"}}


class RestoreInput(CurationInput):
    """Version whose text and labels are restored. The state is unchanged."""

    version: Version


class TagsInput(Guarded):
    """All tags of the entry; they replace the present ones."""

    tags: Tags


class OwnerInput(Guarded):
    """Owner of the entry."""

    owner: Annotated[str, Field(min_length=1, max_length=150)] | None = Field(
        description="username of a project member, or null"
    )


class MergeInput(CurationInput):
    """Target entry, which gets the occurrences and evidence and is returned. Omitted fields keep its text."""

    into: UUID = Field(description="entry that remains")
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
    """Entry that replaces this one."""

    by: UUID = Field(description="entry that replaces it")
    by_expected_version: Version | None = None


class SplitInput(CurationInput):
    """New entry split off from this one, which is returned, and changes to the original."""

    into: EntryInput
    evidence_ids: Annotated[tuple[UUID, ...], Field(max_length=MOST_EVIDENCE)] | None = Field(
        default=None, description="IDs of the evidence to copy to the new entry; default: all of it"
    )
    stays: EntryEdit | None = Field(default=None, description="changes to the original entry")


class UndoInput(Guarded):
    """Undo of the last change of an entry; with `expected_version`, only if it is that one."""


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
