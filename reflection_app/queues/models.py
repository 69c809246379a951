"""Named queues of reviews that people work from, and views of lists that people have saved."""

from django.conf import settings
from django.db import models
from django.db.models import Q
from django.db.models.functions import Lower

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project

LONGEST_NAME = 60
LONGEST_QUERY = 2_000


class ReviewQueue(models.Model):
    """A part of the reviews that certain people work on. A review is in the first whose rule it fits.

    One that is deleted stays as a row: decided reviews went through it, and no review that is being written is refused.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="review_queues")
    name = models.CharField(max_length=LONGEST_NAME)
    position = models.PositiveIntegerField()
    # What a review has to be, as `reviews.queue.ReviewFilter` reads it; without any of it, whatever it is.
    rule = models.JSONField(default=dict, blank=True)
    # Null: as the project has it.
    goal_minutes = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("position", "created_at", "id")
        constraints = (
            models.UniqueConstraint(
                "project", Lower("name"), name="queue_name_once", condition=Q(deleted_at__isnull=True)
            ),
        )

    def __str__(self) -> str:
        return self.name


class QueueMember(models.Model):
    """Somebody who works on a queue. One without any is everybody's who may review."""

    queue = models.ForeignKey(ReviewQueue, on_delete=models.CASCADE, related_name="members")
    user = models.ForeignKey(settings.AUTH_USER_MODEL, on_delete=models.CASCADE, related_name="review_queues")

    class Meta:
        constraints = (models.UniqueConstraint(fields=("queue", "user"), name="queue_member_once"),)

    def __str__(self) -> str:
        return f"{self.user} in {self.queue}"


class ListName(models.TextChoices):
    """The lists of which views can be saved."""

    REVIEWS = "reviews", "Reviews"
    RUNS = "runs", "Runs"
    ENTRIES = "entries", "Notebook"
    SESSIONS = "sessions", "Sessions"


class SavedView(models.Model):
    """Filters and an order of a list under a name. `query` is what the list's own address has behind its "?"."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="saved_views")
    list = models.CharField(max_length=10, choices=ListName)
    name = models.CharField(max_length=LONGEST_NAME)
    query = models.CharField(max_length=LONGEST_QUERY, blank=True, default="")
    # Whose it is; null where it is shared with the project.
    owner = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.CASCADE, related_name="saved_views"
    )
    # Who saved it, and may change it beside admins once it is shared.
    created_by = models.ForeignKey(
        settings.AUTH_USER_MODEL, null=True, blank=True, on_delete=models.SET_NULL, related_name="+"
    )
    created_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("name", "id")
        constraints = (
            models.UniqueConstraint(
                "project", Lower("name"), name="shared_view_name_once", condition=Q(owner__isnull=True)
            ),
            models.UniqueConstraint(
                "project", "owner", Lower("name"), name="own_view_name_once", condition=Q(owner__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return self.name

    @property
    def is_shared(self) -> bool:
        return self.owner_id is None
