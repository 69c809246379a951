"""Notifications as mail: one plain letter for all that waits for a person, in their language.

It holds no words of a comment or an answer: who reads it later may not be allowed to see them any more.
"""

from collections.abc import Sequence

from django.conf import settings
from django.contrib.auth.models import User
from django.core.mail import EmailMessage
from django.urls import reverse
from django.utils import translation
from django.utils.translation import gettext as _
from django.utils.translation import ngettext

from reflection_app.core.models import Profile
from reflection_app.teams.models.notification import Notification
from reflection_app.teams.words import path_of, sentence_of

# A letter with more says how many more there are.
MOST_TOLD = 30


def letter_to(user: User, notices: Sequence[Notification]) -> EmailMessage:
    """The letter that tells `user` of these, the oldest first."""
    profile = Profile.objects.filter(user=user).first()
    language = profile.language if profile and profile.language else settings.LANGUAGE_CODE
    with translation.override(language):
        return EmailMessage(
            subject=_subject(notices),
            body=_body(notices),
            from_email=settings.MAIL_FROM,
            to=[user.email],
            # No answering machine answers to it.
            headers={"Auto-Submitted": "auto-generated"},
        )


def _subject(notices: Sequence[Notification]) -> str:
    if len(notices) == 1:
        return sentence_of(notices[0])
    counted = ngettext("%(count)d notification", "%(count)d notifications", len(notices))
    return _("Reflection Desk: %(counted)s") % {"counted": counted % {"count": len(notices)}}


def _body(notices: Sequence[Notification]) -> str:
    told = [f"{sentence_of(notice)}\n{settings.PUBLIC_URL}{path_of(notice)}" for notice in notices[:MOST_TOLD]]
    more = len(notices) - MOST_TOLD
    if more > 0:
        told.append(ngettext("And %(count)d more.", "And %(count)d more.", more) % {"count": more})
    told.append(
        _("All notifications: %(address)s") % {"address": settings.PUBLIC_URL + reverse("notifications")}
        + "\n"
        + _("Mail can be turned off in your profile: %(address)s")
        % {"address": settings.PUBLIC_URL + reverse("profile")}
    )
    return "\n\n".join(told) + "\n"
