"""Who was given which entry, or was not on purpose, and how the first attempt went."""

from django.db import models
from django.db.models import Q

from notebook_app.models.entry import Entry, new_id


class Exposure(models.Model):
    """One draw: whether `subject` (a run's id, or an outside agent's own name for its work) got the entry.

    It is withheld where `draw` is below `share`. `succeeded` is null until the first attempt has been judged.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project_id = models.UUIDField()
    entry = models.ForeignKey(Entry, on_delete=models.CASCADE, related_name="exposures")
    entry_version = models.PositiveIntegerField()
    subject = models.CharField(max_length=200)
    # A script's runs, and such as nothing can be learned from, are kept but not counted.
    is_counted = models.BooleanField(default=True)
    share = models.FloatField()
    draw = models.FloatField()
    is_withheld = models.BooleanField()
    rank = models.PositiveIntegerField()
    score = models.FloatField()
    succeeded = models.BooleanField(null=True, blank=True)
    settled_at = models.DateTimeField(null=True, blank=True)
    # Whether its entry's count of recalls has it already; what is withheld is never counted there.
    is_summed = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project_id", "subject", "entry"), name="exposure_drawn_once"),)
        indexes = (
            models.Index(fields=("project_id",), name="exposure_unsummed", condition=Q(is_summed=False)),
            models.Index(fields=("entry", "-created_at", "-id"), name="exposure_newest"),
            models.Index(
                fields=("project_id", "entry", "settled_at", "id"),
                # The lift of all lessons is read from the index alone.
                include=("is_withheld", "succeeded", "share"),
                name="exposure_settled",
                condition=Q(is_counted=True, succeeded__isnull=False),
            ),
        )

    def __str__(self) -> str:
        return f"exposure of {self.subject}"
