"""Undo: who decided takes the decision back, with everything that followed from it in the desk.

As long as nobody outside knows of it and nobody has built on it. After that it stands, and a fork decides otherwise.
"""

from typing import Any

from django.db import transaction
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, AuditEntry, audit
from reflection_app.core.errors import Conflict, NotYours, StillStands
from reflection_app.core.own_work import may_undo_others
from reflection_app.reviews.claim_review import gone
from reflection_app.reviews.models.blindness import UNDONE
from reflection_app.reviews.models.comment import About
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.reviews.panel_opinions import reopen_dispute, take_back_opinion
from reflection_app.reviews.take_back import hold_again, take_back
from reflection_app.reviews.take_back_refusals import why_it_stands
from reflection_app.runs.models import Run
from reflection_app.teams.models.notification import Notification, NotificationKind

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
        raise NotYours(_("Only %(who)s and admins can take this back.") % {"who": locked.decided_by_label})
    check_it_can_go(locked, run)
    said, decided_by = said_of(locked), locked.decided_by
    if locked.is_seat:
        take_back_opinion(locked, run, actor=actor)
        facts: dict[str, Any] = {}
        locked.refresh_from_db()
    else:
        facts = take_back(locked, run, actor=actor).facts()
        if locked.panel_id is not None:
            reopen_dispute(locked)
        locked = hold_again(locked, actor=actor)
    audit(run.project_id, actor, UNDONE, target=locked, before=said, after=facts)
    if decided_by is not None and decided_by != actor.user:
        _tell(decided_by, locked, actor=actor)
    return locked


def check_it_can_go(review: Review, run: Run) -> None:
    """Raises StillStands, naming the reason and where a fork would begin, unless the decision can be taken back."""
    if why := why_it_stands(review, run):
        raise StillStands(why, from_step=review.step.seq if review.holds_run and review.step else None)


def may_undo(review: Review, *, actor: Actor) -> bool:
    """Whether `actor` decided it, or is an admin of its project."""
    if actor.user is not None:
        return review.decided_by_id == actor.user.pk or may_undo_others(review.project_id, actor=actor)
    if actor.api_key is None or actor.api_key.project_id != review.project_id:
        return False
    return may_undo_others(review.project_id, actor=actor) or _decided_with(review) == actor.api_key.pk


def _decided_with(review: Review) -> object:
    """The key that the review was decided with. Its label is no proof: keys may have the same name."""
    trail = AuditEntry.objects.filter(target_id=review.pk, action__in=(DECIDED, OPINION)).order_by("-created_at", "-id")
    return trail.values_list("api_key_id", flat=True).first()


def why_nothing_to_undo(review: Review) -> str:
    if review.state == ReviewState.WITHDRAWN:
        return _("The review was withdrawn undecided.")
    trail = AuditEntry.objects.filter(target_id=review.pk, action=UNDONE).order_by("-created_at", "-id").first()
    if trail is not None:
        return _("%(who)s has taken the decision back already.") % {"who": trail.actor_label}
    return _("The review is not decided yet.")


def said_of(review: Review) -> dict[str, Any]:
    """The decision as the audit trail keeps it, for whoever decides anew."""
    opinion = review.get_opinion()
    if opinion is not None:
        return opinion.model_dump(mode="json", exclude={"reviewer"}) | {"by": review.decided_by_label}
    directed, given = review.directors_decision, review.decided_verdict
    return {
        "by": review.decided_by_label,
        "decision": review.decision,
        "directors_decision": directed.value if directed else None,
        "attempt": given.attempt.number if given else None,
        "verdict": given.verdict if given else None,
        "score": given.score if given else None,
        "issues": given.issues if given else [],
        "reason": review.decision_reason,
    }


def taken_back_by_holder(review: Review) -> dict[str, Any] | None:
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


def _tell(decided_by: Any, review: Review, *, actor: Actor) -> None:
    Notification.objects.create(
        project_id=review.project_id,
        user=decided_by,
        kind=NotificationKind.DECISION_UNDONE,
        facts={"by": actor.label, "title": review.run.task.title},
        about=About.REVIEW,
        about_id=review.pk,
    )
