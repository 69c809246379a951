"""Entries of the notebook. Projects are known by their id alone: the notebook knows nothing of the rest."""

from uuid import UUID

from django.db import models
from uuid_utils.compat import uuid7


def new_id() -> UUID:
    return uuid7()


class EntryState(models.TextChoices):
    PROPOSED = "proposed", "Proposed"


class Entry(models.Model):
    """Something learned, as it was proposed. `source` tells proposals of the same thing apart from new ones."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    kind = models.CharField(max_length=20)
    state = models.CharField(max_length=10, choices=EntryState, default=EntryState.PROPOSED)
    name = models.CharField(max_length=200)
    description = models.TextField(blank=True, default="")
    content = models.TextField(blank=True, default="")
    agent = models.CharField(max_length=120, blank=True, default="")
    category = models.CharField(max_length=120, blank=True, default="")
    source = models.CharField(max_length=200)
    # Where it was learned: ids by kind of thing, such as {"run": …, "report": …}.
    evidence = models.JSONField(default=list)
    occurrences = models.PositiveIntegerField(default=1)
    created_at = models.DateTimeField(auto_now_add=True)
    updated_at = models.DateTimeField(auto_now=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (models.UniqueConstraint(fields=("project_id", "source"), name="entry_source_once"),)
        indexes = (models.Index(fields=("project_id", "state", "-created_at"), name="entry_by_state"),)

    def __str__(self) -> str:
        return self.name
