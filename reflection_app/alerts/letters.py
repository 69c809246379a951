"""Digests by mail: one plain letter for each member who wants one, in their language, with a link that ends them.

The row of a letter is written before it is sent, so that two workers never send the same. Where one dies in between,
nobody is sent that letter; what a server refuses is tried again within the same morning.
"""

from collections.abc import Iterator
from datetime import date, datetime, timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.core import signing
from django.core.mail import EmailMessage
from django.db import transaction
from django.db.models import F, Q
from django.urls import reverse
from django.utils import timezone, translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.alerts.digests import Digested, day_due, digest_of
from reflection_app.alerts.models import DigestLetter
from reflection_app.core.models import Digest, Membership, Profile, Project
from reflection_app.reviews.models import Review
from reflection_app.teams.notifications import MailServer, one_line

LEASE = timedelta(minutes=10)
MOST_FAILURES = 5
MOST_AT_ONCE = 200
# What an address says of whom it unsubscribes, and that this desk wrote it. It holds for ever, as RFC 8058 asks.
SALT = "reflection-desk: digests"


def token_of(user: User) -> str:
    return signing.dumps(user.pk, salt=SALT)


def unsubscribe(token: str) -> bool:
    """Ends the digests of the person whom the token names; whether it names one."""
    user = reader_of(token)
    if user is None:
        return False
    Profile.objects.filter(user=user).update(digest="")
    return True


def reader_of(token: str) -> User | None:
    """The person whom the token names; None where this desk did not write it, or they have gone."""
    try:
        return User.objects.filter(pk=signing.loads(token, salt=SALT)).first()
    except signing.BadSignature:
        return None


def send_due_digests(now: datetime | None = None) -> int:
    """Sends the digests that are due; how many letters went out. Nothing where mail is off."""
    if not settings.MAIL_OPTIONS:
        return 0
    now, sent, server = now or timezone.now(), 0, MailServer()
    for member, period, day in _due(now):
        # Else nothing is claimed, so it is nobody's failure: all is tried again at the next round.
        if not server.answers():
            break
        letter = _claim(member, period, day=day, now=now)
        if letter is None:
            continue
        told = digest_of(member.project, period, day=day, now=now, reader=member)
        mine = DigestLetter.objects.filter(pk=letter.pk)
        if told.is_empty:
            mine.update(is_empty=True, sent_at=now, lease_until=None)
        elif server.accepts(letter_to(member, told, period=period, now=now), user_id=member.user_id):
            mine.update(sent_at=now, lease_until=None)
            sent += 1
        else:
            mine.update(failures=F("failures") + 1, lease_until=now)
    server.close()
    return sent


def _due(now: datetime) -> Iterator[tuple[Membership, Digest, date]]:
    """The members whose digest is due and was not begun, with the day that it is of."""
    wanting = Membership.objects.filter(
        user__profile__digest__in=Digest.values, user__is_active=True, project__deleted_at=None
    ).exclude(user__email="")
    days: dict[tuple[Project, Digest], date | None] = {}
    found = 0
    for member in wanting.select_related("project", "user__profile").order_by("project", "pk").iterator():
        period = Digest(member.user.profile.digest)
        where = (member.project, period)
        if where not in days:
            days[where] = day_due(member.project, period, now=now)
        day = days[where]
        if day is None or _settled(member, period, day=day, now=now):
            continue
        yield member, period, day
        found += 1
        if found >= MOST_AT_ONCE:
            return


def _settled(member: Membership, period: Digest, *, day: date, now: datetime) -> bool:
    letters = DigestLetter.objects.filter(project=member.project_id, user=member.user_id, period=period, day=day)
    is_over = Q(sent_at__isnull=False) | Q(failures__gte=MOST_FAILURES) | Q(failures=0) | Q(lease_until__gt=now)
    return letters.filter(is_over).exists()


