"""Notifications: telling people, and noting what they have read."""

import logging
from collections.abc import Iterable, Mapping, Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException
from types import MappingProxyType
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.core.mail.backends.smtp import EmailBackend
from django.db import transaction
from django.db.models import Exists, F, OuterRef, Q, QuerySet
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop, ngettext

from reflection_app.adapters.live import ring_reviews
from reflection_app.core.audit import Actor
from reflection_app.core.errors import shortened
from reflection_app.core.models import Membership, Profile, Role
from reflection_app.core.permissions import Permission, roles_that_may
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.reviews.models import About, Comment, PanelState, Review, ReviewState
from reflection_app.teams.models import Notification, NotificationKind, Outlet

# Notifications in words of the reader's language, and where they lead.

LONGEST_TITLE = 200


SENTENCES: Mapping[NotificationKind, str] = MappingProxyType(
    {
        NotificationKind.MENTIONED: gettext_noop("%(by)s mentioned you in a comment on “%(title)s”."),
        NotificationKind.COMMENTED: gettext_noop("%(by)s commented on “%(title)s”."),
        NotificationKind.ASSIGNED: gettext_noop("%(by)s assigned the review of “%(title)s” to you."),
        NotificationKind.HANDED_OVER: gettext_noop("%(by)s reassigned the review of “%(title)s” to you."),
        NotificationKind.ADJUDICATION: gettext_noop(
            "The reviewers of “%(title)s” disagree; one more decision is needed."
        ),
        NotificationKind.DECISION_UNDONE: gettext_noop("%(by)s undid your decision on “%(title)s”."),
        NotificationKind.WEBHOOK_PAUSED: gettext_noop(
            "The webhook to %(title)s is paused: no message was delivered for a day."
        ),
        NotificationKind.WEBHOOK_GONE: gettext_noop(
            "The webhook to %(title)s was disabled. See its page for the reason."
        ),
        NotificationKind.CHANNEL_OFF: gettext_noop(
            "The channel “%(title)s” was disabled. See its page for the reason."
        ),
        NotificationKind.OVERDUE: gettext_noop("“%(title)s” exceeded the project's SLA target."),
        NotificationKind.ENTRY_FLAGGED: gettext_noop(
            "The safety check flagged the approved entry “%(title)s”. Clear, edit or retire it."
        ),
    }
)


def sentence_of(notice: Notification) -> str:
    """What happened, in one line of plain text."""
    # Titles are texts of anybody's.
    said = {name: one_line(notice.facts.get(name, "")) for name in ("by", "title")}
    if (others := _others(notice)) > 0:
        sentence = ngettext(
            "“%(title)s” and %(count)d other exceeded the project's SLA target.",
            "“%(title)s” and %(count)d others exceeded the project's SLA target.",
            others,
        )
        return sentence % (said | {"count": others})
    return _(SENTENCES[NotificationKind(notice.kind)]) % said


def path_of(notice: Notification) -> str:
    """The address of what it is about, on the desk; nothing where there is no page of it."""
    slug = notice.project.slug
    if notice.kind == NotificationKind.OVERDUE and _others(notice) > 0:
        return reverse("reviews", args=(slug,)) + "?sort=oldest"
    place = f"#comment-{notice.comment_id}" if notice.comment_id else ""
    # Pages are called like what they show.
    return reverse(notice.about, args=(slug, notice.about_id)) + place


def _others(notice: Notification) -> int:
    """Of how many more things the notification tells than of the one that it names."""
    others = notice.facts.get("others", 0)
    return others if isinstance(others, int) else 0


# Notifications as mail: one plain letter for all that waits for a person, in their language.
#
# It holds no words of a comment or an answer: who reads it later may not be allowed to see them any more.

# A letter with more says how many more there are.
MOST_TOLD = 30


def letter_to(user: User, notices: Sequence[Notification]) -> EmailMessage:
    """The letter that tells `user` of these, the oldest first."""
    profile = Profile.objects.filter(user=user).first()
    language = profile.language if profile and profile.language else settings.LANGUAGE_CODE
    with translation.override(language):
        if len(notices) == 1:
            subject = sentence_of(notices[0])
        else:
            counted = ngettext("%(count)d notification", "%(count)d notifications", len(notices))
            subject = _("Reflection Desk: %(counted)s") % {"counted": counted % {"count": len(notices)}}
        parts = [f"{sentence_of(notice)}\n{settings.PUBLIC_URL}{path_of(notice)}" for notice in notices[:MOST_TOLD]]
        more = len(notices) - MOST_TOLD
        if more > 0:
            parts.append(ngettext("And %(count)d more.", "And %(count)d more.", more) % {"count": more})
        parts.append(
            _("All notifications: %(address)s") % {"address": settings.PUBLIC_URL + reverse("notifications")}
            + "\n"
            + _("Turn off email in your profile: %(address)s") % {"address": settings.PUBLIC_URL + reverse("profile")}
        )
        return EmailMessage(
            subject=subject,
            body="\n\n".join(parts) + "\n",
            from_email=settings.MAIL_FROM,
            to=[user.email],
            # No answering machine answers to it.
            headers={"Auto-Submitted": "auto-generated"},
        )


# Which comments and notifications somebody may read.
#
# At a blind seat of a panel a comment would tell the others an opinion: until the last opinion is in, nobody but its
# author sees it, and what it tells anybody of is held back for as long.

