"""Notifications in words of the reader's language, and where they lead."""

from collections.abc import Mapping
from types import MappingProxyType

from django.urls import reverse
from django.utils.translation import gettext as _
from django.utils.translation import gettext_noop

from reflection_app.reviews.models import About
from reflection_app.teams.models.notification import ABOUT_WEBHOOK, Notification, NotificationKind

LONGEST_TITLE = 200


SENTENCES: Mapping[NotificationKind, str] = MappingProxyType(
    {
        NotificationKind.MENTIONED: gettext_noop("%(by)s mentioned you in a comment on “%(title)s”."),
        NotificationKind.COMMENTED: gettext_noop("%(by)s commented on “%(title)s”."),
        NotificationKind.ASSIGNED: gettext_noop("%(by)s assigned the review of “%(title)s” to you."),
        NotificationKind.HANDED_OVER: gettext_noop("%(by)s handed the review of “%(title)s” over to you."),
        NotificationKind.ADJUDICATION: gettext_noop(
            "The reviewers of “%(title)s” do not agree; one more person decides."
        ),
        NotificationKind.DECISION_UNDONE: gettext_noop("%(by)s took your decision on “%(title)s” back."),
        NotificationKind.WEBHOOK_PAUSED: gettext_noop(
            "The webhook to %(title)s is paused: for a day nothing has arrived there."
        ),
        NotificationKind.WEBHOOK_GONE: gettext_noop("The webhook to %(title)s is switched off; its page says why."),
    }
)


def sentence_of(notice: Notification) -> str:
    """What happened, in one line of plain text."""
    said = {"by": _fact(notice, "by"), "title": _fact(notice, "title")}
    return _(SENTENCES[NotificationKind(notice.kind)]) % said


def path_of(notice: Notification) -> str:
    """The address of what it is about, on the desk; nothing where there is no page of it."""
    slug = notice.project.slug
    if notice.about == ABOUT_WEBHOOK:
        return reverse("webhook", args=(slug, notice.about_id))
    place = f"#comment-{notice.comment_id}" if notice.comment_id else ""
    match About(notice.about):
        case About.REVIEW:
            return reverse("review", args=(slug, notice.about_id)) + place
        case About.RUN:
            return reverse("run", args=(slug, notice.about_id)) + place
        case About.ENTRY:
            return reverse("entry", args=(slug, notice.about_id)) + place


def _fact(notice: Notification, name: str) -> str:
    """What is known of it, on one line: titles are texts of anybody's."""
    said = " ".join(str(notice.facts.get(name, "")).split())
    return said if len(said) <= LONGEST_TITLE else said[: LONGEST_TITLE - 1] + "…"
