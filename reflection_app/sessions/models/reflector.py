"""Reflectors: the forks that look back at a run or a session once it has ended, each a run of its own."""

from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.sessions.models.transcript import Transcript


class ReflectorKind(models.TextChoices):
    ERRORS = "errors", "Error reflector"
    MEMORY = "memory", "Memory reflector"


class Reflector(models.Model):
    """One fork: what it looks back at (`run` or `transcript`), the run that does it, and what came of it.

    `found` is what it named, `added` what became new entries of the notebook, `counted` what was there already. Each
    is made once for what it looks back at, and one's failure touches nothing else.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reflectors")
    kind = models.CharField(max_length=6, choices=ReflectorKind)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="reflectors")
    transcript = models.ForeignKey(
        Transcript, null=True, blank=True, on_delete=models.CASCADE, related_name="reflectors"
    )
    fork = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="reflector")
    score = models.FloatField(null=True, blank=True)
    # The findings or memories as they were read, each with what became of it.
    findings = models.JSONField(default=list)
    found = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    counted = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                name="reflector_of_one_thing",
                condition=Q(run__isnull=False, transcript__isnull=True) | Q(run__isnull=True, transcript__isnull=False),
            ),
            models.UniqueConstraint(fields=("run", "kind"), name="reflector_once_per_run"),
            models.UniqueConstraint(fields=("transcript", "kind"), name="reflector_once_per_transcript"),
        )
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="reflector_newest"),)

    def __str__(self) -> str:
        return f"{self.kind} reflector {self.id}"


class LookBackDue(models.Model):
    """That a run has ended and nobody has begun to look back at it. Written with the end, so that none is forgotten.

    Rows are only added and taken away, never changed, so that whoever ends a run waits for nobody.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run_id = models.UUIDField()

    class Meta:
        indexes = (models.Index(fields=("run_id",), name="look_back_of_run"),)

    def __str__(self) -> str:
        return f"look back at {self.run_id}"
