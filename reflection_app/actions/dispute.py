"""A dispute: opinions that were given blindly differ, and one more person decides, who sees them all."""

from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.actions.errors import Conflict
from reflection_app.loops.effects import ReviewReason
from reflection_app.models import (
    About,
    Actor,
    EventType,
    Membership,
    Notification,
    NotificationKind,
    Panel,
    Review,
    ReviewState,
    Role,
    Run,
    add_event,
    audit,
)

MAY_REVIEW = [role for role in Role if role.rank >= Role.REVIEWER.rank]


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
    )
    add_event(run, EventType.REVIEW_OPENED, review=str(review.pk), reason=review.reason)
    run.save(update_fields=["last_event_seq"])
    audit(panel.project_id, actor, "panel.disputed", target=panel, after={"adjudication": str(review.pk)})
    _notify(review, run)
    return review


def adjudication_of(panel: Panel) -> Review | None:
    """The review that settles the panel's dispute, open or decided."""
    of_panel = Review.objects.filter(panel=panel, reason=ReviewReason.ADJUDICATION)
    return of_panel.exclude(state=ReviewState.WITHDRAWN).order_by("created_at", "id").last()


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


def _notify(review: Review, run: Run) -> None:
    """Tells those who gave no opinion; where everybody has, all of them, since one of them has to settle it then."""
    reviewers = Membership.objects.filter(project=review.project_id, role__in=MAY_REVIEW, user__is_active=True)
    involved = Review.objects.filter(panel=review.panel_id, state=ReviewState.DECIDED).values_list("decided_by")
    ids = list(reviewers.values_list("user_id", flat=True))
    gave = {user_id for (user_id,) in involved}
    others = [user_id for user_id in ids if user_id not in gave]
    Notification.objects.bulk_create(
        Notification(
            project_id=review.project_id,
            user_id=user_id,
            kind=NotificationKind.ADJUDICATION,
            facts={"title": run.task.title},
            about=About.REVIEW,
            about_id=review.pk,
        )
        for user_id in others or ids
    )
