"""Notifications: what a person should know of, in the bell of the pages and, where mail is set up, by mail."""

from django.conf import settings
from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.reviews.models import About, Comment


class NotificationKind(models.TextChoices):
    MENTIONED = "mentioned", "Mentioned"
    COMMENTED = "commented", "Commented on"
    ASSIGNED = "assigned", "Assigned"
    HANDED_OVER = "handed_over", "Handed over"
    ADJUDICATION = "adjudication", "Opinions differ"
    DECISION_UNDONE = "decision_undone", "Decision taken back"
    WEBHOOK_PAUSED = "webhook_paused", "Webhook paused"
    WEBHOOK_GONE = "webhook_gone", "Webhook switched off"


# What notifications are about beside the things that people comment on.
ABOUT_WEBHOOK = "webhook"


class Notification(models.Model):
    """`facts` are what its words are made of (who, the title): the words are put together in the reader's language."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="notifications")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="notifications")
    kind = models.CharField(max_length=16, choices=NotificationKind)
    facts = models.JSONField(default=dict)
    about = models.CharField(max_length=8, choices=[*About.choices, (ABOUT_WEBHOOK, "Webhook")])
    about_id = models.UUIDField()
    comment = models.ForeignKey(Comment, null=True, blank=True, on_delete=models.CASCADE, related_name="notifications")
    created_at = models.DateTimeField(auto_now_add=True)
    read_at = models.DateTimeField(null=True, blank=True)
    mailed_at = models.DateTimeField(null=True, blank=True)
    # How often sending it by mail failed.
    mail_failures = models.PositiveSmallIntegerField(default=0)

    class Meta:
        constraints = (
            # A comment that is edited tells nobody twice of the same mention.
            models.UniqueConstraint(
                fields=("user", "comment", "kind"), name="told_of_comment_once", condition=Q(comment__isnull=False)
            ),
        )
        indexes = (
            models.Index(fields=("user", "-created_at", "-id"), name="notification_newest"),
            models.Index(fields=("user", "project"), name="notification_unread", condition=Q(read_at__isnull=True)),
            models.Index(fields=("created_at",), name="notification_unmailed", condition=Q(mailed_at__isnull=True)),
        )

    def __str__(self) -> str:
        return f"{self.kind} for {self.user}"
