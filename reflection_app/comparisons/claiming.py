"""Giving people pairs: the one that was judged least first, none twice to the same person, nobody their own work.

A seat at a pair is held by a lease. Once that has run out the seat is still its person's, until somebody else needs it:
who thought for long and finds it there may judge all the same. All that changes who sits at a pair locks the pair.
"""

from dataclasses import dataclass
from datetime import datetime
from secrets import choice as drawn
from typing import Any
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import Count, Exists, F, IntegerField, OuterRef, Q, QuerySet, Subquery
from django.db.models.functions import Coalesce
from django.dispatch import receiver
from django.utils import timezone
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.comparisons.models import JudgementState, Pair, PairJudgement, Side
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.core.models import Project
from reflection_app.core.rights import review_right_ended, without_review_right
from reflection_app.reviews.claiming import lease_end
from reflection_app.reviews.own_work import work_of_others

SEATED = (JudgementState.CLAIMED, JudgementState.JUDGED)
OF_OPEN_SETS = Q(pair__set__closed_at__isnull=True)
# A try fails only where somebody else has just taken the very pair.
TRIES = 50


class HoldLost(Conflict):
    """Your hold on this pair ran out, and somebody else has it."""

    title = gettext_noop("Lock expired")
    slug = "lease-lost"


class AlreadyJudged(Conflict):
    """You have judged this pair, or passed it over."""

    title = gettext_noop("Already judged")


def claim_next(project: Project, *, actor: Actor, set_id: UUID | None = None) -> PairJudgement | None:
    """The seat that `actor` holds, else one at the pair that was judged least; None where nothing is left for them.

    Two callers never have more seats at a pair between them than it wants.
    """
    for _try in range(TRIES):
        with transaction.atomic():
            mine = held_by(project, actor=actor, set_id=set_id).select_for_update(of=("self",)).first()
            if mine is not None:
                mine.lease_until = lease_end(timezone.now())
                mine.save(update_fields=["lease_until"])
                return mine
            least = free_pairs(project, actor=actor, set_id=set_id).order_by("judged", "id")
            pair_id = least.values_list("pk", flat=True).first()
            if pair_id is None:
                return None
            pair = Pair.objects.select_for_update(of=("self",)).filter(pk=pair_id).first()
            seat = _take_seat(pair, actor=actor) if pair is not None else None
            if seat is not None:
                audit(project.pk, actor, "pair.claimed", target=seat)
                return seat
    return None


def seats_of(
    project: Project, state: JudgementState, *, actor: Actor, set_id: UUID | None = None
) -> QuerySet[PairJudgement]:
    """The actor's seats in this state; of all sets, unless one is named."""
    seats = PairJudgement.objects.filter(project=project, person=actor.person_id, state=state)
    return seats.filter(pair__set=set_id) if set_id else seats


def held_by(project: Project, *, actor: Actor, set_id: UUID | None = None) -> QuerySet[PairJudgement]:
    """The seats of open sets that `actor` holds, or held and nobody else took, oldest first."""
    seats = seats_of(project, JudgementState.CLAIMED, actor=actor, set_id=set_id)
    return seats.filter(OF_OPEN_SETS).order_by("created_at", "id")


def free_pairs(project: Project, *, actor: Actor, set_id: UUID | None = None) -> QuerySet[Pair]:
    """The pairs that `actor` can be given now: of open sets, with a seat left, at which they never sat."""
    seats = PairJudgement.objects.filter(pair=OuterRef("pk"))
    held = seats.filter(state=JudgementState.CLAIMED, lease_until__gt=timezone.now()).order_by().values("pair")
    pairs = Pair.objects.filter(
        work_of_others(project, actor=actor),
        ~Exists(seats.filter(person=actor.person_id)),
        project=project,
        set__closed_at__isnull=True,
        judged__lt=F("wanted"),
    )
    pairs = pairs.filter(set=set_id) if set_id else pairs
    count = Subquery(held.annotate(count=Count("*")).values("count"), output_field=IntegerField())
    return pairs.alias(held=Coalesce(count, 0)).filter(judged__lt=F("wanted") - F("held"))


def _take_seat(pair: Pair, *, actor: Actor) -> PairJudgement | None:
    """A seat at the pair, which is locked; None where all are taken, or the actor sat there meanwhile."""
    now = timezone.now()
    seats = list(PairJudgement.objects.filter(pair=pair).order_by("lease_until", "id"))
    if any(seat.person == actor.person_id for seat in seats):
        return None
    seated = [seat for seat in seats if seat.state in SEATED]
    left_alone = [seat for seat in seated if is_left_alone(seat, now=now)]
    if len(seated) - len(left_alone) >= pair.wanted:
        return None
    for seat in left_alone[: max(0, len(seated) - pair.wanted + 1)]:
        # Its person may have come back this very moment, which locks the seat and not the pair.
        gone, _of_each = PairJudgement.objects.filter(
            pk=seat.pk, state=JudgementState.CLAIMED, lease_until__lte=now
        ).delete()
        if not gone:
            return None
    return PairJudgement.objects.create(
        project_id=pair.project_id,
        pair=pair,
        person=actor.person_id,
        by=actor.user,
        by_label=actor.label,
        by_key=actor.api_key,
        is_by_key=actor.api_key is not None,
        left=drawn(Side.values),
        lease_token=uuid4(),
        lease_until=lease_end(now),
    )


