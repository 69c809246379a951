"""Skipping: who passes a review over is not given it as the next one again; others are."""

from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.adapters.doorbell import ring_reviews
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import AlreadyDecided, ReviewLeaseLost
from reflection_app.core.models import Project
from reflection_app.reviews.claim_review import NOBODY, gone, lost, why_closed
from reflection_app.reviews.models.review import OPEN, Review, ReviewSkip, ReviewState
from reflection_app.reviews.tell_pages import tell_pages


@transaction.atomic
def skip_review(review: Review, *, actor: Actor, lease_token: UUID | None = None) -> Review:
    """The review, passed over for `actor` and given back where `lease_token` holds it; skipped twice is skipped once.

    Raises AlreadyDecided, or ReviewLeaseLost where the token holds it no longer; then nothing is changed.
    """
    locked = Review.objects.select_for_update(of=("self",)).filter(pk=review.pk).first()
    if locked is None:
        raise gone()
    if not locked.is_open:
        raise AlreadyDecided(why_closed(locked))
    is_held = locked.state == ReviewState.CLAIMED and locked.lease_until and locked.lease_until > timezone.now()
    if lease_token is not None:
        if not is_held or locked.lease_token != lease_token:
            raise lost(locked)
        _give_back(locked)
    elif is_held and locked.holder_label == actor.label:
        raise ReviewLeaseLost(_("You hold this review in another tab. Skip it there, or give it back first."))
    was_kept = _leave_to_others(locked, actor=actor)
    _skip, is_new = ReviewSkip.objects.get_or_create(review=locked, by_label=actor.label)
    if is_new or was_kept or lease_token is not None:
        told = {"given_back": lease_token is not None, "assignment_ended": was_kept}
        audit(locked.project_id, actor, "review.skipped", target=locked, after=told)
        tell_pages(locked.run_id, project_id=locked.project_id)
    return locked


def _leave_to_others(review: Review, *, actor: Actor) -> bool:
    """Whether it was kept for `actor`, who passes it over; kept on, nobody would ever be given it."""
    if actor.user is None or review.assignee_id != actor.user.pk:
        return False
    review.assignee = None
    review.save(update_fields=["assignee"])
    return True


def _give_back(review: Review) -> None:
    review.state = ReviewState.WAITING
    for name, value in NOBODY.items():
        setattr(review, name, value)
    review.save(update_fields=["state", *NOBODY])


@transaction.atomic
def unskip_review(review: Review, *, actor: Actor) -> bool:
    """Whether `actor` had skipped the review, which may come to them again."""
    return bool(_take_back(actor, review.project_id, review=review))


@transaction.atomic
def unskip_all(project: Project, *, actor: Actor) -> int:
    """How many open reviews may come to `actor` again."""
    return _take_back(actor, project.pk, review__project=project, review__state__in=OPEN)


def _take_back(actor: Actor, project_id: UUID, **which: object) -> int:
    skips = ReviewSkip.objects.filter(by_label=actor.label, **which).select_related("review")
    gone = list(skips.select_for_update(of=("self",)).order_by("pk"))
    for skip in gone:
        audit(project_id, actor, "review.unskipped", target=skip.review)
    ReviewSkip.objects.filter(pk__in=[skip.pk for skip in gone]).delete()
    if gone:
        transaction.on_commit(lambda: ring_reviews(project_id))
    return len(gone)
