"""How well the referee did on recorded runs whose right answers are known."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project


class RefereeMeasurement(models.Model):
    """One replay of a file of recorded runs. `figures` are the counts that metrics/trace_replay.py names."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="referee_measurements")
    name = models.CharField(max_length=200)
    figures = models.JSONField()
    by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")

    def __str__(self) -> str:
        return self.name
