"""Sending what is still unread by mail, person by person.

Rows are claimed before the letter goes out, so that two workers never send the same; where one dies in between, nobody
is told by mail, but the bell still does. What a server refuses is tried again, later and later, and given up.
"""

import logging
from collections.abc import Sequence
from datetime import datetime, timedelta
from smtplib import SMTPException

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail.backends.smtp import EmailBackend
from django.db import transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from reflection_app.teams.mail import letter_to
from reflection_app.teams.models.notification import Notification
from reflection_app.teams.reading import readable_notices

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
    sent = 0
    server = EmailBackend(alias="default", **settings.MAIL_OPTIONS)
    for user_id in _who_waits(now or timezone.now()):
        try:
            server.open()
        except (SMTPException, OSError) as error:
            # Nothing is claimed, so it is nobody's failure: all is tried again at the next round.
            log.warning("the mail server cannot be reached: %s", type(error).__name__)
            break
        sent += _send_to(user_id, server, now=now or timezone.now())
    _close(server)
    return sent


def _who_waits(now: datetime) -> list[int]:
    """The people with something to be told, who waits longest first."""
    rows = _waiting(now).order_by("created_at").values_list("user", flat=True)
    return list(dict.fromkeys(rows[:MOST_AT_ONCE]))


def _waiting(now: datetime) -> QuerySet[Notification]:
    delay = timedelta(seconds=settings.MAIL_DELAY_S)
    due = Q()
    for failures in range(MOST_FAILURES):
        due |= Q(mail_failures=failures, created_at__lte=now - delay * SLOWER**failures)
    wants_it = Q(user__profile=None) | Q(user__profile__wants_mail=True)
    rows = readable_notices().filter(due, wants_it, mailed_at=None, read_at=None, user__is_active=True)
    return rows.filter(created_at__gt=now - TOLD_WITHIN).exclude(user__email="")


def _send_to(user_id: int, server: EmailBackend, *, now: datetime) -> bool:
    """Whether a letter went out."""
    claimed = _claim(user_id, now=now)
    if not claimed:
        return False
    user = User.objects.get(pk=user_id)
    try:
        return bool(server.send_messages([letter_to(user, claimed)]))
    except (SMTPException, OSError, ValueError) as error:
        # The server's own words would bring the person's address into the log.
        log.warning("mail to user %s was not sent: %s", user_id, type(error).__name__)
        _give_back(claimed)
        # What the connection is in the middle of is not known.
        _close(server)
        return False


def _close(server: EmailBackend) -> None:
    try:
        server.close()
    except (SMTPException, OSError) as error:
        log.warning("the mail server did not say goodbye: %s", type(error).__name__)


@transaction.atomic
def _claim(user_id: int, *, now: datetime) -> list[Notification]:
    """What the person is told of, marked as told: whoever else asks now gets nothing of it."""
    free = _waiting(now).filter(user=user_id).select_for_update(of=("self",), skip_locked=True)
    rows = list(free.select_related("project").order_by("created_at", "id"))
    Notification.objects.filter(pk__in=[row.pk for row in rows]).update(mailed_at=now)
    return rows


def _give_back(rows: Sequence[Notification]) -> None:
    which = Notification.objects.filter(pk__in=[row.pk for row in rows])
    which.update(mailed_at=None, mail_failures=F("mail_failures") + 1)
