"""Taking the last decision on a run back from the run's own page."""

from reflection_app.reviews.models.blindness import is_hidden
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.pages.review_undo import undo_offer
from reflection_app.runs.models.run import Run
from reflection_app.web.access import DeskRequest


def undo_on_run(request: DeskRequest, run: Run) -> Review | None:
    """The last decision on the run, where the user can take it back now."""
    decided = Review.objects.filter(run=run, state=ReviewState.DECIDED).select_related("step", "panel")
    last = decided.order_by("-decided_at").first()
    if last is None or is_hidden(last, reader=request.place.actor):
        return None
    offer = undo_offer(request, last)
    return last if offer and not offer.why_not else None
