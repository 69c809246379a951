"""End what a person or key holds in the review queue once they may no longer review."""

from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet
from django.dispatch import receiver

from reflection_app.core.audit import KEY_LABEL, Actor, audit
from reflection_app.core.models import ApiKey
from reflection_app.core.rights import key_revoked, review_right_ended, without_review_right
from reflection_app.reviews.claiming import let_go, tell_pages
from reflection_app.reviews.models import OPEN, Review, ReviewState
from reflection_app.runs.events import EventType, add_event
from reflection_app.runs.models import Run

# A key keeps its holds until it is revoked. User names have no spaces, so no person has such a label.
HELD_BY_KEY = Q(holder_label__startswith=KEY_LABEL)


@receiver(review_right_ended, dispatch_uid="end-reviews-of-person")
def end_reviews_of(*, project_id: UUID, user_id: int, actor: Actor, **_signal: Any) -> None:
    """Release the reviews that the person holds, and clear their assignments."""
    held = Q(state=ReviewState.CLAIMED, holder_person=user_id) & ~HELD_BY_KEY
    assigned = Q(state__in=OPEN, assignee=user_id)
    for review in _locked(Review.objects.filter(held | assigned, project=project_id)):
        if review.holder_person == user_id and not review.holder_label.startswith(KEY_LABEL):
            release(review, actor=actor)
        if review.assignee_id == user_id:
            _clear_assignee(review, actor=actor)


@receiver(key_revoked, dispatch_uid="release-reviews-of-key")
def release_reviews_of_key(*, key: ApiKey, actor: Actor, **_signal: Any) -> None:
    """Release the reviews that the key holds."""
    # A key is known by its label, which is unique in its project (`create_api_key` numbers names).
    held = Q(state=ReviewState.CLAIMED, holder=None, holder_label=Actor(api_key=key).label)
    for review in _locked(Review.objects.filter(held, project=key.project_id)):
        release(review, actor=actor)


def release(review: Review, *, actor: Actor) -> None:
    """Give a locked review back to the queue without its lease token."""
    before = {"holder": review.holder_label}
    let_go(review)
    audit(review.project_id, actor, "review.released", target=review, before=before)
    tell_pages(review.run_id, project_id=review.project_id)


def _clear_assignee(review: Review, *, actor: Actor) -> None:
    before = {"assignee": review.assignee.get_username() if review.assignee else None}
    review.assignee = None
    review.save(update_fields=["assignee"])
    run = Run.objects.get(pk=review.run_id)
    add_event(run, EventType.REVIEW_ASSIGNED, review=str(review.pk), assignee=None)
    run.save(update_fields=["last_event_seq"])
    audit(review.project_id, actor, "review.assigned", target=review, before=before, after={"assignee": None})
    tell_pages(review.run_id, project_id=review.project_id)


def _locked(reviews: QuerySet[Review]) -> list[Review]:
    """Lock the runs, then the reviews, both in one order: deciders lock the run first as well."""
    runs = set(reviews.order_by().values_list("run", flat=True))
    list(Run.objects.select_for_update().filter(pk__in=runs).order_by("pk").values_list("pk", flat=True))
    rows = reviews.filter(run__in=runs).select_related("assignee").select_for_update(of=("self",))
    return list(rows.order_by("pk"))


def reviews_without_right() -> set[tuple[UUID, int]]:
    """Return the project and person of each review held by, or assigned to, a person who may not review."""
    assigned = Review.objects.filter(state__in=OPEN, assignee__isnull=False)
    held = Review.objects.filter(~HELD_BY_KEY, state=ReviewState.CLAIMED, holder_person__isnull=False)
    return without_review_right(assigned, project="project", person="assignee") | without_review_right(
        held, project="project", person="holder_person"
    )
