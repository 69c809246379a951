"""Projects and their members, profiles, API keys, and the answers kept for repeated requests."""

import hashlib
import secrets
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.contrib.postgres.fields import ArrayField
from django.db import models
from django.db.models import Q
from django.utils import timezone
from django.utils.functional import cached_property

from reflection_app.core.ids import new_id
from reflection_app.loops.completeness.checks import (
    CompletenessSettings,
    SettingsFrom,
)
from reflection_app.loops.project_settings import NotebookSettings, RetentionSettings, WaitingSettings
from reflection_app.loops.task_spec import Limits, ReviewPolicy, Thresholds

# Projects, the tenants: members, settings, and everything else hangs on one.


class ProjectQuerySet(models.QuerySet["Project"]):
    def of(self, user: User | AnonymousUser) -> "ProjectQuerySet":
        """The projects that `user` is a member of."""
        if not isinstance(user, User):
            return self.none()
        return self.filter(memberships__user=user, deleted_at__isnull=True)


class OwnWork(models.TextChoices):
    """Who may decide on their own submissions, made in person or with any API key that they created."""

    NOBODY = "nobody", "Nobody"
    PEOPLE = "people", "People"
    EVERYBODY = "everybody", "People and keys"


class Project(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    slug = models.SlugField(max_length=60, unique=True)
    name = models.CharField(max_length=120)
    limits = models.JSONField(default=dict, blank=True)
    thresholds = models.JSONField(default=dict, blank=True)
    review_policy = models.JSONField(default=dict, blank=True)
    # No part of the policy, which runs keep as they began with it: this holds from the moment that it is changed.
    own_work = models.CharField(max_length=10, choices=OwnWork, default=OwnWork.NOBODY)
    models_by_role = models.JSONField(default=dict, blank=True)
    completeness = models.JSONField(default=dict, blank=True)
    notebook = models.JSONField(default=dict, blank=True)
    retention = models.JSONField(default=dict, blank=True)
    # Goals for what waits for people, and the time zone of the project.
    waiting = models.JSONField(default=dict, blank=True)
    # Somebody deleted it: nobody sees it any more, and the worker takes it away piece by piece.
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The tool that is asked for knowledge which an agent lacks; a person is asked where there is none.
    knowledge_tool = models.CharField(max_length=64, blank=True, default="")
    # Made-up work that shows what the desk does; there is one at a time.
    is_demo = models.BooleanField(default=False, editable=False)
    # Whether a task is refused whose external id another one has.
    unique_external_ids = models.BooleanField(default=False)
    # Models that a task may name for its roles, of those that the desk offers.
    allowed_models = models.JSONField(default=list, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("name",)
        constraints = (
            models.UniqueConstraint(
                fields=("is_demo",), name="project_one_demo", condition=Q(is_demo=True, deleted_at__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return self.name

    def get_limits(self) -> Limits:
        return Limits.model_validate(self.limits)

    def get_thresholds(self) -> Thresholds:
        return Thresholds.model_validate(self.thresholds)

    def get_completeness(self) -> CompletenessSettings:
        """Return the project's own settings in front of the server's."""
        return CompletenessSettings.model_validate(settings.COMPLETENESS | self.completeness)

    def completeness_from(self) -> SettingsFrom:
        """Return who set what `get_completeness` gives."""
        return SettingsFrom.PROJECT if self.completeness else SettingsFrom.DESK

    def get_notebook(self) -> NotebookSettings:
        return NotebookSettings.model_validate(self.notebook)

    def get_retention(self) -> RetentionSettings:
        return RetentionSettings.model_validate(self.retention)

    def get_waiting(self) -> WaitingSettings:
        return WaitingSettings.model_validate(self.waiting)

    def get_review_policy(self) -> ReviewPolicy:
        return ReviewPolicy.model_validate(self.review_policy)


class Role(models.TextChoices):
    """Role of a member. Each role includes the permissions of the roles before it."""

    VIEWER = "viewer", "Viewer"
    REVIEWER = "reviewer", "Reviewer"
    CURATOR = "curator", "Curator"
    ADMIN = "admin", "Admin"

    @property
    def rank(self) -> int:
        return list(Role).index(self)


class Membership(models.Model):
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="memberships")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="memberships")
    role = models.CharField(max_length=10, choices=Role, default=Role.REVIEWER)
    # The key whose invitation made them a member, until a person gives them a role: who came by a key goes with it.
    invited_by_key = models.ForeignKey(
        "ApiKey", null=True, blank=True, on_delete=models.SET_NULL, related_name="brought_members"
    )
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "user"), name="membership_once"),)

    def __str__(self) -> str:
        return f"{self.user} in {self.project}"

    def may(self, role: Role) -> bool:
        """Whether this member may do what `role` may."""
        return Role(self.role).rank >= role.rank


