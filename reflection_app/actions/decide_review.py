"""Deciding a review: the person's verdict is kept, and a run that waited for it goes on.

Of a run that did not wait, an accepted attempt that a person sends back is done again by a run of its own.
"""

from django.db import transaction
from django.utils import timezone

from reflection_app.actions.claim_review import lost
from reflection_app.actions.decision_input import DecisionInput
from reflection_app.actions.overruled_audit import order_again
from reflection_app.actions.resume_run import resume_run
from reflection_app.actions.reviewers_decision import Decided, decided_by
from reflection_app.live.doorbell import ring
from reflection_app.models import (
    Actor,
    EventType,
    Review,
    ReviewState,
    Run,
    Verdict,
    add_event,
    audit,
)
from reflection_app.runner.best_so_far import best_of

__all__ = ["DecisionInput", "decide_review"]


@transaction.atomic
def decide_review(review: Review, told: DecisionInput, *, actor: Actor) -> Review:
    """The decided review. Raises AlreadyDecided or ReviewLeaseLost (nothing changed), or InvalidInput.

    Lease and state are checked by the very UPDATE that records the decision, so that of two reviewers one wins.
    """
    # The run's lock comes first everywhere (cancel_run, the journal), so that nobody waits in a circle.
    run = Run.objects.select_for_update().get(pk=review.run_id)
    decided = decided_by(review, told, actor=actor)
    now = timezone.now()
    judgement = decided.decision.judgement_of(review.attempt.number)
    row = Verdict.from_judgement(judgement, attempt=decided.attempt, step=None)
    row.given_by = actor.user
    recorded = Review.objects.filter(
        pk=review.pk, state=ReviewState.CLAIMED, lease_token=told.lease_token, lease_until__gt=now
    ).update(
        state=ReviewState.DECIDED,
        decision=decided.decision.decision.value,
        decision_reason=decided.decision.reason,
        decided_by=actor.user,
        decided_by_label=actor.label,
        decided_at=now,
        lease_token=None,
        lease_until=None,
    )
    if not recorded:
        raise lost(review)
    row.save()
    Review.objects.filter(pk=review.pk).update(decided_verdict=row)
    if review.holds_run:
        run.best_attempt_id = best_of(run).id
        resume_run(run, review.step, decided.decision.model_dump(mode="json"), run_fields=["best_attempt"])
    add_event(run, EventType.REVIEW_DECIDED, review=str(review.pk), decision=told.decision.value)
    run.save(update_fields=["last_event_seq"])
    _keep_trail(review, decided, actor=actor)
    said = decided.decision
    order_again(review, run, verdict=said.verdict, reason=said.reason, issues=said.issues, actor=actor)
    transaction.on_commit(lambda: ring(run.pk, project_id=run.project_id))
    review.refresh_from_db()
    return review


def _keep_trail(review: Review, decided: Decided, *, actor: Actor) -> None:
    as_director = review.directors_decision_with(decided.decision.verdict.value)
    named = {"directors_decision": as_director.value} if as_director else {}
    audit(
        review.project_id,
        actor,
        "review.decided",
        target=review,
        before={"attempt": review.attempt.number, "verdict": review.verdict.verdict, "score": review.verdict.score},
        after={"attempt": decided.attempt.number}
        | named
        | decided.decision.model_dump(mode="json", exclude={"reviewer", "picked"}),
    )
