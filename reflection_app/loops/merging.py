"""Two entries that are to be made one, and what a model suggests for it."""

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
    """One entry in the words of a model, for a person to take or leave; the note says what it did with the two."""

    name: Text = Field(min_length=1, max_length=LONGEST_NAME)
    description: Text = ""
    content: Text = ""
    note: Text = ""


class RecordMergeSuggestion(Effect[MergeSuggestion]):
    """Keep what was suggested beside the conflict that it was asked for."""

    kind = "record_merge_suggestion"

    suggestion: MergeSuggestion
