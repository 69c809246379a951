"""Comments of people on reviews, runs and entries of the notebook."""

from django.conf import settings
from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project


class About(models.TextChoices):
    """What a comment or a notification is about."""

    REVIEW = "review", "Review"
    RUN = "run", "Run"
    ENTRY = "entry", "Notebook entry"


class Comment(models.Model):
    """`about_id` is no foreign key: entries belong to another app, and comments outlive what they are about."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="comments")
    about = models.CharField(max_length=8, choices=About)
    about_id = models.UUIDField()
    author = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="comments")
    author_label = models.CharField(max_length=200)
    text = models.TextField()
    created_at = models.DateTimeField(auto_now_add=True)
    edited_at = models.DateTimeField(null=True, blank=True)
    # The text of a comment that was taken back is emptied.
    deleted_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        indexes = (models.Index(fields=("about", "about_id", "created_at"), name="comment_about"),)

    def __str__(self) -> str:
        return f"comment of {self.author_label}"
