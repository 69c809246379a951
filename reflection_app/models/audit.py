"""The audit trail: who did what to what, before and after. Rows are only ever added."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.conf import settings
from django.contrib.auth.models import User
from django.db import models

from reflection_app.models.api_key import ApiKey
from reflection_app.models.identifiers import new_id
from reflection_app.models.project import Project


@dataclass(frozen=True)
class Actor:
    """Who acts: a person, a pipeline's key, or (neither) the system itself."""

    user: User | None = None
    api_key: ApiKey | None = None
    address: str | None = None

    @property
    def label(self) -> str:
        if self.user:
            return self.user.get_username()
        return f"key {self.api_key.name}" if self.api_key else "system"


class AuditEntry(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="audit_entries")
    # Names are copied: the trail must read the same after a person or a key is gone.
    actor_label = models.CharField(max_length=200)
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    api_key_id = models.UUIDField(null=True)
    action = models.CharField(max_length=60)
    target = models.CharField(max_length=60)
    target_id = models.UUIDField()
    before = models.JSONField(default=dict)
    after = models.JSONField(default=dict)
    address = models.GenericIPAddressField(null=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="audit_newest"),)

    def __str__(self) -> str:
        return f"{self.actor_label}: {self.action}"


def audit(
    project_id: UUID,
    actor: Actor,
    action: str,
    *,
    target: models.Model,
    before: dict[str, Any] | None = None,
    after: dict[str, Any] | None = None,
) -> None:
    """Adds to the trail; call it in the transaction of the change itself."""
    AuditEntry.objects.create(
        project_id=project_id,
        actor_label=actor.label,
        user=actor.user,
        api_key_id=actor.api_key.id if actor.api_key else None,
        action=action,
        target=type(target).__name__.lower(),
        target_id=target.pk,
        before=before or {},
        after=after or {},
        address=actor.address,
    )
