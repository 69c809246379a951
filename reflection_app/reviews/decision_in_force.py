"""A decision comes into force: its verdict is kept, and a run that waited for it goes on.

Of a run that did not wait, an accepted attempt that a person sends back is done again by a run of its own.
"""

from reflection_app.core.audit import Actor
from reflection_app.core.events import EventType, add_event
from reflection_app.reviews.models.review import Review
from reflection_app.reviews.overruled_audit import order_again
from reflection_app.reviews.reviewers_decision import Decided
from reflection_app.reviews.tell_pages import tell_pages
from reflection_app.runs.consequences import best_of
from reflection_app.runs.lessons import settle_first_attempt
from reflection_app.runs.models import Run, Verdict
from reflection_app.runs.resuming import resume_run


def put_in_force(review: Review, run: Run, decided: Decided, *, actor: Actor) -> None:
    """Makes the decision hold, in the caller's transaction that has locked `run`.

    `review` is the one that was decided; of a panel that agrees, the seat that was decided last.
    """
    said = decided.decision
    row = Verdict.from_judgement(said.judgement_of(review.attempt.number), attempt=decided.attempt, step=None)
    row.given_by = actor.user
    row.save()
    event = add_event(run, EventType.REVIEW_DECIDED, review=str(review.pk), decision=said.decision.value)
    if review.holds_run:
        assert review.step is not None, "what holds a run was asked for by a step"
        run.best_attempt_id = best_of(run).id
        resume_run(run, review.step, said.model_dump(mode="json"), run_fields=["best_attempt"])
    else:
        run.save(update_fields=["last_event_seq"])
        settle_first_attempt(run)
    ordered = order_again(review, run, verdict=said.verdict, reason=said.reason, issues=said.issues, actor=actor)
    Review.objects.filter(pk=review.pk).update(decided_verdict=row, decided_seq=event.seq, ordered_run=ordered)
    tell_pages(run.pk, project_id=run.project_id)
