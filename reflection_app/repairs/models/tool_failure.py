"""Failed calls with their diagnosis, and the fixes that worked."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.diagnosis.diagnoses import ErrorType, FailureSeverity, Source
from reflection_app.runs.models import Run, Step

TYPES = [(one.value, one.value) for one in ErrorType]


class FixPair(models.Model):
    """What has failed and what helped. `action` is the corrective action that worked, `digest` tells fixes apart."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="fix_pairs")
    tool = models.CharField(max_length=200)
    error_type = models.CharField(max_length=30, choices=TYPES)
    signature = models.CharField(max_length=300)
    symptoms = models.JSONField(default=list)
    fix = models.TextField()
    action = models.JSONField()
    digest = models.CharField(max_length=64)
    successes = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    last_worked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("tool", "-successes", "id")
        constraints = (
            models.UniqueConstraint(fields=("project", "tool", "signature", "error_type", "digest"), name="fix_once"),
        )

    def __str__(self) -> str:
        return f"{self.tool}: {self.fix[:60]}"

    @property
    def tried(self) -> int:
        return self.successes + self.failures


class ToolFailure(models.Model):
    """A failed call of a run of ours, or one that an outside agent reported. `error_type` is empty until diagnosed.

    `worked` is None until it is known how the corrective action went. `place` names the failure within its run.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tool_failures")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="tool_failures")
    step = models.OneToOneField(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="diagnosed_failure")
    place = models.CharField(max_length=200, blank=True, default="")
    agent = models.CharField(max_length=120, blank=True, default="")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    tool = models.CharField(max_length=200)
    params = models.JSONField(default=dict)
    error_message = models.TextField()
    status = models.IntegerField(null=True, blank=True)
    is_repeated = models.BooleanField(default=False)
    error_type = models.CharField(max_length=30, blank=True, default="", choices=TYPES)
    root_cause = models.TextField(blank=True, default="")
    severity = models.CharField(
        max_length=10, blank=True, default="", choices=[(one.value, one.value) for one in FailureSeverity]
    )
    action = models.JSONField(null=True, blank=True)
    source = models.CharField(max_length=10, blank=True, default="", choices=[(one.value, one.value) for one in Source])
    rule = models.CharField(max_length=60, blank=True, default="")
    signature = models.CharField(max_length=300, blank=True, default="")
    symptoms = models.JSONField(default=list)
    fix_pair = models.ForeignKey(
        FixPair, null=True, blank=True, on_delete=models.SET_NULL, related_name="tool_failures"
    )
    worked = models.BooleanField(null=True, blank=True)
    outcome = models.JSONField(null=True, blank=True)
    reported_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    diagnosed_at = models.DateTimeField(null=True, blank=True)
    outcome_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="tool_failure_newest"),
            models.Index(fields=("project", "tool", "-created_at"), name="tool_failure_of_tool"),
            models.Index(fields=("run", "place"), name="tool_failure_of_run"),
            # Covers the grouping of the cheat sheet.
            models.Index(
                fields=("project", "tool", "error_type", "signature", "-created_at"),
                include=("source",),
                name="tool_failure_kinds",
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool}: {self.error_message[:60]}"

    @property
    def is_diagnosed(self) -> bool:
        return bool(self.error_type)
