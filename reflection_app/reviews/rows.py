"""The rows of reviews that a run asks for: one, or a panel's seats where several people are to judge blindly."""

from uuid import UUID

from django.db import transaction
from django.db.models import Q

from reflection_app.adapters.live import ring_reviews
from reflection_app.core.audit import Actor
from reflection_app.loops.attempt_effects import AskReviewer, RequestAudit, ReviewReason
from reflection_app.loops.verdicts import Referee
from reflection_app.queues.routing import route
from reflection_app.reviews.models import Panel, Review
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, next_event
from reflection_app.runs.following import StepCommit, follows_from
from reflection_app.runs.models import Attempt, Run, Step, Verdict


@follows_from(AskReviewer, RequestAudit)
def open_reviews(effect: AskReviewer | RequestAudit, _value: object, commit: StepCommit) -> None:
    """Puts the attempt's newest verdict before as many people as the effect asks for."""
    commit.batch.write()
    run, step, attempt = commit.run, commit.step, commit.attempt(effect.judgement.attempt)
    reason = effect.reason if isinstance(effect, AskReviewer) else ReviewReason.AUDIT
    holds_run = isinstance(effect, AskReviewer)
    verdict = attempt.verdicts.latest("created_at", "id")
    if verdict.referee == effect.judgement.referee == Referee.GENERATED_TESTS:
        # Later attempts changed the confidence in this one, by which the queue is sorted.
        verdict.confidence = effect.judgement.confidence
        verdict.save(update_fields=["confidence"])
    put_before_people(run, verdict, step=step, reason=reason, holds_run=holds_run, reviewers=effect.reviewers)


def put_before_people(
    run: Run,
    verdict: Verdict,
    *,
    step: Step | None,
    reason: ReviewReason,
    holds_run: bool,
    reviewers: int,
    note: str = "",
    note_by: str = "",
) -> list[Review]:
    """The reviews that are open from now on: one, or as many seats of a panel. The caller saves `last_event_seq`."""
    panel = None
    if reviewers > 1:
        panel = Panel.objects.create(
            project_id=run.project_id,
            run=run,
            attempt_id=verdict.attempt_id,
            verdict=verdict,
            step=step,
            reason=reason.value,
            holds_run=holds_run,
            wanted=reviewers,
        )
    # Who wrote it in an earlier review handed it in, too.
    hands = list(dict.fromkeys([*run.handed_in_by, *hands_of_editors(verdict)]))
    opened, batch = [], Batch()
    for _seat in range(reviewers):
        review = Review(
            project_id=run.project_id,
            run=run,
            attempt_id=verdict.attempt_id,
            verdict=verdict,
            step=step,
            panel=panel,
            reason=reason.value,
            holds_run=holds_run,
            note=note,
            note_by_label=note_by,
            handed_in_by=hands,
        )
        batch.insert(review)
        batch.insert(next_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=reason.value))
        opened.append(review)
    batch.write()
    route(opened)
    transaction.on_commit(lambda: ring_reviews(run.project_id))
    return opened


def hands_of_editors(verdict: Verdict) -> list[str]:
    """Of all who wrote the text in reviews, one after another; a fork has it from the run that it was forked from."""
    written: Attempt | None = verdict.attempt
    if verdict.attempt.edited_from is None:
        return []
    edits = Review.objects.none()
    forked_from = _ancestors(verdict.attempt.run)
    while written is not None and written.edited_from is not None:
        of_number = Review.objects.filter(
            attempt__number=written.edited_from, decision__isnull=False, edited_answer__isnull=False
        )
        of_this = Q(run=written.run_id) | Q(run__in=forked_from, edited_answer=written.content)
        edits |= of_number.filter(of_this)
        written = Attempt.objects.filter(run=written.run_id, number=written.edited_from).first()
    actors = (Actor(user=one.decided_by, api_key=one.decided_by_key) for one in edits)
    return [actor.hand for actor in actors if actor.hand is not None]


def _ancestors(run: Run) -> list[UUID]:
    """The runs that it was forked from, the nearest first."""
    found: list[UUID] = []
    parent = run.parent_id
    while parent is not None:
        found.append(parent)
        parent = Run.objects.values_list("parent", flat=True).get(pk=parent)
    return found
