"""Which queue a review is in: the first whose rule it fits. Kept at the review, as it is opened and as rules change.

Both go by the rules as the database has them. Whoever changes a queue locks the project's row (queues/changing.py),
which waits for reviews that are being opened by the former rules; the others are moved once that is committed.
"""

from collections.abc import Sequence
from functools import partial
from itertools import batched
from uuid import UUID

from django.db import transaction
from django.db.models import Case, F, Q, UUIDField, Value, When
from pydantic import ValidationError

from reflection_app.adapters.live import ring_reviews
from reflection_app.queues.models import ReviewQueue
from reflection_app.reviews.filters import ReviewFilter
from reflection_app.reviews.models import OPEN, Review

AT_ONCE = 2_000
# A condition that holds for all; Django refuses an empty one here.
ALL = Q(pk__isnull=False)
NOTHING = Q(pk__in=[])


def read_rule(queue: ReviewQueue) -> ReviewFilter | None:
    """The rule; None where it names what the desk does not know any more: then no review fits it."""
    try:
        return ReviewFilter.model_validate(queue.rule)
    except ValidationError:
        return None


def _queue_by_rule(queues: Sequence[ReviewQueue]) -> Case:
    """The id of the queue that a review of a query belongs to."""
    cases = []
    for queue in queues:
        rule = read_rule(queue)
        fits = NOTHING if rule is None else rule.conditions() or ALL
        cases.append(When(fits, then=Value(queue.pk, output_field=UUIDField())))
    return Case(*cases, default=None, output_field=UUIDField())


def queues_in_order(project_id: UUID) -> list[ReviewQueue]:
    return list(ReviewQueue.objects.filter(project=project_id, deleted_at=None))


def route(reviews: Sequence[Review]) -> None:
    """Puts reviews of one project that were opened just now into their queue, in the caller's transaction."""
    if not reviews or not (queues := queues_in_order(reviews[0].project_id)):
        return
    rows = Review.objects.filter(pk__in=[review.pk for review in reviews])
    found = dict(rows.annotate(fits=_queue_by_rule(queues)).values_list("pk", "fits"))
    for review in reviews:
        review.queue_id = found[review.pk]
    for queue_id in set(found.values()) - {None}:
        rows.filter(pk__in=[pk for pk, fits in found.items() if fits == queue_id]).update(queue=queue_id)


def reroute(project_id: UUID) -> int:
    """How many open reviews it has put into another queue, by the rules as they are now."""
    queues = queues_in_order(project_id)
    # Not all but the equal: where one of both is null, the database knows neither.
    moves = Q(queue=None, fits__isnull=False) | Q(queue__isnull=False, fits=None)
    moves |= Q(queue__lt=F("fits")) | Q(queue__gt=F("fits"))
    is_open = Review.objects.filter(project=project_id, state__in=OPEN)
    moving = is_open.annotate(fits=_queue_by_rule(queues)).filter(moves).order_by("pk").values_list("pk", "fits")
    moved = 0
    for batch in batched(list(moving), AT_ONCE):
        with transaction.atomic():
            # Locked in one order, so that two who move the same ones wait for each other and not in a circle.
            ids = [pk for pk, _fits in batch]
            locked = Review.objects.select_for_update(of=("self",)).filter(pk__in=ids, state__in=OPEN).order_by("pk")
            still_open = set(locked.values_list("pk", flat=True))
            for queue_id in {fits for _pk, fits in batch}:
                ids = [pk for pk, fits in batch if fits == queue_id and pk in still_open]
                moved += Review.objects.filter(pk__in=ids).update(queue=queue_id)
    if moved:
        ring_reviews(project_id)
    return moved


def reroute_on_commit(project_id: UUID) -> None:
    """Not in the transaction that changes the rules: that holds the project, for which deciders wait."""
    transaction.on_commit(partial(reroute, project_id))
