"""What was deleted because a project keeps things for so long only."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project


class RetentionRun(models.Model):
    """One pass over a project. `deleted` counts rows by what people call them."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="retention_runs")
    by_label = models.CharField(max_length=200)
    deleted = models.JSONField(default=dict)
    started_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-started_at", "-id")

    def __str__(self) -> str:
        return f"retention of {self.project_id}"
