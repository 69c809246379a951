"""Tasks: one objective each, handed in by a person or a pipeline."""

from django.conf import settings
from django.db import models

from reflection_app.models.identifiers import new_id
from reflection_app.models.project import Project


class Execution(models.TextChoices):
    """Who makes the attempts."""

    MANAGED = "managed", "Managed"
    EXTERNAL = "external", "External"


class Task(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tasks")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    objective = models.TextField()
    kind = models.CharField(max_length=60, blank=True, default="")
    mode = models.CharField(max_length=20)
    agent = models.CharField(max_length=120, blank=True, default="")
    execution = models.CharField(max_length=10, choices=Execution, default=Execution.MANAGED)
    tests = models.JSONField(null=True, blank=True)
    limits = models.JSONField(default=dict)
    metadata = models.JSONField(default=dict, blank=True)
    created_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="task_newest"),
            models.Index(fields=("project", "external_id"), name="task_external_id"),
        )

    def __str__(self) -> str:
        return self.title

    @property
    def title(self) -> str:
        """The first line of the objective, without Markdown's marks and shortened for lists."""
        lines = (line.strip().lstrip("#").strip().replace("`", "") for line in self.objective.splitlines())
        first = next((line for line in lines if line), "")
        return first if len(first) <= 110 else first[:109].rstrip() + "…"
