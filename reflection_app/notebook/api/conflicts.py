"""Conflicts of the notebook's entries: listed, read, settled, taken back, and a model asked for a merge."""

from typing import Any
from uuid import UUID

from pydantic import AwareDatetime, Field
from rest_framework.request import Request
from rest_framework.response import Response

from notebook_app.public import ConflictKind, ConflictState, SeenConflict, Settlement, conflict_rows, seen
from reflection_app.api.idempotency import idempotent
from reflection_app.api.pages import NEWEST_FIRST, PageQuery, get_page
from reflection_app.api.permissions import needs
from reflection_app.api.reading import Answer, Money, PageAnswer, money, read_input, read_query
from reflection_app.api.schema import described_get, described_post
from reflection_app.api.view import DeskView, NoParameters
from reflection_app.core.permissions import Permission
from reflection_app.loops.values import Value
from reflection_app.notebook.answers import EntryAnswer, entry_answer
from reflection_app.notebook.api.entries import CuratingView
from reflection_app.notebook.conflicts import (
    SettleInput,
    UnsettleInput,
    conflict_for,
    run_asked,
    settle,
    suggest_merge,
    unsettle,
)
from reflection_app.runs.models import Run

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
    first: str
    second: str


class SuggestionAnswer(Answer):
    """What became of asking a model; `words` are null until there are some, and where it failed."""

    run_id: UUID
    state: str
    outcome: str | None
    error: str
    cost_usd: Money | None = Field(description="null where the cost of some call is not known")
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
    settled_by: str | None
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


class ConflictList(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)

    @described_get(
        "list_conflicts", summary="Conflicts of entries, newest first", query=ConflictFilters, answer=ConflictPage
    )
    def get(self, request: Request) -> Response:
        query = read_query(request, ConflictFilters)
        rows = conflict_rows(self.project.pk, **query.model_dump(exclude_none=True, include={"state", "kind"}))
        page = get_page(rows, request=request, query=query, order=NEWEST_FIRST)
        return Response(page.with_results([conflict_answer(seen(row)) for row in page.rows]))


class ConflictDetail(DeskView):
    permissions = needs(get=Permission.READ_NOTEBOOK)

    @described_get("get_conflict", summary="One conflict", answer=ConflictAnswer, problems=(404,))
    def get(self, request: Request, conflict_id: UUID) -> Response:
        read_query(request, NoParameters)
        return _answer(conflict_for(self.project, conflict_id))


class SettleConflict(CuratingView):
    @described_post(
        "settle_conflict",
        summary="Settle a conflict: merge the two, keep both, or let one hold instead of the other",
        body=SettleInput,
        answers={200: ConflictAnswer},
        problems=(404, 409),
        examples=EXAMPLES,
    )
    @idempotent
    def post(self, request: Request, conflict_id: UUID) -> Response:
        """Needs the scope `reviews:write` besides. 409 names who was quicker, or who changed an entry meanwhile."""
        conflict_for(self.project, conflict_id)
        told = read_input(request, SettleInput, what="settlement")
        return _answer(settle(self.project, conflict_id, told, actor=self.actor))


class UnsettleConflict(CuratingView):
    @described_post(
        "unsettle_conflict",
        summary="Take a settlement back, as long as nothing was built on it",
        body=UnsettleInput,
        answers={200: ConflictAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, conflict_id: UUID) -> Response:
        """Both entries are as before. Needs the scope `reviews:write` besides."""
        conflict_for(self.project, conflict_id)
        told = read_input(request, UnsettleInput, what="undo")
        return _answer(unsettle(self.project, conflict_id, told, actor=self.actor))


class SuggestMerge(CuratingView):
    @described_post(
        "suggest_merge",
        summary="Ask a model for one entry in the place of the two; nothing is changed by it",
        body=NoInput,
        answers={202: ConflictAnswer},
        problems=(404, 409),
    )
    @idempotent
    def post(self, request: Request, conflict_id: UUID) -> Response:
        """The suggestion stands in the conflict once its run has ended. Needs the scope `reviews:write` besides."""
        conflict_for(self.project, conflict_id)
        read_input(request, NoInput, what="request")
        suggest_merge(self.project, conflict_id, actor=self.actor)
        return _answer(conflict_for(self.project, conflict_id), status=202)


def _answer(conflict: SeenConflict, *, status: int = 200) -> Response:
    return Response(conflict_answer(conflict).model_dump(mode="json"), status)


def conflict_answer(conflict: SeenConflict) -> ConflictAnswer:
    """The conflict as REST tells it."""
    return ConflictAnswer(
        id=conflict.id,
        kind=conflict.kind,
        state=conflict.state,
        first=entry_answer(conflict.first),
        second=entry_answer(conflict.second),
        text_likeness=conflict.text_likeness,
        meaning_likeness=conflict.meaning_likeness,
        words=list(conflict.words),
        opposed=[OpposedAnswer(kind=one.kind, first=one.left, second=one.right) for one in conflict.opposed],
        settlement=conflict.settlement,
        settled_by=conflict.settled_by or None,
        settled_at=conflict.settled_at,
        reason=conflict.reason,
        gone_id=conflict.gone_id,
        suggestion=_suggestion(conflict, run_asked(conflict)),
        created_at=conflict.created_at,
    )


def _suggestion(conflict: SeenConflict, run: Run | None) -> SuggestionAnswer | None:
    if run is None:
        return None
    return SuggestionAnswer(
        run_id=run.pk,
        state=run.state,
        outcome=run.outcome,
        error=run.error,
        cost_usd=None if run.unpriced_calls else money(run.cost_usd),
        words=conflict.suggestion,
    )
