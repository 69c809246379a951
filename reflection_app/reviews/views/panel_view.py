"""A panel as the page of one of its reviews shows it: how many have spoken, and what its reader may know of it."""

from dataclasses import dataclass

from reflection_app.core.audit import Actor
from reflection_app.loops.effects import ReviewDecision, ReviewReason
from reflection_app.reviews.models.blindness import is_hidden
from reflection_app.reviews.models.panel import Panel, PanelState
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.panel_consensus import majority


@dataclass(frozen=True)
class OpinionShown:
    """What one person said at their seat."""

    seat: Review
    said: ReviewDecision
    is_mine: bool


@dataclass(frozen=True)
class PanelShown:
    """`opinions` are all of them once the last is in, and the reader's own until then."""

    panel: Panel
    is_adjudication: bool
    given: int
    opinions: tuple[OpinionShown, ...]
    # The review that settles the dispute, where there is one.
    adjudication: Review | None
    has_spoken: bool

    @property
    def missing(self) -> int:
        """How many more have to speak."""
        return max(0, self.panel.wanted - self.given)

    @property
    def is_open(self) -> bool:
        return self.panel.state == PanelState.OPEN


def panel_of(review: Review, *, reader: Actor) -> PanelShown | None:
    """The panel of `review` as `reader` may know it; None where one person judges alone."""
    panel = review.panel
    if panel is None:
        return None
    of_panel = Review.objects.filter(panel=panel).exclude(state=ReviewState.WITHDRAWN).select_related("panel")
    rows = list(of_panel.select_related("verdict", "decided_verdict").order_by("decided_at", "created_at", "id"))
    spoken = [(row, said) for row in rows if row.state == ReviewState.DECIDED and (said := row.get_opinion())]
    return PanelShown(
        panel=panel,
        is_adjudication=review.reason == ReviewReason.ADJUDICATION,
        given=len(spoken),
        opinions=tuple(
            OpinionShown(seat=seat, said=said, is_mine=seat.decided_by_label == reader.label)
            for seat, said in spoken
            if not is_hidden(seat, reader=reader)
        ),
        adjudication=next((row for row in rows if row.reason == ReviewReason.ADJUDICATION), None),
        has_spoken=any(seat.decided_by_label == reader.label for seat, _ in spoken),
    )


def majority_of(review: Review) -> ReviewDecision | None:
    """What most said, of a review that is to settle their dispute; None of every other, and where there is no most."""
    if review.reason != ReviewReason.ADJUDICATION or review.panel_id is None:
        return None
    seats = Review.objects.filter(panel=review.panel, state=ReviewState.DECIDED, opinion__isnull=False)
    opinions = [said for seat in seats.order_by("decided_at", "id") if (said := seat.get_opinion())]
    return majority(opinions, thresholds=review.run.get_spec().thresholds)
