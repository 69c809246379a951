"""Conflicts of the notebook's entries: listed, read, settled, taken back, and a model asked for a merge."""

from typing import Annotated, Any
from uuid import UUID

from django.db.models import QuerySet
from pydantic import AwareDatetime, Field

from notebook_app.public import ConflictKind, ConflictState, SeenConflict, Settlement, conflict_rows, seen
from reflection_app.api.pages import PageQuery
from reflection_app.api.reading import Answer, KnownCost, OrNull, PageAnswer
from reflection_app.api.viewset import DeskViewSet, answers_get, answers_list, answers_post
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
    "One holds instead of the other": {
        "settlement": "supersede",
        "stays": "01890a5d-ac96-774b-bcce-b302099a8057",
        "first_expected_version": 2,
        "second_expected_version": 1,
    },
    "Merged in other words": {
        "settlement": "merge",
        "stays": "01890a5d-ac96-774b-bcce-b302099a8057",
        "words": {"name": "Force pushes", "content": "Force-push to your own branches only."},
    },
    "Both are kept": {"settlement": "keep_both", "reason": "They are about two services."},
}


class OpposedAnswer(Answer):
    """Phrases that cannot both be followed, as the first and the second entry say them."""

    kind: str
    first: str = Field(validation_alias="left")
    second: str = Field(validation_alias="right")


class SuggestionAnswer(Answer):
    """What became of asking a model; `words` are null until there are some, and where it failed."""

    run_id: UUID = Field(validation_alias="pk")
    state: str
    outcome: str | None
    error: str
    cost_usd: KnownCost = Field(description="null where the cost of some call is not known")
    words: dict[str, Any] | None = Field(description="name, description, content, and a note for the curator")


class ConflictAnswer(Answer):
    """Two entries that say nearly the same, or the opposite."""

    id: UUID
    kind: ConflictKind
    state: ConflictState
    first: EntryAnswer
    second: EntryAnswer
    text_likeness: float = Field(description="shared telling words, from 0 to 1")
    meaning_likeness: float | None = Field(description="nearness of meaning, where both had a vector")
    words: list[str] = Field(description="telling words that both have")
    opposed: list[OpposedAnswer]
    settlement: Settlement | None
    settled_by: Annotated[str | None, OrNull]
    settled_at: AwareDatetime | None
    reason: str
    gone_id: UUID | None = Field(description="the entry that was merged or superseded")
    suggestion: SuggestionAnswer | None
    created_at: AwareDatetime


class ConflictPage(PageAnswer):
    results: list[ConflictAnswer]


class ConflictFilters(PageQuery):
    state: ConflictState | None = Field(default=None, description="every state where left out")
    kind: ConflictKind | None = None


class NoInput(Value):
    """Nothing."""


class Conflicts(DeskViewSet):
    def check_found(self, **ids: Any) -> None:
        conflict_for(self.project, **ids)

    @answers_list(
        "list_conflicts",
        Permission.READ_NOTEBOOK,
        summary="Conflicts of entries, newest first",
        query=ConflictFilters,
        answer=ConflictPage,
        shown=lambda rows: [conflict_answer(seen(row)) for row in rows],
    )
    def list(self, query: ConflictFilters) -> QuerySet[Any]:
        return conflict_rows(self.project.pk, **query.get_filters())

    @answers_get(
        "get_conflict", Permission.READ_NOTEBOOK, summary="One conflict", answer=ConflictAnswer, problems=(404,)
    )
    def detail(self, conflict_id: UUID) -> ConflictAnswer:
        return conflict_answer(conflict_for(self.project, conflict_id))

    @answers_post(
        "settle_conflict",
        Permission.CURATE,
        summary="Settle a conflict: merge the two, keep both, or let one hold instead of the other",
        body=SettleInput,
        what="settlement",
        answer=ConflictAnswer,
        problems=(404, 409),
        examples=EXAMPLES,
    )
    def settle(self, told: SettleInput, conflict_id: UUID) -> ConflictAnswer:
        """Needs the scope `reviews:write` besides. 409 names who was quicker, or who changed an entry meanwhile."""
        return conflict_answer(settle(self.project, conflict_id, told, actor=self.actor))

    @answers_post(
        "unsettle_conflict",
        Permission.CURATE,
        summary="Take a settlement back, as long as nothing was built on it",
        body=UnsettleInput,
        what="undo",
        answer=ConflictAnswer,
        problems=(404, 409),
    )
    def unsettle(self, told: UnsettleInput, conflict_id: UUID) -> ConflictAnswer:
        """Both entries are as before. Needs the scope `reviews:write` besides."""
        return conflict_answer(unsettle(self.project, conflict_id, told, actor=self.actor))

    @answers_post(
        "suggest_merge",
        Permission.CURATE,
        summary="Ask a model for one entry in the place of the two; nothing is changed by it",
        body=NoInput,
        what="request",
        answer=ConflictAnswer,
        status=202,
        problems=(404, 409),
    )
    def suggest_merge(self, conflict_id: UUID) -> ConflictAnswer:
        """The suggestion stands in the conflict once its run has ended. Needs the scope `reviews:write` besides."""
        suggest_merge(self.project, conflict_id, actor=self.actor)
        return conflict_answer(conflict_for(self.project, conflict_id))


def conflict_answer(conflict: SeenConflict) -> ConflictAnswer:
    run, suggestion = run_asked(conflict), None
    if run is not None:
        cost = None if run.unpriced_calls else run.cost_usd
        suggestion = SuggestionAnswer.from_row(run, cost_usd=cost, words=conflict.suggestion)
    first, second = entry_answer(conflict.first), entry_answer(conflict.second)
    return ConflictAnswer.from_row(conflict, first=first, second=second, suggestion=suggestion)
