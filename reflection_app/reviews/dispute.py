"""A dispute: opinions that were given blindly differ, and one more person decides, who sees them all."""

from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import Conflict
from reflection_app.core.events import EventType, add_event
from reflection_app.loops.effects import ReviewReason
from reflection_app.reviews.models.comment import About
from reflection_app.reviews.models.panel import Panel
from reflection_app.reviews.models.review import Review, ReviewState
from reflection_app.runs.models import Run
from reflection_app.teams.models.notification import Notification, NotificationKind
from reflection_app.teams.notifications import tell_of_adjudication


def open_dispute(panel: Panel, run: Run, *, actor: Actor) -> Review:
    """The review that settles it, in the transaction of the opinion that made the dispute."""
    review = Review.objects.create(
        project_id=panel.project_id,
        run=run,
        attempt_id=panel.attempt_id,
        verdict_id=panel.verdict_id,
        step_id=panel.step_id,
        panel=panel,
        reason=ReviewReason.ADJUDICATION.value,
        holds_run=panel.holds_run,
        handed_in_by=run.handed_in_by,
    )
    add_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=review.reason)
    run.save(update_fields=["last_event_seq"])
    audit(panel.project_id, actor, "panel.disputed", target=panel, after={"adjudication": str(review.pk)})
    tell_of_adjudication(review, actor=actor)
    return review


def drop_dispute(panel: Panel) -> None:
    """Withdraws the review that was to settle it. Raises Conflict where somebody is at it, or has decided."""
    review = (
        Review.objects.select_for_update()
        .filter(panel=panel, reason=ReviewReason.ADJUDICATION, state__in=(ReviewState.WAITING, ReviewState.CLAIMED))
        .first()
    )
    if review is None:
        raise Conflict(_("The dispute about it is settled. Undo the decision that settled it first."))
    if review.state == ReviewState.CLAIMED and review.lease_until and review.lease_until > timezone.now():
        raise Conflict(
            _("%(who)s is settling the dispute about it. Nothing was changed.") % {"who": review.holder_label}
        )
    review.state, review.lease_token, review.lease_until = ReviewState.WITHDRAWN, None, None
    review.save(update_fields=["state", "lease_token", "lease_until"])
    Notification.objects.filter(about=About.REVIEW, about_id=review.pk, kind=NotificationKind.ADJUDICATION).delete()
