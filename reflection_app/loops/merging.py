"""Notebook entries to merge, and a model's suggestion for the merged entry."""

from typing import Any

from pydantic import Field

from reflection_app.loops.effect import Effect
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_NAME = 200
LONGEST_TEXT = 8_000


class EntryToMerge(Value):
    """An entry as shown to the model."""

    kind: str
    name: Text
    description: Text = ""
    content: Text = ""
    details: dict[str, Any] = Field(default_factory=dict)


class MergeSuggestion(Value):
    """A merged entry suggested by a model, for a member to accept or reject.

    `note` says how the model combined the entries.
    """

    name: Text = Field(min_length=1, max_length=LONGEST_NAME)
    description: Text = ""
    content: Text = ""
    note: Text = ""


class KeptSuggestion(MergeSuggestion):
    """The suggestion and its result. `is_kept` is False if the conflict no longer needs it."""

    is_kept: bool = True


class RecordMergeSuggestion(Effect[KeptSuggestion]):
    """Store the suggestion with the conflict it was requested for."""

    kind = "record_merge_suggestion"

    suggestion: MergeSuggestion
