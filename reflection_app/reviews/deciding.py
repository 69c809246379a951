"""Deciding a review, and undoing the decision."""

from typing import Any

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.errors import Conflict, NotYours, StillStands, wrong
from reflection_app.loops.attempt_effects import EditDecision, EditedAnswer
from reflection_app.reviews.claiming import gone, hold_end, lost
from reflection_app.reviews.decisions import DecisionInput, decided_by, put_in_force
from reflection_app.reviews.editing import edited_by, facts_of, keep_correction, why_not_edited
from reflection_app.reviews.models import UNDONE, About, Review, ReviewState
from reflection_app.reviews.own_work import may_undo_others, refuse_own_work
from reflection_app.reviews.panels import keep_opinion, reopen_dispute, settle_dispute, take_back_opinion
from reflection_app.reviews.undo import hold_again, take_back, why_it_stands
from reflection_app.runs.models import Run
from reflection_app.teams.models import Notification, NotificationKind

# Deciding a review: who holds it says what becomes of the verdict, once and for all others.


WRITTEN = (
    *("state", "lease_token", "lease_until", "decision", "decision_reason", "edited_answer"),
    *("decided_by", "decided_by_label"),
    *("decided_by_key", "decided_at", "opinion", "decided_verdict", "decided_seq", "ordered_run", "panel"),
)


def decide_review(review: Review, data: DecisionInput, *, actor: Actor) -> Review:
    """The decided review.

    Raises AlreadyDecided or ReviewLeaseLost (nothing changed), InvalidInput, or OwnWorkRefused.
    """
    if data.decision is EditDecision.EDIT:
        # Code takes long to check the text, and does so for nobody but who may decide.
        hold_end(review, lease_token=data.lease_token)
    return _decide(review, data, edited=edited_by(review, data), actor=actor)


@transaction.atomic
def _decide(review: Review, data: DecisionInput, *, edited: EditedAnswer | None, actor: Actor) -> Review:
    # The run's lock comes first everywhere (cancel_run, the journal), so that nobody waits in a circle.
    run = Run.objects.select_for_update(of=("self",)).select_related("task").get(pk=review.run_id)
    # Whoever's token they came by, and whatever was handed in since they claimed it.
    refuse_own_work({*review.handed_in_by, *run.handed_in_by}, project_id=review.project_id, actor=actor)
    if edited is not None and (why := why_not_edited(review, run)):
        raise wrong("decision", why)
    decided = decided_by(review, data, actor=actor, edited=edited)
    # Keeps what was said. Lease and state are checked by the very UPDATE that does, so of two reviewers one wins.
    now = timezone.now()
    held = Review.objects.filter(
        pk=review.pk, state=ReviewState.CLAIMED, lease_token=data.lease_token, lease_until__gt=now
    )
    if review.is_seat:
        # Nobody judges twice, whoever's token they came by.
        held = held.filter(holder_person=actor.person_id)
    recorded = held.update(
        state=ReviewState.DECIDED,
        decision=decided.decision.decision.value,
        decision_reason=decided.decision.reason,
        edited_answer=edited.content if edited else None,
        decided_by=actor.user,
        decided_by_label=actor.label,
        decided_by_key=actor.api_key,
        decided_at=now,
        lease_token=None,
        lease_until=None,
    )
    if not recorded:
        raise lost(review)
    if review.is_seat:
        keep_opinion(review, run, decided, actor=actor)
    else:
        put_in_force(review, run, decided, actor=actor)
        if edited is not None and not review.holds_run:
            keep_correction(review, run, edited, actor=actor)
        if review.panel_id:
            settle_dispute(review, actor=actor)
    as_director = None if edited else review.directors_decision_with(decided.decision.verdict.value)
    named: dict[str, Any] = {"directors_decision": as_director.value} if as_director else {}
    if edited is not None:
        named |= {"edited": facts_of(review, edited)}
    audit(
        review.project_id,
        actor,
        "review.opinion" if review.is_seat else "review.decided",
        target=review,
        before={"attempt": review.attempt.number, "verdict": review.verdict.verdict, "score": review.verdict.score},
        after={"attempt": decided.attempt.number}
        | named
        | decided.decision.model_dump(mode="json", exclude={"reviewer", "picked", "edited"}),
    )
    # The run as it is now; what was read of the attempt stays, for whoever tells of the decision.
    review.refresh_from_db(fields=WRITTEN)
    review.run = run
    return review


