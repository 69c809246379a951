"""Bulk decisions: begun, then worked through by jobs item by item."""

import logging
from typing import Annotated, Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Exists
from django.utils import timezone
from django.utils.translation import get_language, override
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.adapters.live import ring_reviews
from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.errors import ActionError, Conflict, NotYours, ReviewHeld, wrong
from reflection_app.core.models import Membership, Project
from reflection_app.core.permissions import Permission, member_may
from reflection_app.loops.attempt_effects import Decision
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.claiming import claim_review, release_review, seats_of
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import BulkDecision, BulkItem, BulkItemState, BulkState, Review
from reflection_app.reviews.own_work import may_undo_others
from reflection_app.runs.models import Run
from reflection_app.runs.queueing import WORK_BULK, ask

# Beginning a bulk decision: many reviews, one decision with one reason. Jobs then work it through, item by item.


MOST_ITEMS = 500


class BulkInput(Value):
    """What is decided of every review. Each is decided as by itself: what does not fit one fails for that one alone."""

    reviews: tuple[UUID, ...] = Field(min_length=1, max_length=MOST_ITEMS)
    decision: Decision
    verdict: VerdictName | None = Field(default=None, description="of `overrule`: the verdict that holds instead")
    reason: Annotated[str, Field(max_length=10_000), AfterValidator(storable)] = Field(
        default="", description="one reason for all; needed to overrule"
    )

    def decided(self) -> dict[str, Any]:
        """The decision itself, as each item is decided with it."""
        return self.model_dump(mode="json", include={"decision", "verdict", "reason"})


@transaction.atomic
def begin_bulk(project: Project, data: BulkInput, *, actor: Actor) -> BulkDecision:
    """The bulk decision, to be worked through by a job once this is committed. Raises InvalidInput."""
    if data.decision is Decision.APPROVE:
        if data.verdict is not None:
            raise wrong("verdict", _("Agreeing does not change any verdict. To give a different verdict, overrule."))
    elif data.verdict is None:
        raise wrong("verdict", _("Choose the new verdict."))
    elif not data.reason.strip():
        raise wrong("reason", _("Enter one reason for all reviews."))
    wanted = list(dict.fromkeys(data.reviews))
    known = set(Review.objects.filter(project=project, pk__in=wanted).values_list("pk", flat=True))
    if missing := [str(review_id) for review_id in wanted if review_id not in known]:
        raise wrong("reviews", _("Reviews not found in this project: %(ids)s") % {"ids": ", ".join(missing[:5])})
    bulk = BulkDecision.objects.create(
        project=project,
        user=actor.user,
        user_label=actor.label,
        api_key=actor.api_key,
        address=actor.address,
        language=get_language() or "en",
        decision=data.decided(),
    )
    BulkItem.objects.bulk_create(
        [BulkItem(bulk=bulk, review_id=review_id, position=place) for place, review_id in enumerate(wanted, start=1)]
    )
    audit(project.pk, actor, "bulk.begun", target=bulk, after={**data.decided(), "items": len(wanted)})
    transaction.on_commit(lambda: ask(WORK_BULK, bulk.pk))
    return bulk


# Working a bulk decision through: each item by itself, so that one that fails keeps no other from being decided.
#
# An item's result is written in the transaction of its decision. Whoever comes second, another worker or the same one
# after a crash, finds it decided or locked, and passes it over.

log = logging.getLogger(__name__)

LONGEST_ERROR = 1_000
# What an item waits as while the decision is in each of these states, and what it is after that went well, or badly.
STEPS = {
    BulkState.RUNNING: (BulkItemState.PENDING, BulkItemState.DONE, BulkItemState.FAILED),
    BulkState.UNDOING: (BulkItemState.DONE, BulkItemState.UNDONE, BulkItemState.KEPT),
}
ENDS = {BulkState.RUNNING: BulkState.DONE, BulkState.UNDOING: BulkState.UNDONE}

UNDO_BEGUN = "bulk.undo_begun"


