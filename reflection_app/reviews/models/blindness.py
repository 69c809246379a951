"""What several people say blindly of the same verdict is hidden from all others until the last of them has spoken."""

from typing import TYPE_CHECKING
from uuid import UUID

from django.db.models import Exists, OuterRef, Q

from reflection_app.core.audit import Actor
from reflection_app.reviews.models.bulk import BulkDecision, BulkItem
from reflection_app.reviews.models.panel import PanelState
from reflection_app.reviews.models.review import Review, ReviewState

if TYPE_CHECKING:
    from django.db.models import QuerySet


# How the trail calls that a decision was taken back; `before` holds it, and by whom it was given.
UNDONE = "review.undone"


def is_hidden(review: Review, *, reader: Actor | None = None) -> bool:
    """Whether what was decided at this seat is not told to `reader` yet; without a reader, to anybody.

    Only its giver knows it while the panel is open. Ask for reviews with their panel (`select_related("panel")`).
    """
    if not review.is_seat or review.panel is None or review.panel.state != PanelState.OPEN:
        return False
    return reader is None or review.state != ReviewState.DECIDED or review.decided_by_label != reader.label


def seats_of_open_panels(project_id: UUID) -> "QuerySet[Review]":
    """The seats of which nobody may be told what was said there, but who said it."""
    return Review.objects.filter(project=project_id, panel__state=PanelState.OPEN)


def tells_opinions(bulk: BulkDecision, *, reader: Actor) -> bool:
    """Whether what was decided of all would tell `reader` what its giver says at a blind seat."""
    return bulk.user_label != reader.label and _seats_in_bulk().filter(bulk=bulk).exists()


def telling_opinions(*, reader: Actor) -> Q:
    """The bulk decisions that would."""
    return Q(Exists(_seats_in_bulk().filter(bulk=OuterRef("pk")))) & ~Q(user_label=reader.label)


def _seats_in_bulk() -> "QuerySet[BulkItem]":
    """Items of bulk decisions that are seats of open panels. Also one that failed tells what its giver thinks."""
    return BulkItem.objects.filter(review__panel__state=PanelState.OPEN)


def hidden_entries(project_id: UUID, *, reader: Actor) -> Q:
    """The entries of the audit trail whose `before` and `after` are not told to `reader` yet.

    An opinion that was taken back stays hidden, too, though somebody else may sit there by now. So it does from an
    admin who took it back: undoing is no way to read it.
    """
    given = Q(actor_label=reader.label) & ~Q(action=UNDONE)
    own = given | Q(action=UNDONE, before__by=reader.label)
    bulks = _seats_in_bulk().filter(bulk__project=project_id).values("bulk")
    told_there = Q(target="review", target_id__in=seats_of_open_panels(project_id).values("pk"))
    return (told_there | Q(target="bulkdecision", target_id__in=bulks)) & ~own