@transaction.atomic
def _claim(member: Membership, period: Digest, *, day: date, now: datetime) -> DigestLetter | None:
    """The letter, which the caller is to send; None where another worker does, or has."""
    of_day = {"project_id": member.project_id, "user_id": member.user_id, "period": period.value, "day": day}
    fresh = DigestLetter(**of_day, lease_until=now + LEASE)
    DigestLetter.objects.bulk_create([fresh], ignore_conflicts=True)
    letter = DigestLetter.objects.select_for_update().get(**of_day)
    if letter.pk == fresh.pk:
        return letter
    is_refused = letter.sent_at is None and 0 < letter.failures < MOST_FAILURES
    if not is_refused or (letter.lease_until is not None and letter.lease_until > now):
        return None
    letter.lease_until = now + LEASE
    letter.save(update_fields=["lease_until"])
    return letter


def letter_to(member: Membership, told: Digested, *, period: Digest, now: datetime) -> EmailMessage:
    """The letter, in the reader's language; of what others wrote it holds titles and names alone."""
    profile, project = member.user.profile, member.project
    with translation.override(profile.language or settings.LANGUAGE_CODE):
        name = " ".join(project.name.split())
        if told.overdue:
            subject = _("%(project)s: %(waiting)s waiting, %(overdue)s overdue")
        elif told.reviews or told.questions:
            subject = _("%(project)s: %(waiting)s waiting")
        else:
            subject = _("%(project)s: nothing waiting")
        facts = {"project": name, "waiting": told.reviews + told.questions, "overdue": told.overdue}
        end = settings.PUBLIC_URL + reverse("unsubscribe", args=(token_of(member.user),))
        return EmailMessage(
            subject=subject % facts,
            body="\n\n".join([*_parts(project, told, period=period, now=now), *_footer(end)]) + "\n",
            from_email=settings.MAIL_FROM,
            to=[member.user.email],
            headers={
                "Auto-Submitted": "auto-generated",
                # RFC 8058: mail programs unsubscribe with one POST, without asking.
                "List-Unsubscribe": f"<{end}>",
                "List-Unsubscribe-Post": "List-Unsubscribe=One-Click",
            },
        )


def _parts(project: Project, told: Digested, *, period: Digest, now: datetime) -> Iterator[str]:
    def address(page: str, *args: object) -> str:
        return str(settings.PUBLIC_URL + reverse(page, args=(project.slug, *args)))

    def listed(reviews: tuple[Review, ...]) -> str:
        return "\n".join(f"- {one_line(one.run.task.title)}\n  {address('review', one.pk)}" for one in reviews)

    if told.reviews or told.questions:
        reviews = ngettext("%(count)d review is waiting.", "%(count)d reviews are waiting.", told.reviews) % {
            "count": told.reviews
        }
        questions = ngettext("%(count)d question is waiting.", "%(count)d questions are waiting.", told.questions)
        counted = [reviews] if told.reviews else []
        counted += [questions % {"count": told.questions}] if told.questions else []
        if told.overdue:
            counted.append(_("Past the SLA target: %(number)s.") % {"number": told.overdue})
        yield " ".join(counted) + "\n" + address("reviews")
    if told.mine:
        yield _("Assigned to you:") + "\n" + listed(told.mine)
    if told.late:
        yield _("Overdue, oldest first:") + "\n" + listed(told.late)
    if told.decided:
        words = _("Decided in the last day: %(number)s") if period is Digest.DAILY else ""
        words = words or _("Decided in the last week: %(number)s")
        own = ", " + _("%(number)s by you") % {"number": told.decided_by_reader}
        decided = words % {"number": told.decided} + (own if told.decided_by_reader else "")
        yield f"{decided}\n{address('reviews')}?view=decided"
    if told.proposed:
        words = _("Lessons proposed in the last day: %(number)s") if period is Digest.DAILY else ""
        words = words or _("Lessons proposed in the last week: %(number)s")
        names = "".join(f"\n- {one_line(name)}" for name in told.proposed_names)
        yield words % {"number": told.proposed} + names + "\n" + address("notebook_inbox")


def _footer(end: str) -> Iterator[str]:
    profile = settings.PUBLIC_URL + reverse("profile")
    yield _("Change the frequency in your profile: %(address)s") % {"address": profile} + (
        "\n" + _("Unsubscribe: %(address)s") % {"address": end}
    )
