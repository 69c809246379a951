"""Two entries that say the same, or the opposite, for a person to settle."""

from django.db import models
from django.db.models import F, Q

from notebook_app.models.entry import Entry, new_id


class ConflictKind(models.TextChoices):
    DUPLICATE = "duplicate"
    CONTRADICTION = "contradiction"


class ConflictState(models.TextChoices):
    OPEN = "open"
    SETTLED = "settled"
    # One of the two is no longer held: there is nothing left to settle.
    MOOT = "moot"


class Settlement(models.TextChoices):
    MERGED = "merged"
    KEPT_BOTH = "kept_both"
    SUPERSEDED = "superseded"


class Conflict(models.Model):
    """`first` has the smaller id, so that two entries meet once only. `why` tells what they were found by."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    first = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="conflicts_as_first")
    second = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="conflicts_as_second")
    kind = models.CharField(max_length=13, choices=ConflictKind)
    state = models.CharField(max_length=7, choices=ConflictState, default=ConflictState.OPEN)
    # From 0 to 1: shared words, and nearness of meaning where both had an embedding.
    text_likeness = models.FloatField()
    meaning_likeness = models.FloatField(null=True, blank=True)
    why = models.JSONField(default=dict, blank=True)
    settlement = models.CharField(max_length=10, blank=True, default="", choices=Settlement)
    settled_by_label = models.CharField(max_length=200, blank=True, default="")
    reason = models.TextField(blank=True, default="")
    settled_at = models.DateTimeField(null=True, blank=True)
    # A merge in a model's words, which only a person can apply; and the run that is asked for it.
    suggestion = models.JSONField(null=True, blank=True)
    suggestion_run = models.UUIDField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (
            models.UniqueConstraint(fields=("first", "second"), name="conflict_once"),
            models.CheckConstraint(name="conflict_of_two", condition=Q(first__lt=F("second"))),
        )
        indexes = (models.Index(fields=("project_id", "state", "-created_at", "-id"), name="conflict_by_state"),)

    def __str__(self) -> str:
        return f"{self.kind} {self.id}"
