"""Notifications: telling people, and noting what they have read."""

from collections.abc import Iterable
from uuid import UUID

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import Q
from django.utils import timezone

from reflection_app.adapters.doorbell import ring_reviews
from reflection_app.core.audit import Actor
from reflection_app.core.models import Membership, Role
from reflection_app.core.permissions import Permission, roles_that_may
from reflection_app.reviews.models import About, Comment, Review, ReviewState
from reflection_app.teams.models.notification import ABOUT_WEBHOOK, Notification, NotificationKind
from reflection_app.teams.models.webhook import Webhook
from reflection_app.teams.reading import notices_of

MAY_REVIEW = roles_that_may(Permission.REVIEW)
# A title is a line; the page and the mail bound it again.
LONGEST_FACT = 300


def notify(
    kind: NotificationKind,
    *,
    users: Iterable[int | None],
    project_id: UUID,
    about: str,
    about_id: UUID,
    actor: Actor,
    title: str,
    comment: Comment | None = None,
) -> int:
    """Tells the members among `users`, but not who did it; how many were told. Call it in the change's transaction."""
    wanted = {user for user in users if user is not None} - ({actor.user.pk} if actor.user else set())
    if not wanted:
        return 0
    members = Membership.objects.filter(project=project_id, user__in=wanted, user__is_active=True)
    facts = {"by": actor.label[:LONGEST_FACT], "title": title[:LONGEST_FACT]}
    rows = [
        Notification(
            project_id=project_id,
            user_id=user_id,
            kind=kind.value,
            facts=facts,
            about=str(about),
            about_id=about_id,
            comment=comment,
        )
        for user_id in members.values_list("user", flat=True)
    ]
    # Of a comment that is edited, each is told once.
    Notification.objects.bulk_create(rows, ignore_conflicts=True)
    transaction.on_commit(lambda: ring_reviews(project_id))
    return len(rows)


def tell_of_review(kind: NotificationKind, review: Review, *, users: Iterable[int | None], actor: Actor) -> int:
    """Tells of something that happened to a review."""
    return notify(
        kind,
        users=users,
        project_id=review.project_id,
        about=About.REVIEW,
        about_id=review.pk,
        actor=actor,
        title=review.run.task.title,
    )


def tell_of_adjudication(review: Review, *, actor: Actor) -> int:
    """Tells the reviewers who had no seat on the panel that its dispute waits for one of them.

    Where everybody sat there, all are told: one of them has to settle it then.
    """
    sat = Review.objects.filter(panel=review.panel_id, state=ReviewState.DECIDED).exclude(pk=review.pk)
    free = Membership.objects.filter(project=review.project_id, role__in=MAY_REVIEW, user__is_active=True)
    everybody = set(free.values_list("user", flat=True))
    others = everybody - set(sat.values_list("decided_by", flat=True))
    who = actor if others else Actor()
    return tell_of_review(NotificationKind.ADJUDICATION, review, users=others or everybody, actor=who)


def tell_admins(kind: NotificationKind, webhook: Webhook, *, title: str) -> int:
    """Tells the project's admins of something that the desk did to a webhook."""
    admins = Membership.objects.filter(project=webhook.project_id, role=Role.ADMIN)
    return notify(
        kind,
        users=list(admins.values_list("user", flat=True)),
        project_id=webhook.project_id,
        about=ABOUT_WEBHOOK,
        about_id=webhook.pk,
        actor=Actor(),
        title=title,
    )


def read_notice(user: User, notice_id: UUID) -> bool:
    """Whether it is the person's, and read from now on."""
    return bool(_read(user, Q(pk=notice_id)) or notices_of(user.pk).filter(pk=notice_id).exists())


def read_all(user: User) -> int:
    """How many were unread."""
    return _read(user, Q())


def read_about(user: User, *, project_id: UUID, about: About, about_id: UUID) -> int:
    """Notes that the person has opened what these are about; how many were unread."""
    return _read(user, Q(project=project_id, about=about.value, about_id=about_id))


def _read(user: User, which: Q) -> int:
    unread = notices_of(user.pk).filter(which, read_at=None).select_related(None).order_by()
    return Notification.objects.filter(pk__in=unread.values("pk"), read_at=None).update(read_at=timezone.now())