# Pages show "99+" for more.
MOST_UNREAD = 99


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


def unread_notices(user_id: int) -> QuerySet[Notification]:
    return readable_notices().filter(user=user_id, read_at=None)


def count_unread(user_id: int) -> int:
    """How many are unread, up to the first that is too many to show."""
    return unread_notices(user_id)[: MOST_UNREAD + 1].count()


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
    others: int = 0,
) -> int:
    """Tells the members among `users`, but not who did it; how many were told. Call it in the change's transaction.

    `others` is of how many more things of the kind this tells.
    """
    wanted = {user for user in users if user is not None} - ({actor.user.pk} if actor.user else set())
    if not wanted:
        return 0
    members = Membership.objects.filter(project=project_id, user__in=wanted, user__is_active=True)
    facts: dict[str, str | int] = {"by": actor.label[:LONGEST_FACT], "title": title[:LONGEST_FACT]}
    facts |= {"others": others} if others else {}
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


def tell_admins(kind: NotificationKind, outlet: Outlet, *, project_id: UUID, about: str, title: str) -> int:
    """Tells the project's admins of something that the desk did to a webhook or a channel."""
    admins = Membership.objects.filter(project=project_id, role=Role.ADMIN).values_list("user", flat=True)
    return notify(
        kind, users=list(admins), project_id=project_id, about=about, about_id=outlet.pk, actor=Actor(), title=title
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


# Sending what is still unread by mail, person by person.
#
# Rows are claimed before the letter goes out, so that two workers never send the same; where one dies in between,
# nobody is told by mail, but the bell still does. What a server refuses is tried again, later and later, and given
# up.

log = logging.getLogger(__name__)

# After each failure the next try comes this many times later than the one before: 2 min, 8 min, half an hour, 2 h, 8 h.
SLOWER = 4
MOST_FAILURES = 5
# What is older is no news: mail that is set up later does not tell of everything that ever was unread.
TOLD_WITHIN = timedelta(days=2)
MOST_AT_ONCE = 200


def send_waiting_mail(now: datetime | None = None) -> int:
    """Tells everybody of what they have not read for a while; how many letters went out. Nothing where mail is off."""
    if not settings.MAIL_OPTIONS:
        return 0
    sent, server = 0, MailServer()
    # Who waits longest first.
    waiting = _waiting(now or timezone.now()).order_by("created_at").values_list("user", flat=True)
    for user_id in dict.fromkeys(waiting[:MOST_AT_ONCE]):
        # Else nothing is claimed, so it is nobody's failure: all is tried again at the next round.
        if not server.answers():
            break
        # Marked as told: whoever else asks now gets nothing of it.
        claimed_at = now or timezone.now()
        with transaction.atomic():
            free = _waiting(claimed_at).filter(user=user_id).select_for_update(of=("self",), skip_locked=True)
            claimed = list(free.select_related("project").order_by("created_at", "id"))
            Notification.objects.filter(pk__in=[row.pk for row in claimed]).update(mailed_at=claimed_at)
        if not claimed:
            continue
        if server.accepts(letter_to(User.objects.get(pk=user_id), claimed), user_id=user_id):
            sent += 1
        else:
            which = Notification.objects.filter(pk__in=[row.pk for row in claimed])
            which.update(mailed_at=None, mail_failures=F("mail_failures") + 1)
    server.close()
    return sent


def _waiting(now: datetime) -> QuerySet[Notification]:
    delay = timedelta(seconds=settings.MAIL_DELAY_S)
    due = Q()
    for failures in range(MOST_FAILURES):
        due |= Q(mail_failures=failures, created_at__lte=now - delay * SLOWER**failures)
    wants_it = Q(user__profile=None) | Q(user__profile__wants_mail=True)
    rows = readable_notices().filter(due, wants_it, mailed_at=None, read_at=None, user__is_active=True)
    return rows.filter(created_at__gt=now - TOLD_WITHIN).exclude(user__email="")


class MailServer:
    """The mail server of the settings, over one connection that is opened when it is needed."""

    def __init__(self) -> None:
        self._backend = EmailBackend(alias="default", **settings.MAIL_OPTIONS)

    def answers(self) -> bool:
        """Return True if the connection is open; otherwise log why not."""
        try:
            self._backend.open()
        except (SMTPException, OSError) as error:
            log.warning("the mail server cannot be reached: %s", type(error).__name__)
            return False
        return True

    def accepts(self, letter: EmailMessage, *, user_id: int) -> bool:
        """Send the letter and return True; log a refusal, and begin with a new connection after it."""
        try:
            self._backend.send_messages([letter])
        except (SMTPException, OSError, ValueError) as error:
            # The server's own words would bring the person's address into the log.
            log.warning("mail to user %s was not sent: %s", user_id, type(error).__name__)
            # What the connection is in the middle of is not known.
            self.close()
            return False
        return True

    def close(self) -> None:
        try:
            self._backend.close()
        except (SMTPException, OSError) as error:
            log.warning("the mail server did not say goodbye: %s", type(error).__name__)


def one_line(text: object) -> str:
    """Return somebody's text on one line of a bounded length."""
    return shortened(" ".join(str(text).split()), LONGEST_TITLE)
