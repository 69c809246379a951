"""Bulk decisions: many reviews decided together with one reason, item by item, each with its own result."""

from django.conf import settings
from django.db import models

from reflection_app.core.audit import Actor
from reflection_app.core.ids import new_id
from reflection_app.core.models import ApiKey, Project
from reflection_app.reviews.models.review import Review


class BulkState(models.TextChoices):
    """RUNNING and UNDOING are worked on; DONE and UNDONE are over, each item having its own result."""

    RUNNING = "running", "Running"
    DONE = "done", "Done"
    UNDOING = "undoing", "Being taken back"
    UNDONE = "undone", "Taken back"


class BulkDecision(models.Model):
    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="bulk_decisions")
    user = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="bulk_decisions"
    )
    user_label = models.CharField(max_length=200)
    api_key = models.ForeignKey(ApiKey, null=True, on_delete=models.SET_NULL, related_name="bulk_decisions")
    # From where the person acted, for the trail: the items are worked through after the request.
    address = models.GenericIPAddressField(null=True)
    # The language in which the person is told why an item failed.
    language = models.CharField(max_length=10, default="en")
    # What is decided of every item, as DecisionInput without its lease.
    decision = models.JSONField()
    state = models.CharField(max_length=8, choices=BulkState, default=BulkState.RUNNING)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="bulk_newest"),)

    def __str__(self) -> str:
        return f"bulk decision by {self.user_label}"

    @property
    def actor(self) -> Actor:
        """Who decides, for the actions on its items."""
        return Actor(user=self.user, api_key=self.api_key, address=self.address)

    @property
    def is_under_way(self) -> bool:
        return self.state in {BulkState.RUNNING, BulkState.UNDOING}


class BulkItemState(models.TextChoices):
    PENDING = "pending", "Pending"
    DONE = "done", "Decided"
    FAILED = "failed", "Not decided"
    UNDONE = "undone", "Taken back"
    KEPT = "kept", "Could not be taken back"


class BulkItem(models.Model):
    bulk = models.ForeignKey(BulkDecision, on_delete=models.CASCADE, related_name="items")
    review = models.ForeignKey(Review, on_delete=models.CASCADE, related_name="bulk_items")
    position = models.PositiveIntegerField()
    state = models.CharField(max_length=8, choices=BulkItemState, default=BulkItemState.PENDING)
    # Why it was not decided, or could not be taken back.
    error = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("position",)
        constraints = (models.UniqueConstraint(fields=("bulk", "review"), name="bulk_item_once"),)

    def __str__(self) -> str:
        return f"item {self.position}"
