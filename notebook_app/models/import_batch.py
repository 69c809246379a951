"""Entries read from files that a person handed in, shown before they are added."""

from django.conf import settings
from django.db import models

from notebook_app.models.entry import new_id


class ImportState(models.TextChoices):
    PREVIEWED = "previewed"
    APPLYING = "applying"
    APPLIED = "applied"


class ImportBatch(models.Model):
    """`items` are the entries as they were read, `problems` what could not be; `counts` what came of it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    state = models.CharField(max_length=9, choices=ImportState, default=ImportState.PREVIEWED)
    file_names = models.JSONField(default=list)
    items = models.JSONField(default=list)
    problems = models.JSONField(default=list)
    counts = models.JSONField(default=dict)
    by_label = models.CharField(max_length=200)
    by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    created_at = models.DateTimeField(auto_now_add=True)
    applied_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (models.Index(fields=("project_id", "-created_at", "-id"), name="import_newest"),)

    def __str__(self) -> str:
        return f"import {self.id}"
