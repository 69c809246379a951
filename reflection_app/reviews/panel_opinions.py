"""Opinions of people who judge the same verdict blindly.

An opinion is kept at its seat, and nothing follows from it before the last one is in. Where all agree, their verdict
comes into force; where they differ, one more review is opened, and whoever takes it decides.
"""

from uuid import uuid4

from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.core.events import EventType, add_event
from reflection_app.reviews.claim_review import lease_end
from reflection_app.reviews.decision_in_force import put_in_force
from reflection_app.reviews.dispute import drop_dispute, open_dispute
from reflection_app.reviews.models.panel import Panel, PanelState
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.panel_consensus import consensus
from reflection_app.reviews.reviewers_decision import Decided
from reflection_app.reviews.take_back import take_back
from reflection_app.reviews.tell_pages import tell_pages
from reflection_app.runs.models import Run, Verdict

SETTLED_WITH = ("decided_verdict_id", "decided_seq", "ordered_run_id")


def keep_opinion(review: Review, run: Run, decided: Decided, *, actor: Actor) -> None:
    """Keeps what was said at the seat, in the caller's transaction that has locked `run` and recorded the decision."""
    panel = _locked(review)
    Review.objects.filter(pk=review.pk).update(opinion=decided.decision.model_dump(mode="json"))
    given = opinions_of(panel)
    # What was said is not in the event: it is told to everybody who may read the run.
    add_event(run, EventType.REVIEW_OPINION, review=str(review.pk), given=len(given), wanted=panel.wanted)
    run.save(update_fields=["last_event_seq"])
    if len(given) >= panel.wanted:
        _complete(panel, review, run, given, decided, actor=actor)
    tell_pages(run.pk, project_id=run.project_id)


def opinions_of(panel: Panel) -> list[Review]:
    """The seats whose opinions are in, first to last."""
    seats = Review.objects.filter(panel=panel, state=ReviewState.DECIDED, opinion__isnull=False)
    return list(seats.order_by("decided_at", "id"))


def _locked(review: Review) -> Panel:
    """The review's panel. The run has to be locked before it, as everywhere."""
    panel_id = review.panel_id
    assert panel_id is not None, "a review of a panel"
    return Panel.objects.select_for_update().get(pk=panel_id)


def _complete(panel: Panel, last: Review, run: Run, given: list[Review], decided: Decided, *, actor: Actor) -> None:
    opinions = [opinion for seat in given if (opinion := seat.get_opinion())]
    agreed = consensus(opinions, thresholds=run.get_spec().thresholds)
    panel.complete_at, panel.agreed = timezone.now(), agreed is not None
    if agreed is None:
        panel.state = PanelState.DISPUTED
        panel.save(update_fields=["state", "complete_at", "agreed"])
        open_dispute(panel, run, actor=actor)
        return
    panel.state, panel.settled_at = PanelState.SETTLED, panel.complete_at
    panel.save(update_fields=["state", "complete_at", "agreed", "settled_at"])
    put_in_force(last, run, Decided(decision=agreed, attempt=decided.attempt), actor=actor)
    settled = Review.objects.get(pk=last.pk)
    # It is the word of all of them, not of the one who happened to be the last.
    Verdict.objects.filter(decided_by_reviews=settled).update(given_by=None)
    Review.objects.filter(pk__in=[seat.pk for seat in given]).update(
        **{name: getattr(settled, name) for name in SETTLED_WITH}
    )
    audit(panel.project_id, actor, "panel.settled", target=panel, after=agreed.model_dump(mode="json"))


def settle_dispute(adjudication: Review, *, actor: Actor) -> None:
    """The panel is settled by the review that was opened because its opinions differ, which was decided just now."""
    panel = _locked(adjudication)
    panel.state, panel.settled_at = PanelState.SETTLED, timezone.now()
    panel.save(update_fields=["state", "settled_at"])
    audit(panel.project_id, actor, "panel.settled", target=panel, after={"adjudication": str(adjudication.pk)})


def take_back_opinion(review: Review, run: Run, *, actor: Actor) -> None:
    """The seat is its giver's again, to be decided anew, and what followed from the opinion is taken back with it.

    Call it in a transaction that has locked `run`. Raises Conflict where others have built on the opinion.
    """
    panel = _locked(review)
    if review.state != ReviewState.DECIDED or panel.state == PanelState.WITHDRAWN:
        raise Conflict(_("There is no opinion that could be taken back: the run has gone on without it."))
    if panel.state == PanelState.SETTLED:
        _take_consensus_back(panel, review, run, actor=actor)
    else:
        if panel.state == PanelState.DISPUTED:
            drop_dispute(panel)
        add_event(run, EventType.REVIEW_UNDONE, review=str(review.pk), by=actor.label)
        run.save(update_fields=["last_event_seq"])
    panel.was_reopened = panel.was_reopened or panel.complete_at is not None
    panel.state, panel.agreed, panel.complete_at, panel.settled_at = PanelState.OPEN, None, None, None
    panel.save(update_fields=["state", "agreed", "complete_at", "settled_at", "was_reopened"])
    _sit_down_again(review)
    tell_pages(run.pk, project_id=run.project_id)


def _take_consensus_back(panel: Panel, seat: Review, run: Run, *, actor: Actor) -> None:
    if not panel.agreed:
        raise Conflict(_("The dispute about it is settled. Undo the decision that settled it first."))
    take_back(seat, run, actor=actor)


def _sit_down_again(review: Review) -> None:
    Review.objects.filter(pk=review.pk).update(
        state=ReviewState.CLAIMED,
        holder=review.decided_by,
        holder_label=review.decided_by_label,
        lease_token=uuid4(),
        lease_until=lease_end(timezone.now()),
        opinion=None,
        decision=None,
        decision_reason="",
        decided_by=None,
        decided_by_label="",
        decided_by_key=None,
        decided_at=None,
    )


def reopen_dispute(adjudication: Review) -> None:
    """The decision that settled the dispute was taken back: opinions differ again, and it waits for another one."""
    panel = _locked(adjudication)
    panel.state, panel.settled_at = PanelState.DISPUTED, None
    panel.save(update_fields=["state", "settled_at"])
