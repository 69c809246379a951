"""Panels as REST tells them: how many have spoken, and what they said once all have."""

from collections import defaultdict
from collections.abc import Iterable
from uuid import UUID

from pydantic import AwareDatetime, Field

from reflection_app.api.answer import Answer
from reflection_app.core.audit import Actor
from reflection_app.loops.effects import Decision
from reflection_app.loops.verdicts import Issue
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models.blindness import is_hidden
from reflection_app.reviews.models.panel import PanelState
from reflection_app.reviews.models.review import Review, ReviewState


class OpinionAnswer(Answer):
    """What one of several blind reviewers said."""

    review_id: UUID
    by: str
    decision: Decision
    verdict: VerdictName
    score: float
    issues: list[Issue]
    reason: str
    given_at: AwareDatetime


class PanelAnswer(Answer):
    """Several people judge the same verdict without seeing each other's opinions; each has a review of their own."""

    id: UUID
    state: PanelState
    wanted: int = Field(description="how many are to judge")
    given: int = Field(description="how many have")
    agreed: bool | None = Field(description="null until the last of them has spoken")
    opinions: list[OpinionAnswer] = Field(description="all of them once the last is in; until then, the caller's own")


def panel_answers(reviews: Iterable[Review], *, reader: Actor | None) -> dict[UUID, PanelAnswer]:
    """By id, the panels of `reviews` as `reader` may know them; with one query for all of them."""
    panels = {review.panel.pk: review.panel for review in reviews if review.panel is not None}
    if not panels:
        return {}
    spoken: dict[UUID, list[Review]] = defaultdict(list)
    seats = Review.objects.filter(panel__in=panels, state=ReviewState.DECIDED, opinion__isnull=False)
    for seat in seats.select_related("panel").order_by("decided_at", "id"):
        if seat.panel is not None:
            spoken[seat.panel.pk].append(seat)
    return {
        panel.pk: PanelAnswer(
            id=panel.pk,
            state=PanelState(panel.state),
            wanted=panel.wanted,
            given=len(spoken[panel.pk]),
            agreed=panel.agreed,
            opinions=[answer for seat in spoken[panel.pk] for answer in _opinion_answer(seat, reader=reader)],
        )
        for panel in panels.values()
    }


def _opinion_answer(seat: Review, *, reader: Actor | None) -> list[OpinionAnswer]:
    said = seat.get_opinion()
    if said is None or seat.decided_at is None or is_hidden(seat, reader=reader):
        return []
    answer = OpinionAnswer(
        review_id=seat.pk,
        by=seat.decided_by_label,
        decision=said.decision,
        verdict=said.verdict,
        score=said.score,
        issues=list(said.issues),
        reason=said.reason,
        given_at=seat.decided_at,
    )
    return [answer]
