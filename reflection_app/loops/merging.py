"""Entries that are to be made one, and what a model suggests for it."""

from typing import Any

from pydantic import Field

from reflection_app.loops.effect import Effect
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

LONGEST_NAME = 200
LONGEST_TEXT = 8_000


class EntryToMerge(Value):
    """An entry as the model is shown it."""

    kind: str
    name: Text
    description: Text = ""
    content: Text = ""
    details: dict[str, Any] = Field(default_factory=dict)


class MergeSuggestion(Value):
    """One entry in the words of a model, for a person to take or leave; the note says what it did with the others."""

    name: Text = Field(min_length=1, max_length=LONGEST_NAME)
    description: Text = ""
    content: Text = ""
    note: Text = ""


class KeptSuggestion(MergeSuggestion):
    """What became of it: not `is_kept` where nobody asks for it any more."""

    is_kept: bool = True


class RecordMergeSuggestion(Effect[KeptSuggestion]):
    """Keep what was suggested beside the conflict that it was asked for."""

    kind = "record_merge_suggestion"

    suggestion: MergeSuggestion
