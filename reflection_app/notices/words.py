"""Notifications in words of the reader's language, and where they lead."""

from django.urls import reverse
from django.utils.translation import gettext as _

from reflection_app.models import ABOUT_WEBHOOK, About, Notification, NotificationKind

LONGEST_TITLE = 200


def sentence_of(notice: Notification) -> str:
    """What happened, in one line of plain text."""
    said = {"by": _fact(notice, "by"), "title": _fact(notice, "title")}
    match NotificationKind(notice.kind):
        case NotificationKind.MENTIONED:
            return _("%(by)s mentioned you in a comment on “%(title)s”.") % said
        case NotificationKind.COMMENTED:
            return _("%(by)s commented on “%(title)s”.") % said
        case NotificationKind.ASSIGNED:
            return _("%(by)s assigned the review of “%(title)s” to you.") % said
        case NotificationKind.HANDED_OVER:
            return _("%(by)s handed the review of “%(title)s” over to you.") % said
        case NotificationKind.ADJUDICATION:
            return _("The reviewers of “%(title)s” do not agree; one more person decides.") % said
        case NotificationKind.DECISION_UNDONE:
            return _("%(by)s took your decision on “%(title)s” back.") % said
        case NotificationKind.WEBHOOK_PAUSED:
            return _("The webhook to %(title)s is paused: for a day nothing has arrived there.") % said
        case NotificationKind.WEBHOOK_GONE:
            return _("The webhook to %(title)s is switched off; its page says why.") % said


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
            return reverse("comments", args=(slug, notice.about, notice.about_id)) + place


def _fact(notice: Notification, name: str) -> str:
    """What is known of it, on one line: titles are texts of anybody's."""
    said = " ".join(str(notice.facts.get(name, "")).split())
    return said if len(said) <= LONGEST_TITLE else said[: LONGEST_TITLE - 1] + "…"
