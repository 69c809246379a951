"""Invitations: a link, shown once, that makes whoever follows it a member of a project."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.utils import timezone

from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project, Role


class InvitationQuerySet(models.QuerySet["Invitation"]):
    def usable(self) -> "InvitationQuerySet":
        """Invitations that nobody has followed yet, neither revoked nor expired, nor of a key that is."""
        is_of_working_key = Q(created_by_key__isnull=True) | Q(created_by_key__in=ApiKey.objects.usable())
        return self.filter(
            is_of_working_key, accepted_at__isnull=True, revoked_at__isnull=True, expires_at__gt=timezone.now()
        )


class Invitation(models.Model):
    """Only the hash of the link's secret is kept. `email`, where given, is the only account that may use it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="invitations")
    role = models.CharField(max_length=10, choices=Role, default=Role.REVIEWER)
    email = models.EmailField(blank=True, default="")
    digest = models.CharField(max_length=64, unique=True)
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_made"
    )
    created_by_key = models.ForeignKey(
        ApiKey, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_made"
    )
    created_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField()
    accepted_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="invitations_accepted"
    )
    accepted_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = InvitationQuerySet.as_manager()

    class Meta:
        indexes = (
            models.Index(
                fields=("project", "-created_at"),
                name="invitation_open",
                condition=Q(accepted_at__isnull=True, revoked_at__isnull=True),
            ),
        )

    def __str__(self) -> str:
        return f"invitation to {self.project_id}"
