"""Beginning a bulk decision: many reviews, one decision with one reason. Jobs then work it through, item by item."""

from collections.abc import Sequence
from typing import Annotated, Any
from uuid import UUID

from django.db import transaction
from django.utils.translation import get_language
from django.utils.translation import gettext as _
from pydantic import AfterValidator, Field

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.loops.effects import Decision
from reflection_app.loops.storable import storable
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.reviews.models.bulk import BulkDecision, BulkItem
from reflection_app.reviews.models.review import Review
from reflection_app.runs.jobs import enqueue_bulk

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
def begin_bulk(project: Project, told: BulkInput, *, actor: Actor) -> BulkDecision:
    """The bulk decision, to be worked through by a job once this is committed. Raises InvalidInput."""
    _check(told)
    wanted = list(dict.fromkeys(told.reviews))
    known = set(Review.objects.filter(project=project, pk__in=wanted).values_list("pk", flat=True))
    if missing := [str(review_id) for review_id in wanted if review_id not in known]:
        why = _("This project has no such review: %(ids)s") % {"ids": ", ".join(missing[:5])}
        raise InvalidInput(why, errors=[{"field": "reviews", "message": why}])
    bulk = BulkDecision.objects.create(
        project=project,
        user=actor.user,
        user_label=actor.label,
        api_key=actor.api_key,
        address=actor.address,
        language=get_language() or "en",
        decision=told.decided(),
    )
    _add_items(bulk, wanted)
    audit(project.pk, actor, "bulk.begun", target=bulk, after={**told.decided(), "items": len(wanted)})
    transaction.on_commit(lambda: enqueue_bulk(bulk.pk))
    return bulk


def _check(told: BulkInput) -> None:
    if told.decision is Decision.APPROVE:
        if told.verdict is not None:
            raise _wrong("verdict", _("To agree keeps each verdict as it is; overrule to give another."))
        return
    if told.verdict is None:
        raise _wrong("verdict", _("Choose the verdict that holds instead."))
    if not told.reason.strip():
        raise _wrong("reason", _("Say why: one reason for all of them."))


def _wrong(field: str, why: str) -> InvalidInput:
    return InvalidInput(why, errors=[{"field": field, "message": why}])


def _add_items(bulk: BulkDecision, reviews: Sequence[UUID]) -> None:
    BulkItem.objects.bulk_create(
        [BulkItem(bulk=bulk, review_id=review_id, position=place) for place, review_id in enumerate(reviews, start=1)]
    )
