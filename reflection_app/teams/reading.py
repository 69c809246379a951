"""Which comments and notifications somebody may read.

At a blind seat of a panel a comment would tell the others an opinion: until the last opinion is in, nobody but its
author sees it, and what it tells anybody of is held back for as long.
"""

from uuid import UUID

from django.db.models import Exists, OuterRef, Q, QuerySet

from reflection_app.core.models import Membership
from reflection_app.loops.effects import ReviewReason
from reflection_app.reviews.models import About, Comment, PanelState, Review
from reflection_app.teams.models.notification import Notification

MOST_COUNTED = 100


def blind_seats() -> QuerySet[Review]:
    """The seats of panels that still wait for an opinion."""
    return Review.objects.filter(panel__state=PanelState.OPEN).exclude(reason=ReviewReason.ADJUDICATION)


def is_blind(about: str, about_id: UUID) -> bool:
    """Whether what is said there is for nobody else's eyes yet."""
    return about == About.REVIEW and blind_seats().filter(pk=about_id).exists()


def comments_seen_by(reader_label: str, *, project_id: UUID) -> QuerySet[Comment]:
    """The project's comments that this person or key may read, oldest first."""
    is_held_back = Exists(blind_seats().filter(pk=OuterRef("about_id")))
    readable = Q(author_label=reader_label) | ~is_held_back
    return Comment.objects.filter(readable, project=project_id).order_by("created_at", "id")


def readable_notices() -> QuerySet[Notification]:
    """The notifications that their people may read now: of projects that they are still members of, not held back."""
    of_members = Exists(Membership.objects.filter(project=OuterRef("project"), user=OuterRef("user")))
    is_held_back = Exists(blind_seats().filter(pk=OuterRef("about_id")))
    return Notification.objects.filter(of_members, Q(comment=None) | ~is_held_back)


def notices_of(user_id: int) -> QuerySet[Notification]:
    """What this person is told of, the newest first."""
    return readable_notices().filter(user=user_id).select_related("project").order_by("-created_at", "-id")


def count_unread(user_id: int) -> int:
    """How many are unread; nobody needs to know of more than a hundred."""
    return readable_notices().filter(user=user_id, read_at=None)[:MOST_COUNTED].count()
