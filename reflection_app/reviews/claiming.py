"""Claiming, keeping and giving back reviews. A claim is a lease: a token, an end, a heartbeat that moves the end."""

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID, uuid4

from django.conf import settings
from django.db import IntegrityError, transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.adapters.live import ring, ring_reviews
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import ActionError, AlreadyDecided, NotFound, ReviewHeld, ReviewLeaseLost
from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.queues.eligibility import closed_to, outside, refuse_other_queue
from reflection_app.reviews.models import OPEN, Review, ReviewSkip, ReviewState, is_hidden
from reflection_app.reviews.own_work import refuse_own_work, work_of_others

# Telling open pages that something about a review has changed: those of its run, and those of the queue.


def tell_pages(run_id: UUID, *, project_id: UUID) -> None:
    """Rings for the run, its project's lists and its reviews once the change is committed."""
    transaction.on_commit(lambda: ring(run_id, project_id=project_id))
    transaction.on_commit(lambda: ring_reviews(project_id))


def free(now: datetime) -> Q:
    """Reviews that can be claimed: waiting, or claimed by somebody whose lease ran out."""
    return Q(state=ReviewState.WAITING) | Q(state=ReviewState.CLAIMED, lease_until__lte=now)


def lease_end(now: datetime) -> datetime:
    return now + timedelta(seconds=settings.REVIEW_LEASE_S)


# What an item has that nobody holds.
NOBODY = {"holder": None, "holder_label": "", "holder_person": None, "lease_token": None, "lease_until": None}
IN_ORDER = ("-holds_run", "created_at", "id")
# One person with as many tabs would have to lose a race in each of them.
TRIES = 5


def claim_next(
    project: Project,
    *,
    actor: Actor,
    among: Q | None = None,
    order: Sequence[str] = IN_ORDER,
    queue: UUID | None = None,
) -> Review | None:
    """The next free review, now held by `actor`: what is assigned to them first, then what is for everybody.

    Those that a run waits for come first, then the oldest, unless another `order` is asked for. What the actor has
    skipped or handed in, and further seats of a panel on which they sit, are passed over; with `among`, so is what does
    not fit it, and with `queue`, what is not in that one. What is in a queue for others is passed over too, but for an
    admin who names it.
    None where there is none. Two callers never get the same one: a row that one has locked is passed over by the other.
    """
    mine, everybodys = _candidates(project, actor=actor, among=among, queue=queue)
    for tries_left in reversed(range(TRIES)):
        try:
            with transaction.atomic():
                return _claim_first(mine, actor=actor, order=order) or _claim_first(
                    everybodys, actor=actor, order=order
                )
        except IntegrityError:
            # The same person took another seat of that panel at the same moment, and is not offered this one again.
            if not tries_left:
                raise
    return None


def likely_next(
    project: Project,
    *,
    actor: Actor,
    besides: UUID,
    among: Q | None = None,
    order: Sequence[str] = IN_ORDER,
    queue: UUID | None = None,
) -> Review | None:
    """What `claim_next` would give `actor` now, once `besides` is out of the way; nothing is claimed."""
    for candidates in _candidates(project, actor=actor, among=among, queue=queue):
        if review := candidates.exclude(pk=besides).order_by(*order).first():
            return review
    return None


def _candidates(
    project: Project, *, actor: Actor, among: Q | None, queue: UUID | None
) -> tuple[QuerySet[Review], QuerySet[Review]]:
    """What can be given to `actor`: what is assigned to them, and what is for everybody."""
    others = work_of_others(project, actor=actor)
    candidates = Review.objects.filter(free(timezone.now()), among or Q(), others, project=project)
    candidates = candidates.filter(~Exists(skipped_by(actor)), Q(panel=None) | ~Exists(seats_of(actor)))
    if queue is not None:
        candidates = candidates.filter(queue=queue)
    mine = candidates.filter(assignee=actor.user) if actor.user else Review.objects.none()
    theirs = outside(closed_to(project.pk, actor=actor, named=queue))
    return mine, candidates.filter(theirs, assignee=None)


