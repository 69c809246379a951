"""Versions of a project's rubric and guidelines, and the decided items that are kept as examples beside them."""

from django.conf import settings
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.rubrics import Rubric
from reflection_app.reviews.models import Review


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


class ReviewExample(models.Model):
    """A decided item that shows reviewers how to decide. What was decided is read from the review itself."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="review_examples")
    review = models.OneToOneField(Review, on_delete=models.CASCADE, related_name="kept_as_example")
    # What it teaches.
    note = models.TextField()
    kept_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    kept_by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="review_example_newest"),)

    def __str__(self) -> str:
        return f"example {self.review_id}"
