"""Versions of a project's rubric and guidelines."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.rubrics import Rubric


class RubricVersion(models.Model):
    """Never changed: the newest holds. One without criteria says that the project has no rubric any more."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rubric_versions")
    number = models.PositiveIntegerField()
    criteria = models.JSONField()
    # Why it was changed, in its author's words.
    note = models.TextField(blank=True, default="")
    made_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=("project", "number"), name="rubric_number_once"),)

    def __str__(self) -> str:
        return f"rubric {self.number}"

    def get_rubric(self) -> Rubric | None:
        return Rubric(number=self.number, criteria=self.criteria) if self.criteria else None


class GuidelinesVersion(models.Model):
    """What reviewers of the project go by, as written; the newest version is shown beside each item."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="guidelines_versions")
    number = models.PositiveIntegerField()
    text = models.TextField(blank=True)
    note = models.TextField(blank=True, default="")
    made_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-number",)
        constraints = (models.UniqueConstraint(fields=("project", "number"), name="guidelines_number_once"),)

    def __str__(self) -> str:
        return f"guidelines {self.number}"