def _claim_first(candidates: QuerySet[Review], *, actor: Actor, order: Sequence[str]) -> Review | None:
    review = candidates.order_by(*order).select_for_update(skip_locked=True, of=("self",)).first()
    return _hold(review, actor=actor) if review else None


def skipped_by(actor: Actor) -> QuerySet[ReviewSkip]:
    """That `actor` skipped the review of the query around it."""
    return ReviewSkip.objects.filter(review=OuterRef("pk"), by_label=actor.label)


def seats_of(actor: Actor) -> QuerySet[Review]:
    """Another seat of the panel of the query around it, on which `actor`, or a key of the same person, sits or sat."""
    sat = Review.objects.filter(panel=OuterRef("panel"), holder_person=actor.person_id)
    return sat.filter(state__in=(ReviewState.CLAIMED, ReviewState.DECIDED)).exclude(pk=OuterRef("pk"))


def lock_open(review: Review, *related: str) -> Review:
    """The review, locked, with these rows of others. Raises AlreadyDecided, or NotFound where an undo took it away."""
    rows = Review.objects.select_for_update(of=("self",))
    locked = (rows.select_related(*related) if related else rows).filter(pk=review.pk).first()
    if locked is None:
        raise gone()
    if not locked.is_open:
        raise AlreadyDecided(why_closed(locked))
    return locked


@transaction.atomic
def claim_review(review: Review, *, actor: Actor) -> Review:
    """This review, held by `actor`; who holds it already keeps the token.

    Raises AlreadyDecided, ReviewHeld, OwnWorkRefused, or NotYourQueue.
    """
    locked = lock_open(review)
    refuse_own_work(locked.handed_in_by, project_id=locked.project_id, actor=actor)
    if locked.is_held:
        if actor.user is None or locked.holder_id != actor.user.pk:
            told = {"who": locked.holder_label, "time": f"{locked.lease_until:%H:%M}"}
            raise ReviewHeld(_("%(who)s has locked this review until %(time)s UTC.") % told)
        # The review with the end of its lease moved. The token stays: the same person may have it in another tab.
        locked.lease_until = lease_end(timezone.now())
        locked.save(update_fields=["lease_until"])
        return locked
    if actor.user is None or locked.assignee_id != actor.user.pk:
        refuse_other_queue(locked.queue_id, project_id=locked.project_id, actor=actor)
    if locked.is_seat and Review.objects.filter(pk=locked.pk).filter(Exists(seats_of(actor))).exists():
        raise ReviewHeld(_("You are already a reviewer on this panel. The other assignments are for other reviewers."))
    try:
        with transaction.atomic():
            return _hold(locked, actor=actor)
    except IntegrityError:
        # The same person took another seat of that panel at the same moment.
        raise ReviewHeld(
            _("You are already a reviewer on this panel. The other assignments are for other reviewers.")
        ) from None


def _hold(review: Review, *, actor: Actor) -> Review:
    review.state, review.holder, review.holder_label = ReviewState.CLAIMED, actor.user, actor.label
    review.holder_person = actor.person_id
    review.lease_token, review.lease_until = uuid4(), lease_end(timezone.now())
    review.save(update_fields=["state", "holder", "holder_label", "holder_person", "lease_token", "lease_until"])
    audit(review.project_id, actor, "review.claimed", target=review)
    tell_pages(review.run_id, project_id=review.project_id)
    return review


def keep_review(review: Review, *, lease_token: UUID) -> datetime:
    """Moves the end of the lease; the new end. Raises ReviewLeaseLost where the token no longer holds it."""
    now = timezone.now()
    until = lease_end(now)
    if not _held(review, lease_token=lease_token, now=now).update(lease_until=until):
        raise lost(review)
    return until


