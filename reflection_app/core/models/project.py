"""Projects, the tenants: members, settings, and everything else hangs on one."""

from django.conf import settings
from django.contrib.auth.models import AnonymousUser, User
from django.db import models

from reflection_app.core.identifiers import new_id
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.notebook_settings import NotebookSettings
from reflection_app.loops.retention_settings import RetentionSettings
from reflection_app.loops.review_rules import ReviewPolicy
from reflection_app.loops.task_spec import Limits, Thresholds


class ProjectQuerySet(models.QuerySet["Project"]):
    def of(self, user: User | AnonymousUser) -> "ProjectQuerySet":
        """The projects that `user` is a member of."""
        if not isinstance(user, User):
            return self.none()
        return self.filter(memberships__user=user, deleted_at__isnull=True)


class OwnWork(models.TextChoices):
    """Who may decide on what they handed in themselves: by their own hand, or by any key that they made."""

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
    # Somebody deleted it: nobody sees it any more, and the worker takes it away piece by piece.
    deleted_at = models.DateTimeField(null=True, blank=True)
    # The tool that is asked for knowledge which an agent lacks; a person is asked where there is none.
    knowledge_tool = models.CharField(max_length=64, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    objects = ProjectQuerySet.as_manager()

    class Meta:
        ordering = ("name",)

    def __str__(self) -> str:
        return self.name

    def get_limits(self) -> Limits:
        return Limits.model_validate(self.limits)

    def get_thresholds(self) -> Thresholds:
        return Thresholds.model_validate(self.thresholds)

    def get_completeness(self) -> CompletenessSettings:
        return CompletenessSettings.model_validate(settings.COMPLETENESS | self.completeness)

    def get_notebook(self) -> NotebookSettings:
        return NotebookSettings.model_validate(self.notebook)

    def get_retention(self) -> RetentionSettings:
        return RetentionSettings.model_validate(self.retention)

    def get_review_policy(self) -> ReviewPolicy:
        return ReviewPolicy.model_validate(self.review_policy)


class Role(models.TextChoices):
    """What a member may do; each role may do all that the ones before it may."""

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
