"""Saying which of two answers is better, and taking that back."""

from typing import Annotated
from uuid import UUID, uuid4

from django.db import transaction
from django.db.models import F
from django.utils import timezone
from django.utils.translation import gettext as _
from pydantic import Field

from reflection_app.comparisons.claiming import OF_OPEN_SETS, AlreadyJudged, lost, seats_of
from reflection_app.comparisons.models import JudgementState, Pair, PairJudgement, Preference
from reflection_app.comparisons.sets import refuse_closed
from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import NotFound
from reflection_app.core.models import Project
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.reviews.claiming import lease_end
from reflection_app.reviews.own_work import refuse_own_work

LONGEST_REASON = 10_000


class JudgementInput(Value):
    """What somebody says of the pair that they hold."""

    lease_token: UUID
    choice: Preference
    reason: Annotated[Text, Field(max_length=LONGEST_REASON)] = ""


@transaction.atomic
def judge_pair(seat: PairJudgement, data: JudgementInput, *, actor: Actor) -> PairJudgement:
    """The judgement. Raises AlreadyJudged, HoldLost, SetClosed or OwnWorkRefused; then nothing is changed."""
    pair = Pair.objects.select_for_update(of=("self",)).select_related("set").get(pk=seat.pair_id)
    refuse_closed(pair.set)
    refuse_own_work(pair.handed_in_by, project_id=pair.project_id, actor=actor)
    held = PairJudgement.objects.filter(
        pk=seat.pk, person=actor.person_id, state=JudgementState.CLAIMED, lease_token=data.lease_token
    )
    judged = {
        "state": JudgementState.JUDGED,
        "choice": data.choice,
        "reason": data.reason.strip(),
        "judged_at": timezone.now(),
        "lease_token": None,
        "lease_until": None,
        # Who held it by hand may judge by a key of theirs, and the other way round.
        "by": actor.user,
        "by_label": actor.label,
        "by_key": actor.api_key,
        "is_by_key": actor.api_key is not None,
    }
    if not held.update(**judged):
        raise lost(seat)
    Pair.objects.filter(pk=pair.pk).update(judged=F("judged") + 1)
    seat.refresh_from_db()
    told = {"choice": data.choice.value, "left": seat.left} | ({"reason": seat.reason} if seat.reason else {})
    audit(seat.project_id, actor, "pair.judged", target=seat, after=told)
    return seat


@transaction.atomic
def undo_judgement(seat: PairJudgement, *, actor: Actor) -> PairJudgement:
    """The seat, held again with what was typed as its reason. Raises AlreadyJudged where there is nothing to undo."""
    pair = Pair.objects.select_for_update(of=("self",)).select_related("set").get(pk=seat.pair_id)
    refuse_closed(pair.set)
    seat.refresh_from_db()
    before = {"choice": seat.choice, "left": seat.left}
    mine = PairJudgement.objects.filter(pk=seat.pk, person=actor.person_id, state=JudgementState.JUDGED)
    again = {"state": JudgementState.CLAIMED, "choice": None, "judged_at": None}
    if not mine.update(**again, lease_token=uuid4(), lease_until=lease_end(timezone.now())):
        raise AlreadyJudged(_("Nothing to undo: this judgment was already undone."))
    Pair.objects.filter(pk=pair.pk).update(judged=F("judged") - 1)
    seat.refresh_from_db()
    audit(seat.project_id, actor, "pair.judgement_undone", target=seat, before=before)
    return seat


def get_seat(project: Project, judgement_id: UUID, *, actor: Actor) -> PairJudgement:
    """The actor's own seat, with its pair. Raises NotFound: what others hold and say is nobody else's to see."""
    seats = PairJudgement.objects.select_related("pair__set").filter(project=project, person=actor.person_id)
    seat = seats.filter(pk=judgement_id).first()
    if seat is None:
        raise NotFound(
            _("This pair is not assigned to you. Your lock may have expired and another reviewer claimed it.")
        )
    return seat


def last_judgement(project: Project, *, actor: Actor) -> PairJudgement | None:
    """What `actor` judged last of what is still open, for taking it back."""
    mine = seats_of(project, JudgementState.JUDGED, actor=actor)
    return mine.filter(OF_OPEN_SETS).order_by("-judged_at", "-id").first()