# Undo: who decided takes the decision back, with everything that followed from it in the desk.
#
# As long as nobody outside knows of it and nobody has built on it. After that it stands, and a fork decides otherwise.

DECIDED = "review.decided"
# What is decided at one of several blind seats.
OPINION = "review.opinion"


@transaction.atomic
def undo_decision(review: Review, *, actor: Actor) -> Review:
    """The review, undecided again and held by `actor`; its run waits as before the decision.

    Raises NotYours; StillStands, with the reason; and Conflict where there is no decision. Of two at once one wins.
    """
    # The run's lock comes first everywhere, so that nobody waits in a circle.
    run = Run.objects.select_for_update().get(pk=review.run_id)
    related = ("step", "attempt", "verdict", "decided_verdict__attempt", "ordered_run", "decided_by")
    locked = Review.objects.select_related(*related).select_for_update(of=("self",)).filter(pk=review.pk).first()
    if locked is None:
        raise gone()
    if locked.state != ReviewState.DECIDED:
        raise Conflict(why_nothing_to_undo(locked))
    if not may_undo(locked, actor=actor):
        raise NotYours(_("Only %(who)s and admins can undo this.") % {"who": locked.decided_by_label})
    if why := why_it_stands(locked, run):
        # With where a fork would begin, which decides otherwise.
        raise StillStands(why, from_step=locked.step.seq if locked.holds_run and locked.step else None)
    said, decided_by = decision_facts(locked), locked.decided_by
    if locked.is_seat:
        take_back_opinion(locked, run, actor=actor)
        facts: dict[str, Any] = {}
        locked.refresh_from_db()
    else:
        facts = take_back(locked, run, actor=actor)
        if locked.panel_id is not None:
            reopen_dispute(locked)
        locked = hold_again(locked, actor=actor)
    audit(run.project_id, actor, UNDONE, target=locked, before=said, after=facts)
    if decided_by is not None and decided_by != actor.user:
        Notification.objects.create(
            project_id=locked.project_id,
            user=decided_by,
            kind=NotificationKind.DECISION_UNDONE,
            facts={"by": actor.label, "title": locked.run.task.title},
            about=About.REVIEW,
            about_id=locked.pk,
        )
    return locked


def may_undo(review: Review, *, actor: Actor) -> bool:
    """Whether `actor` decided it, or is an admin of its project."""
    if actor.user is not None:
        return review.decided_by_id == actor.user.pk or may_undo_others(review.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != review.project_id:
        return False
    # By the key itself: its label is no proof, since keys may have the same name.
    return review.decided_by_key_id == actor.api_key.pk or may_undo_others(review.project_id, actor=actor)


def why_nothing_to_undo(review: Review) -> str:
    if review.state == ReviewState.WITHDRAWN:
        return _("The review was withdrawn without a decision.")
    trail = AuditEntry.objects.filter(target_id=review.pk, action=UNDONE).order_by("-created_at", "-id").first()
    if trail is not None:
        return _("%(who)s already undid the decision.") % {"who": trail.actor_label}
    return _("The review is still undecided.")


def decision_facts(review: Review) -> dict[str, Any]:
    """The decision as the audit trail keeps it, for whoever decides anew."""
    opinion = review.get_opinion()
    if opinion is not None:
        return opinion.model_dump(mode="json", exclude={"reviewer", "edited"}) | {"by": review.decided_by_label}
    directed, given = review.directors_decision, review.decided_verdict
    return {
        "by": review.decided_by_label,
        "decision": review.decision,
        "edited": review.is_edited,
        "directors_decision": directed.value if directed else None,
        "attempt": given.attempt.number if given else None,
        "verdict": given.verdict if given else None,
        "score": given.score if given else None,
        "issues": given.issues if given else [],
        "ratings": given.ratings if given else [],
        "reason": review.decision_reason,
    }


def undone_by_holder(review: Review) -> dict[str, Any] | None:
    """What was decided before it was taken back, for who took it back or had decided it and holds it now, else None.

    What was said at a blind seat is for nobody but who said it.
    """
    trail = AuditEntry.objects.filter(target_id=review.pk, action__in=(DECIDED, OPINION, UNDONE))
    last = trail.order_by("-created_at", "-id").first()
    if last is None or last.action != UNDONE:
        return None
    allowed = {last.before.get("by")} | (set() if review.is_seat else {last.actor_label})
    if review.holder_label not in allowed:
        return None
    before: dict[str, Any] = last.before
    return before