# What a person sets for themselves, in all projects.


class Theme(models.TextChoices):
    LIGHT = "light", "Light"
    DARK = "dark", "Dark"


class Digest(models.TextChoices):
    """How often somebody is sent a letter about each of their projects."""

    DAILY = "daily", "Daily"
    WEEKLY = "weekly", "Weekly"


class Profile(models.Model):
    user = models.OneToOneField(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="profile")
    # Empty: as the browser says.
    language = models.CharField(max_length=10, blank=True, default="")
    # Empty: as the system says.
    theme = models.CharField(max_length=5, blank=True, default="", choices=Theme)
    wants_mail = models.BooleanField(default=True)
    # Empty: none.
    digest = models.CharField(max_length=6, blank=True, default="", choices=Digest)
    # The password was made up by a command, and printed.
    must_change_password = models.BooleanField(default=False)

    def __str__(self) -> str:
        return f"profile of {self.user}"


# Keys of pipelines: hashed, scoped, expiring, shown once.

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
        """Return the keys that are neither revoked nor expired, and whose maker's account is active."""
        alive = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
        return self.of_active_makers().filter(alive, revoked_at__isnull=True)

    def of_active_makers(self) -> "ApiKeyQuerySet":
        """Return the keys without those of disabled accounts."""
        return self.exclude(created_by__is_active=False)


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
    def is_current(self) -> bool:
        """True if the key is neither revoked nor expired."""
        return self.revoked_at is None and (self.expires_at is None or self.expires_at > timezone.now())

    @property
    def is_usable(self) -> bool:
        """True if `ApiKey.objects.usable()` has the key."""
        return self.is_current and (self.created_by is None or self.created_by.is_active)

    @cached_property
    def granted_scopes(self) -> frozenset[str]:
        """The scopes in force. `admin` is not, once the key's maker is no longer an admin of the project.

        Keys of the `create_api_key` command have no maker and keep it.
        """
        scopes = frozenset(self.scopes)
        if Scope.ADMIN.value not in scopes or (self.created_by_id is None and not self.created_by_label):
            return scopes
        makers = Membership.objects.filter(project=self.project_id, user=self.created_by_id or 0, role=Role.ADMIN)
        return scopes if makers.exists() else scopes - {Scope.ADMIN.value}

    def has_scope(self, scope: Scope) -> bool:
        return scope.value in self.granted_scopes or Scope.ADMIN.value in self.granted_scopes


# Answers already given, so that a repeated request is answered again and not carried out again.

# A pipeline that repeats a request does so within minutes or hours, not days.
KEPT_FOR = timedelta(days=2)


class IdempotentAnswer(models.Model):
    """Written in the same transaction as what the request caused. `status` is null while that is under way."""

    api_key = models.ForeignKey(ApiKey, on_delete=models.CASCADE, related_name="+")
    key = models.CharField(max_length=200)
    fingerprint = models.CharField(max_length=64, help_text="hash of method, path and body")
    status = models.PositiveSmallIntegerField(null=True)
    body = models.JSONField(null=True)
    # The one that was answered, of an edit; else nothing.
    etag = models.CharField(max_length=40, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True, db_index=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("api_key", "key"), name="idempotency_key_once"),)

    def __str__(self) -> str:
        return self.key


def forget_old_answers() -> int:
    """Deletes the answers that nobody will ask for again; how many there were."""
    return IdempotentAnswer.objects.filter(created_at__lt=timezone.now() - KEPT_FOR).delete()[0]