def hold_end(review: Review, *, lease_token: UUID) -> datetime:
    """The end of the lease, left as it is. Raises ReviewLeaseLost where the token no longer holds the review."""
    until = _held(review, lease_token=lease_token, now=timezone.now()).values_list("lease_until", flat=True).first()
    if until is None:
        raise lost(review)
    return until


@transaction.atomic
def release_review(review: Review, *, lease_token: UUID, actor: Actor) -> None:
    """Gives the review back to the queue. Raises ReviewLeaseLost."""
    held = _held(review, lease_token=lease_token, now=timezone.now())
    if not held.update(state=ReviewState.WAITING, **NOBODY):
        raise lost(review)
    audit(review.project_id, actor, "review.released", target=review)
    tell_pages(review.run_id, project_id=review.project_id)


def let_go(locked: Review) -> None:
    """Take the hold from a locked review, which waits from then on."""
    locked.state = ReviewState.WAITING
    for name, value in NOBODY.items():
        setattr(locked, name, value)
    locked.save(update_fields=["state", *NOBODY])


def _held(review: Review, *, lease_token: UUID, now: datetime) -> QuerySet[Review]:
    return Review.objects.filter(pk=review.pk, state=ReviewState.CLAIMED, lease_token=lease_token, lease_until__gt=now)


def gone() -> NotFound:
    """What to tell who was shown a review a moment ago that an undo has taken away since."""
    return NotFound(_("Review not found: the decision that opened it was undone."))


def lost(review: Review) -> ActionError:
    """Why a token does not hold the review, as the present state tells it."""
    now_is = Review.objects.filter(pk=review.pk).first()
    if now_is is None:
        return gone()
    if not now_is.is_open:
        return AlreadyDecided(why_closed(now_is))
    if now_is.is_held:
        said = _("%(who)s has locked this review. Nothing was changed.")
        return ReviewLeaseLost(said % {"who": now_is.holder_label})
    return ReviewLeaseLost(_("Your lock on this review expired. Nothing was changed. Claim it again."))


def why_closed(review: Review) -> str:
    if review.state == ReviewState.DECIDED and is_hidden(review):
        return _("%(who)s already submitted an opinion here.") % {"who": review.decided_by_label}
    if review.state == ReviewState.DECIDED:
        told = {"who": review.decided_by_label, "decision": review.decision}
        return _("%(who)s already decided this review (%(decision)s).") % told
    if review.reason == ReviewReason.ADJUDICATION and not review.run.is_finished:
        return _("Review withdrawn: an opinion was undone, so there is no disagreement to settle.")
    return _("Review withdrawn: its run has ended.")


# Skipping: who passes a review over is not given it as the next one again; others are.


@transaction.atomic
def skip_review(review: Review, *, actor: Actor, lease_token: UUID | None = None) -> Review:
    """The review, passed over for `actor` and given back where `lease_token` holds it; skipped twice is skipped once.

    Raises AlreadyDecided, or ReviewLeaseLost where the token holds it no longer; then nothing is changed.
    """
    locked = lock_open(review)
    if lease_token is not None:
        if not locked.is_held or locked.lease_token != lease_token:
            raise lost(locked)
        let_go(locked)
    elif locked.is_held and locked.holder_label == actor.label:
        raise ReviewLeaseLost(_("You claimed this review in another tab. Skip or release it there first."))
    was_kept = actor.user is not None and locked.assignee_id == actor.user.pk
    if was_kept:
        # Kept on for who passes it over, nobody would ever be given it.
        locked.assignee = None
        locked.save(update_fields=["assignee"])
    _skip, is_new = ReviewSkip.objects.get_or_create(review=locked, by_label=actor.label)
    if is_new or was_kept or lease_token is not None:
        told = {"given_back": lease_token is not None, "assignment_ended": was_kept}
        audit(locked.project_id, actor, "review.skipped", target=locked, after=told)
        tell_pages(locked.run_id, project_id=locked.project_id)
    return locked


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
