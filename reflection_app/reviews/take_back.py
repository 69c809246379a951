"""A decision is taken back: its verdict goes, and with it everything that the run did because of it.

The reverse of `put_in_force`. Nothing is checked here: what must not be taken back is refused before, by
undo_decision.py.
"""

from dataclasses import asdict, dataclass
from typing import Any
from uuid import uuid4

from django.utils import timezone

from reflection_app.core.audit import Actor
from reflection_app.core.events import EventType, add_event
from reflection_app.reviews.claim_review import lease_end
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.tell_pages import tell_pages
from reflection_app.runs.consequences import best_of
from reflection_app.runs.lessons import settle_first_attempt
from reflection_app.runs.models import Run, Verdict
from reflection_app.runs.undo import TakenBack, take_back_run, take_back_steps

FORGOTTEN: dict[str, Any] = {
    "opinion": None,
    "decision": None,
    "decision_reason": "",
    "decided_by": None,
    "decided_by_label": "",
    "decided_by_key": None,
    "decided_at": None,
}


@dataclass(frozen=True)
class Undone:
    """What was taken back of the run itself, and of the run that the decision had ordered."""

    run: TakenBack
    ordered: TakenBack | None

    def facts(self) -> dict[str, Any]:
        """As the audit trail keeps it."""
        ordered = {"ordered_run": _facts(self.ordered)} if self.ordered else {}
        return _facts(self.run) | ordered


def _facts(taken: TakenBack) -> dict[str, Any]:
    return asdict(taken) | {"cost_usd": str(taken.cost_usd)}


def take_back(review: Review, run: Run, *, actor: Actor) -> Undone:
    """Takes back what `put_in_force` did, in the caller's transaction that has locked `run`.

    A run that waited for the decision waits for another one; one that was ordered because of it ends as cancelled. The
    review itself is left to the caller, but for what tied it, and the other seats of its panel, to the verdict.
    """
    assert review.decided_seq is not None, "a decision that came into force"
    ordered = _cancel_ordered(review, actor=actor)
    taken = TakenBack()
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        taken = take_back_steps(run, review.step, since=review.decided_seq)
    verdicts = Verdict.objects.filter(decided_by_reviews=review)
    verdict_ids = list(verdicts.values_list("pk", flat=True))
    Review.objects.filter(run=run, decided_seq=review.decided_seq).update(
        decided_verdict=None, decided_seq=None, ordered_run=None
    )
    Verdict.objects.filter(pk__in=verdict_ids).delete()
    if review.holds_run:
        run.best_attempt_id = best_of(run).id
    add_event(run, EventType.REVIEW_UNDONE, review=str(review.pk), by=actor.label, steps=taken.steps)
    run.save(update_fields=["last_event_seq", "best_attempt"])
    settle_first_attempt(run)
    tell_pages(run.pk, project_id=run.project_id)
    return Undone(run=taken, ordered=ordered)


def _cancel_ordered(review: Review, *, actor: Actor) -> TakenBack | None:
    if review.ordered_run_id is None:
        return None
    ordered = Run.objects.select_for_update().get(pk=review.ordered_run_id)
    taken = take_back_run(ordered, why=f"The order was taken back by {actor.label}.")
    tell_pages(ordered.pk, project_id=ordered.project_id)
    return taken


def hold_again(review: Review, *, actor: Actor) -> Review:
    """The review, undecided and held by `actor`, who can decide it anew at once."""
    Review.objects.filter(pk=review.pk).update(
        state=ReviewState.CLAIMED,
        holder=actor.user,
        holder_label=actor.label,
        holder_person=actor.person_id,
        lease_token=uuid4(),
        lease_until=lease_end(timezone.now()),
        **FORGOTTEN,
    )
    review.refresh_from_db()
    return review
