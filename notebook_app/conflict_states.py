"""What becomes of an entry's conflicts when it no longer holds, or holds again."""

from django.db.models import Q, QuerySet

from notebook_app.life import HOLDING
from notebook_app.models import Conflict, ConflictState, Entry, Settlement

# Settled by taking one of the two away: there again, it is to be settled anew.
BY_TAKING_AWAY = (Settlement.MERGED, Settlement.SUPERSEDED)


def follow_entry(entry: Entry) -> None:
    """Makes the open conflicts of an entry that holds no more moot, and opens them again once both sides hold.

    The entry's row is locked by the caller. The conflicts are locked before the other sides are looked at: of two
    entries that change at the same moment, the second to come sees what the first one did.
    """
    rows = Conflict.objects.select_for_update(of=("self",)).filter(Q(first=entry) | Q(second=entry)).order_by("pk")
    conflicts = list(rows)
    if entry.state not in HOLDING:
        open_ones = [one.pk for one in conflicts if one.state == ConflictState.OPEN]
        Conflict.objects.filter(pk__in=open_ones).update(state=ConflictState.MOOT)
        return
    others = {one.second_id if one.first_id == entry.pk else one.first_id for one in conflicts}
    held = set(Entry.objects.filter(pk__in=others, state__in=HOLDING).values_list("pk", flat=True)) | {entry.pk}
    back = [one.pk for one in conflicts if _comes_back(one) and {one.first_id, one.second_id} <= held]
    reopen(Conflict.objects.filter(pk__in=back))


def _comes_back(conflict: Conflict) -> bool:
    return conflict.state == ConflictState.MOOT or (
        conflict.state == ConflictState.SETTLED and conflict.settlement in BY_TAKING_AWAY
    )


def reopen(conflicts: QuerySet[Conflict]) -> int:
    """How many of the conflicts are open now, as if nobody had settled them."""
    return conflicts.update(state=ConflictState.OPEN, settlement="", settled_by_label="", settled_at=None, reason="")
