"""Deciding a review: who holds it says what becomes of the verdict, once and for all others."""

from django.db import transaction
from django.utils import timezone

from reflection_app.core.audit import Actor, audit
from reflection_app.core.own_work import refuse_own_work
from reflection_app.reviews.claim_review import lost
from reflection_app.reviews.decision_in_force import put_in_force
from reflection_app.reviews.decision_input import DecisionInput
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.panel_opinions import keep_opinion, settle_dispute
from reflection_app.reviews.reviewers_decision import Decided, decided_by
from reflection_app.runs.models import Run

__all__ = ["DecisionInput", "decide_review"]

WRITTEN = (
    *("state", "lease_token", "lease_until", "decision", "decision_reason", "decided_by", "decided_by_label"),
    *("decided_by_key", "decided_at", "opinion", "decided_verdict", "decided_seq", "ordered_run", "panel"),
)


@transaction.atomic
def decide_review(review: Review, told: DecisionInput, *, actor: Actor) -> Review:
    """The decided review.

    Raises AlreadyDecided or ReviewLeaseLost (nothing changed), InvalidInput, or OwnWorkRefused.
    """
    # The run's lock comes first everywhere (cancel_run, the journal), so that nobody waits in a circle.
    run = Run.objects.select_for_update(of=("self",)).select_related("task").get(pk=review.run_id)
    # Whoever's token they came by, and whatever was handed in since they claimed it.
    refuse_own_work({*review.handed_in_by, *run.handed_in_by}, project_id=review.project_id, actor=actor)
    decided = decided_by(review, told, actor=actor)
    _record(review, told, decided, actor=actor)
    if review.is_seat:
        keep_opinion(review, run, decided, actor=actor)
    else:
        put_in_force(review, run, decided, actor=actor)
        if review.panel_id:
            settle_dispute(review, actor=actor)
    _keep_trail(review, decided, actor=actor)
    # The run as it is now; what was read of the attempt stays, for whoever tells of the decision.
    review.refresh_from_db(fields=WRITTEN)
    review.run = run
    return review


def _record(review: Review, told: DecisionInput, decided: Decided, *, actor: Actor) -> None:
    """Keeps what was said. Lease and state are checked by the very UPDATE that does, so of two reviewers one wins."""
    now = timezone.now()
    held = Review.objects.filter(
        pk=review.pk, state=ReviewState.CLAIMED, lease_token=told.lease_token, lease_until__gt=now
    )
    if review.is_seat:
        # Nobody judges twice, whoever's token they came by.
        held = held.filter(holder_person=actor.person_id)
    recorded = held.update(
        state=ReviewState.DECIDED,
        decision=decided.decision.decision.value,
        decision_reason=decided.decision.reason,
        decided_by=actor.user,
        decided_by_label=actor.label,
        decided_by_key=actor.api_key,
        decided_at=now,
        lease_token=None,
        lease_until=None,
    )
    if not recorded:
        raise lost(review)


def _keep_trail(review: Review, decided: Decided, *, actor: Actor) -> None:
    as_director = review.directors_decision_with(decided.decision.verdict.value)
    named = {"directors_decision": as_director.value} if as_director else {}
    audit(
        review.project_id,
        actor,
        "review.opinion" if review.is_seat else "review.decided",
        target=review,
        before={"attempt": review.attempt.number, "verdict": review.verdict.verdict, "score": review.verdict.score},
        after={"attempt": decided.attempt.number}
        | named
        | decided.decision.model_dump(mode="json", exclude={"reviewer", "picked"}),
    )
