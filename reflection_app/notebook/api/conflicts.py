"""Conflicts of the notebook's entries: listed, read, settled, taken back, and a model asked for a merge."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AwareDatetime, Field

from notebook_app.conflicts import conflict_rows
from notebook_app.public import Conflict, ConflictKind, ConflictState, Settlement
from reflection_app.api.actions import change, read
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer, KnownCost, OrNull, PageAnswer
from reflection_app.api.view import DeskView
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.notebook.answers import EntryAnswer, entry_answer
from reflection_app.notebook.conflicts import (
    SettleInput,
    UnsettleInput,
    conflict_for,
    run_asked,
    settle,
    suggest_merge,
    unsettle,
)

EXAMPLES: dict[str, Any] = {
    "Replace one entry with the other": {
        "settlement": "supersede",
        "stays": "01890a5d-ac96-774b-bcce-b302099a8057",
        "first_expected_version": 2,
        "second_expected_version": 1,
    },
    "Merge with new text": {
        "settlement": "merge",
        "stays": "01890a5d-ac96-774b-bcce-b302099a8057",
        "words": {"name": "Force pushes", "content": "Force-push to your own branches only."},
    },
    "Retain both": {"settlement": "keep_both", "reason": "They are about two services."},
}


class SuggestionAnswer(Answer):
    """Merge suggestion requested from a model; `words` are null until there is one, and if the request failed."""

    run_id: UUID = Field(validation_alias="pk")
    state: str
    outcome: str | None
    error: str
    cost_usd: KnownCost = Field(description="null if the cost of any call is unknown")
    words: dict[str, Any] | None = Field(description="name, description, content, and a note for the curator")


class ConflictAnswer(Answer):
    """Two entries that are near-duplicates, contradict each other, or of which one refines the other."""

    id: UUID
    kind: ConflictKind
    state: ConflictState
    first: EntryAnswer
    second: EntryAnswer
    text_likeness: float = Field(description="share of common distinctive words, 0 to 1")
    meaning_likeness: float | None = Field(
        description="similarity of meaning; null unless both entries have embeddings"
    )
    words: list[str] = Field(description="distinctive words that both entries contain")
    settlement: Annotated[Settlement | None, OrNull]
    settled_by: Annotated[str | None, OrNull] = Field(validation_alias="settled_by_label")
    settled_at: AwareDatetime | None
    reason: str
    gone_id: UUID | None = Field(description="entry that was merged or superseded")
    suggestion: SuggestionAnswer | None
    created_at: AwareDatetime


class ConflictPage(PageAnswer):
    results: list[ConflictAnswer]


class ConflictFilters(PageQuery):
    state: ConflictState | None = Field(default=None, description="default: every state")
    kind: ConflictKind | None = None


class NoInput(Value):
    """Nothing."""


class Conflicts(DeskView):
    def get_object(self, conflict_id: UUID) -> Conflict:
        return conflict_for(self.project, conflict_id)

    @read("list_conflicts", "List conflicts, newest first", may=Permission.READ_NOTEBOOK)
    def list(self, query: ConflictFilters) -> ConflictPage:
        rows = conflict_rows(self.project.pk, **query.get_filters())
        return self.page(ConflictPage, rows, query, each=conflict_answer)

    @read("get_conflict", "Get a conflict", may=Permission.READ_NOTEBOOK)
    def retrieve(self, conflict: Conflict) -> ConflictAnswer:
        return conflict_answer(conflict)

    @change(
        "settle_conflict",
        "Resolve a conflict between two entries",
        may=Permission.CURATE,
        what="settlement",
        problems=(409,),
        examples=EXAMPLES,
    )
    def settle(self, conflict: Conflict, body: SettleInput) -> ConflictAnswer:
        """409 names who resolved the conflict, or changed an entry, in the meantime. Also needs the scope
        `reviews:write`.
        """
        return conflict_answer(settle(self.project, conflict.id, body, actor=self.actor))

    @change(
        "unsettle_conflict",
        "Undo the resolution of a conflict",
        may=Permission.CURATE,
        what="undo",
        problems=(409,),
    )
    def undo(self, conflict: Conflict, body: UnsettleInput) -> ConflictAnswer:
        """Restores both entries. Refused if later changes depend on the resolution. Also needs the scope
        `reviews:write`.
        """
        return conflict_answer(unsettle(self.project, conflict.id, body, actor=self.actor))

    @change(
        "suggest_merge",
        "Request a merge suggestion from a model",
        may=Permission.CURATE,
        what="request",
        status=202,
        problems=(409,),
    )
    def suggest_merge(self, conflict: Conflict, body: NoInput) -> ConflictAnswer:
        """Changes no entry. The suggestion is in the conflict when its run has ended. Also needs the scope
        `reviews:write`.
        """
        suggest_merge(self.project, conflict.id, actor=self.actor)
        return conflict_answer(self.get_object(conflict.id))


def conflict_answer(conflict: Conflict) -> ConflictAnswer:
    run, suggestion = run_asked(conflict), None
    if run is not None:
        cost = None if run.unpriced_calls else run.cost_usd
        suggestion = SuggestionAnswer.from_row(run, cost_usd=cost, words=conflict.suggestion)
    first, second = entry_answer(conflict.first), entry_answer(conflict.second)
    return ConflictAnswer.from_row(conflict, first=first, second=second, suggestion=suggestion)