def is_left_alone(seat: PairJudgement, *, now: datetime) -> bool:
    """Whether its hold has run out, so that it is whoever's needs it."""
    return seat.state == JudgementState.CLAIMED and seat.lease_until is not None and seat.lease_until <= now


def lost(seat: PairJudgement) -> Conflict:
    """Why a token does not hold the seat, as the present state tells it."""
    state = PairJudgement.objects.filter(pk=seat.pk).values_list("state", flat=True).first()
    if state == JudgementState.JUDGED:
        return AlreadyJudged(_("You already judged this pair. Nothing was changed."))
    if state == JudgementState.SKIPPED:
        return AlreadyJudged(_("You skipped this pair. Nothing was changed."))
    if state is None:
        return HoldLost(_("Your lock on this pair expired and another reviewer claimed it. Nothing was saved."))
    return HoldLost(_("You claimed this pair again in another tab. Nothing was saved."))


# Passing over: who does is not given the pair again; others are.


@transaction.atomic
def skip_pair(seat: PairJudgement, *, lease_token: UUID, actor: Actor) -> PairJudgement:
    """The seat, passed over. Raises AlreadyJudged or HoldLost."""
    Pair.objects.select_for_update().get(pk=seat.pair_id)
    held = PairJudgement.objects.filter(pk=seat.pk, state=JudgementState.CLAIMED, lease_token=lease_token)
    if not held.update(state=JudgementState.SKIPPED, lease_token=None, lease_until=None, reason=""):
        raise lost(seat)
    seat.refresh_from_db()
    audit(seat.project_id, actor, "pair.skipped", target=seat)
    return seat


@transaction.atomic
def unskip_pairs(project: Project, *, actor: Actor, set_id: UUID | None = None) -> int:
    """How many pairs may come to `actor` again."""
    skipped = skipped_by(project, actor=actor, set_id=set_id)
    gone = list(PairJudgement.objects.filter(pk__in=skipped).select_for_update(of=("self",)).order_by("pk"))
    for seat in gone:
        audit(project.pk, actor, "pair.unskipped", target=seat)
    PairJudgement.objects.filter(pk__in=[seat.pk for seat in gone], state=JudgementState.SKIPPED).delete()
    return len(gone)


def skipped_by(project: Project, *, actor: Actor, set_id: UUID | None = None) -> QuerySet[PairJudgement]:
    """What `actor` passed over and could still judge."""
    seats = seats_of(project, JudgementState.SKIPPED, actor=actor, set_id=set_id)
    return seats.filter(OF_OPEN_SETS, pair__judged__lt=F("pair__wanted"))


# Ending holds.


@receiver(review_right_ended, dispatch_uid="end-comparisons-of-person")
def _end_seats_of_person(*, project_id: UUID, user_id: int, actor: Actor, **_signal: Any) -> None:
    """Delete those that are held and not judged, so that their pairs are offered to others."""
    seats = PairJudgement.objects.filter(project=project_id, person=user_id, state=JudgementState.CLAIMED)
    for seat in seats.select_for_update(of=("self",)).order_by("pk"):
        audit(seat.project_id, actor, "pair.released", target=seat, before={"holder": seat.by_label})
        seat.delete()


def comparisons_without_right() -> set[tuple[UUID, int]]:
    """Return the project and person of each pair held by a person who may not review."""
    held = PairJudgement.objects.filter(state=JudgementState.CLAIMED, person__isnull=False)
    return without_review_right(held, project="project", person="person")


# How far somebody has got.


@dataclass(frozen=True)
class Progress:
    """What a person has judged, what they hold or can be given now, and what they passed over."""

    judged: int
    left: int
    skipped: int

    @property
    def total(self) -> int:
        return self.judged + self.left

    @property
    def place(self) -> int:
        """Which one of all the pair at hand is."""
        return min(self.judged + 1, self.total)


def progress_of(project: Project, *, actor: Actor, set_id: UUID | None = None) -> Progress:
    judged = seats_of(project, JudgementState.JUDGED, actor=actor, set_id=set_id)
    return Progress(
        judged=(judged if set_id else judged.filter(OF_OPEN_SETS)).count(),
        left=free_pairs(project, actor=actor, set_id=set_id).count()
        + held_by(project, actor=actor, set_id=set_id).count(),
        skipped=skipped_by(project, actor=actor, set_id=set_id).count(),
    )
