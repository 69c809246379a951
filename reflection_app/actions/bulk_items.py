"""Working a bulk decision through: each item by itself, so that one that fails keeps no other from being decided.

An item's result is written in the transaction of its decision. Whoever comes second, another worker or the same one
after a crash, finds it decided or locked, and passes it over.
"""

import logging
from collections.abc import Callable
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import override

from reflection_app.actions.claim_review import claim_review, release_review
from reflection_app.actions.decide_review import DecisionInput, decide_review
from reflection_app.actions.errors import ActionError, Conflict
from reflection_app.actions.undo_decision import undo_decision
from reflection_app.live.doorbell import ring_reviews
from reflection_app.models import (
    Actor,
    BulkDecision,
    BulkItem,
    BulkItemState,
    BulkState,
    Membership,
    Review,
    Role,
    Run,
    audit,
)
from reflection_app.tasks import enqueue_bulk

log = logging.getLogger(__name__)

LONGEST_ERROR = 1_000
# What an item waits as while the decision is in each of these states, and what it is after that went well, or badly.
STEPS = {
    BulkState.RUNNING: (BulkItemState.PENDING, BulkItemState.DONE, BulkItemState.FAILED),
    BulkState.UNDOING: (BulkItemState.DONE, BulkItemState.UNDONE, BulkItemState.KEPT),
}
ENDS = {BulkState.RUNNING: BulkState.DONE, BulkState.UNDOING: BulkState.UNDONE}

Act = Callable[[BulkDecision, Review], None]


def work_through(bulk_id: UUID) -> None:
    """Decides, or takes back, what is left of the bulk decision; nothing where it is over."""
    bulk = BulkDecision.objects.select_related("user", "api_key", "project").filter(pk=bulk_id).first()
    if bulk is None or not bulk.is_under_way:
        return
    state = BulkState(bulk.state)
    waits, _done, _failed = STEPS[state]
    act = _decide if state is BulkState.RUNNING else _take_back
    with override(bulk.language):
        for item_id in BulkItem.objects.filter(bulk=bulk, state=waits).values_list("pk", flat=True):
            _work_on(bulk, item_id, act, state=state)
    _end(bulk, state=state)


def _work_on(bulk: BulkDecision, item_id: int, act: Act, *, state: BulkState) -> None:
    waits, done, _failed = STEPS[state]
    try:
        with transaction.atomic():
            found = BulkItem.objects.select_for_update(skip_locked=True).filter(pk=item_id, state=waits).first()
            if found is None:
                return
            review = Review.objects.select_related("run__task", "attempt", "verdict", "step").get(pk=found.review_id)
            # As everywhere the run's lock comes before the review's.
            Run.objects.select_for_update().get(pk=review.run_id)
            act(bulk, review)
            found.state = done
            found.save(update_fields=["state"])
    except ActionError as error:
        _fail(item_id, str(error), state=state)
    except Exception:
        # One broken row must keep no other from being decided, now or by the next sweep.
        log.exception("item %s of bulk decision %s", item_id, bulk.pk)
        _fail(item_id, _("The desk failed at this one; the log says why. Decide it by itself."), state=state)


def _fail(item_id: int, why: str, *, state: BulkState) -> None:
    waits, _done, failed = STEPS[state]
    BulkItem.objects.filter(pk=item_id, state=waits).update(state=failed, error=why[:LONGEST_ERROR])


def _decide(bulk: BulkDecision, review: Review) -> None:
    _check_may_review(bulk)
    claimed = claim_review(review, actor=bulk.actor)
    told = DecisionInput.model_validate({**bulk.decision, "lease_token": claimed.lease_token})
    decide_review(review, told, actor=bulk.actor)


def _take_back(bulk: BulkDecision, review: Review) -> None:
    """Takes the decision back and gives the item to everybody again, and not to the one who undoes."""
    _check_may_review(bulk)
    taken_back = undo_decision(review, actor=bulk.actor)
    if taken_back.lease_token is not None:
        release_review(taken_back, lease_token=taken_back.lease_token, actor=bulk.actor)


def _check_may_review(bulk: BulkDecision) -> None:
    """Raises Conflict where whoever began it may no longer decide here."""
    if bulk.api_key is not None and bulk.api_key.is_usable:
        return
    membership = Membership.objects.filter(project=bulk.project_id, user=bulk.user).first() if bulk.user else None
    if membership is None or not membership.may(Role.REVIEWER):
        raise Conflict(_("%(name)s may no longer review in this project.") % {"name": bulk.user_label})


def _end(bulk: BulkDecision, *, state: BulkState) -> None:
    """Ends it where nothing is left; another worker may still have an item."""
    with transaction.atomic():
        locked = BulkDecision.objects.select_for_update().get(pk=bulk.pk)
        if locked.state != state or locked.items.filter(state=STEPS[state][0]).exists():
            return
        locked.state, locked.finished_at = ENDS[state], timezone.now()
        locked.save(update_fields=["state", "finished_at"])
        counts = {name: locked.items.filter(state=name).count() for name in STEPS[state][1:]}
        action = "bulk.done" if state is BulkState.RUNNING else "bulk.undone"
        audit(locked.project_id, bulk.actor, action, target=locked, after={str(name): n for name, n in counts.items()})
        transaction.on_commit(lambda: ring_reviews(bulk.project_id))


@transaction.atomic
def undo_bulk(bulk: BulkDecision, *, actor: Actor) -> BulkDecision:
    """The bulk decision, being taken back item by item by a job. Raises Conflict where it is not over, or was undone.

    What cannot be taken back any more stays decided, with the reason at the item.
    """
    begun = BulkDecision.objects.filter(pk=bulk.pk, state=BulkState.DONE).update(
        state=BulkState.UNDOING, finished_at=None
    )
    if not begun:
        raise Conflict(_("Only a bulk decision that is done can be taken back, and only once."))
    audit(bulk.project_id, actor, "bulk.undo_begun", target=bulk)
    transaction.on_commit(lambda: enqueue_bulk(bulk.pk))
    bulk.refresh_from_db()
    return bulk
