"""Completeness checks and the supplements that they asked for."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.runs.models import Run, Step


class CompletenessCheck(models.Model):
    """`tokens` and `cost_usd` are the check's own. The statistics are null until the supplements have been done."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="completeness_checks")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="completeness_checks")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="completeness_check")
    attempt_number = models.PositiveIntegerField(default=1)
    task_kind = models.CharField(max_length=60, blank=True, default="")
    state = models.CharField(max_length=12, choices=[(one.value, one.value) for one in CheckState])
    analysis = models.TextField(blank=True, default="")
    missing_aspects = models.JSONField(default=list)
    dropped = models.JSONField(default=list)
    steps_ok = models.BooleanField(default=True)
    error = models.TextField(blank=True, default="")
    tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    used = models.BooleanField(null=True, blank=True)
    attempted = models.PositiveIntegerField(null=True, blank=True)
    succeeded = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="completeness_newest"),
            models.Index(fields=("run", "created_at"), name="completeness_of_run"),
        )

    def __str__(self) -> str:
        return f"{self.state} ({self.run_id})"

    @property
    def success_rate(self) -> float | None:
        return self.succeeded / self.attempted if self.attempted and self.succeeded is not None else None


class Supplement(models.Model):
    """One operation that was found missing. `operation_key` is equal for operations that say the same."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="supplements")
    completeness_check = models.ForeignKey(CompletenessCheck, on_delete=models.CASCADE, related_name="supplements")
    number = models.PositiveSmallIntegerField()
    task_kind = models.CharField(max_length=60, blank=True, default="")
    operation = models.TextField()
    operation_key = models.CharField(max_length=300)
    reason = models.TextField(blank=True, default="")
    suggested_tools = models.JSONField(default=list)
    attempted = models.BooleanField(null=True, blank=True)
    succeeded = models.BooleanField(null=True, blank=True)
    error = models.TextField(blank=True, default="")
    tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("created_at", "number")
        indexes = (models.Index(fields=("project", "task_kind", "operation_key"), name="supplement_recurring"),)

    def __str__(self) -> str:
        return self.operation[:80]
