"""Keys of pipelines: hashed, scoped, expiring, shown once."""

import hashlib
import secrets

from django.conf import settings
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone

from reflection_app.core.identifiers import new_id
from reflection_app.core.models.project import Project

PREFIX = "rd_"


class Scope(models.TextChoices):
    TASKS_WRITE = "tasks:write"
    RUNS_READ = "runs:read"
    REVIEWS_WRITE = "reviews:write"
    NOTEBOOK_READ = "notebook:read"
    NOTEBOOK_WRITE = "notebook:write"
    METRICS_READ = "metrics:read"
    ADMIN = "admin"


def digest_of(secret: str) -> str:
    """What is stored of a key. The key has 256 random bits, so a fast hash is no weakness."""
    return hashlib.sha256(secret.encode()).hexdigest()


def new_secret() -> str:
    return PREFIX + secrets.token_urlsafe(32)


class ApiKeyQuerySet(models.QuerySet["ApiKey"]):
    def usable(self) -> "ApiKeyQuerySet":
        """Keys that are neither revoked nor expired."""
        alive = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
        return self.filter(alive, revoked_at__isnull=True)


class ApiKey(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="api_keys")
    name = models.CharField(max_length=120)
    hint = models.CharField(max_length=12, help_text="the first characters, so that people can tell keys apart")
    digest = models.CharField(max_length=64, unique=True)
    scopes = ArrayField(models.CharField(max_length=20, choices=Scope))
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    # Stays when the person goes; empty where the desk's own command made the key.
    created_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    expires_at = models.DateTimeField(null=True, blank=True)
    last_used_at = models.DateTimeField(null=True, blank=True)
    revoked_at = models.DateTimeField(null=True, blank=True)

    objects = ApiKeyQuerySet.as_manager()

    class Meta:
        ordering = ("-created_at",)

    def __str__(self) -> str:
        return self.name

    @property
    def is_usable(self) -> bool:
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())

    def has_scope(self, scope: Scope) -> bool:
        return scope.value in self.scopes or Scope.ADMIN.value in self.scopes