def work_through(bulk_id: UUID) -> None:
    """Decides, or takes back, what is left of the bulk decision; nothing where it is over."""
    bulk = BulkDecision.objects.select_related("user", "api_key", "project").filter(pk=bulk_id).first()
    if bulk is None or not bulk.is_under_way:
        return
    state = BulkState(bulk.state)
    waits, done, failed = STEPS[state]
    actor = bulk.actor
    if state is not BulkState.RUNNING:
        # An admin may take back what somebody else decided, and it is their deed in the trail.
        begun = AuditEntry.objects.filter(target_id=bulk.pk, action=UNDO_BEGUN).order_by("-created_at", "-id").first()
        if begun is not None:
            user = User.objects.filter(pk=begun.user_id).first() if begun.user_id else None
            actor = Actor(user=user, address=begun.address)
    with override(bulk.language):
        for item_id in BulkItem.objects.filter(bulk=bulk, state=waits).values_list("pk", flat=True):
            try:
                with transaction.atomic():
                    item = BulkItem.objects.select_for_update(skip_locked=True).filter(pk=item_id, state=waits).first()
                    if item is None:
                        continue
                    related = Review.objects.select_related("run__task", "attempt", "verdict", "step")
                    review = related.get(pk=item.review_id)
                    # As everywhere the run's lock comes before the review's.
                    Run.objects.select_for_update().get(pk=review.run_id)
                    if state is BulkState.RUNNING:
                        _decide(bulk, review, actor)
                    else:
                        _take_back(bulk, review, actor)
                    item.state = done
                    item.save(update_fields=["state"])
            except Exception as error:
                if isinstance(error, ActionError):
                    why = str(error)
                else:
                    # One broken row must keep no other from being decided, now or by the next sweep.
                    log.exception("item %s of bulk decision %s", item_id, bulk.pk)
                    why = _("Server error; details are in the server log. Open this review and decide it there.")
                BulkItem.objects.filter(pk=item_id, state=waits).update(state=failed, error=why[:LONGEST_ERROR])
    with transaction.atomic():
        locked = BulkDecision.objects.select_for_update().get(pk=bulk.pk)
        # Another worker may have ended it, or still have an item.
        if locked.state == state and not locked.items.filter(state=waits).exists():
            locked.state, locked.finished_at = ENDS[state], timezone.now()
            locked.save(update_fields=["state", "finished_at"])
            counts = {str(name): locked.items.filter(state=name).count() for name in (done, failed)}
            action = "bulk.done" if state is BulkState.RUNNING else "bulk.undone"
            audit(locked.project_id, actor, action, target=locked, after=counts)
            transaction.on_commit(lambda: ring_reviews(bulk.project_id))


def _decide(bulk: BulkDecision, review: Review, actor: Actor) -> None:
    _check_may_review(bulk, actor, name=bulk.user_label)
    if not review.is_seat and Review.objects.filter(pk=review.pk).filter(Exists(seats_of(actor))).exists():
        # Whoever settles a dispute that they are part of is warned on its page, and not here.
        raise ReviewHeld(_("You are already a reviewer on this panel. The other assignments are for other reviewers."))
    claimed = claim_review(review, actor=actor)
    told = DecisionInput.model_validate({**bulk.decision, "lease_token": claimed.lease_token})
    decide_review(review, told, actor=actor)


def _take_back(bulk: BulkDecision, review: Review, actor: Actor) -> None:
    """Takes the decision back and gives the item to everybody again, and not to the one who undoes."""
    _check_may_review(bulk, actor, name=actor.label)
    if review.decided_by_label and review.decided_by_label != bulk.user_label:
        # Taken back by itself meanwhile, and decided anew by somebody else: that is no part of this.
        raise _not_yours(review.decided_by_label)
    taken_back = undo_decision(review, actor=actor)
    if taken_back.lease_token is not None:
        release_review(taken_back, lease_token=taken_back.lease_token, actor=actor)


def _check_may_review(bulk: BulkDecision, actor: Actor, *, name: str) -> None:
    """Raises Conflict where whoever acts may no longer decide here."""
    if actor.api_key is not None and actor.api_key.is_usable:
        return
    user = actor.user if actor.user and actor.user.is_active else None
    membership = Membership.objects.filter(project=bulk.project_id, user=user).first() if user else None
    if membership is None or not member_may(membership, Permission.REVIEW):
        raise Conflict(_("%(name)s can no longer review in this project.") % {"name": name})


def _not_yours(who: str) -> NotYours:
    return NotYours(_("Only %(who)s and admins can undo this.") % {"who": who})


def may_undo_bulk(bulk: BulkDecision, *, actor: Actor) -> bool:
    """Whether `actor` began it, or is an admin of its project."""
    is_own = actor.user is not None and bulk.user_id == actor.user.pk
    return is_own or may_undo_others(bulk.project_id, actor=actor)


@transaction.atomic
def undo_bulk(bulk: BulkDecision, *, actor: Actor) -> BulkDecision:
    """The bulk decision, being taken back item by item by a job.

    Raises NotYours, and Conflict where it is not over, or was undone.
    What cannot be taken back any more stays decided, with the reason at the item.
    """
    if not may_undo_bulk(bulk, actor=actor):
        raise _not_yours(bulk.user_label)
    begun = BulkDecision.objects.filter(pk=bulk.pk, state=BulkState.DONE).update(
        state=BulkState.UNDOING, finished_at=None
    )
    if not begun:
        raise Conflict(_("A bulk decision can be undone once, after it is complete."))
    audit(bulk.project_id, actor, UNDO_BEGUN, target=bulk)
    transaction.on_commit(lambda: ask(WORK_BULK, bulk.pk))
    bulk.refresh_from_db()
    return bulk
