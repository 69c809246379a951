"""Files that belong to attempts: pictures, sounds, PDFs and others, each kept once in a project."""

from functools import cached_property

from django.db import models
from django.db.models import Q
from django.utils import timezone

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.core.recognizing import INLINE, MOST_PIXELS, PDF, PICTURES, SOUNDS
from reflection_app.loops.completeness.files import FileFacts
from reflection_app.runs.models import Attempt, Run, Step

LONGEST_NAME = 200
# Within this many pixels a picture is shown on its card, so that room for it is there before it is.
WIDEST, HIGHEST = 340, 260


class WithoutContent(models.Manager["Attachment"]):
    """Rows without their bytes, which may be many: whoever needs some reads them by themselves (serving.py)."""

    def get_queryset(self) -> models.QuerySet["Attachment"]:
        return super().get_queryset().defer("content")


class Attachment(models.Model):
    """The bytes of a file and what they are, by themselves. `name` is the one under which they came first.

    `claimed` is that name with its folders and the ending that it came with, whatever the bytes are.

    One that belongs to nothing of a run goes a day after it was last handed in.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="attachments", db_index=False)
    sha256 = models.CharField(max_length=64)
    size = models.PositiveIntegerField()
    media_type = models.CharField(max_length=60)
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    claimed = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    width = models.PositiveIntegerField(null=True, blank=True)
    height = models.PositiveIntegerField(null=True, blank=True)
    pages = models.PositiveIntegerField(null=True, blank=True)
    content = models.BinaryField()
    handed_in_at = models.DateTimeField(default=timezone.now)

    objects = WithoutContent()

    class Meta:
        base_manager_name = "objects"
        constraints = (models.UniqueConstraint(fields=("project", "sha256"), name="attachment_once"),)
        indexes = (models.Index(fields=("handed_in_at",), name="attachment_age"),)

    def __str__(self) -> str:
        return self.name or str(self.id)

    @property
    def is_inline(self) -> bool:
        """Whether a browser may show it by itself: of a short list, and no picture that unfolds without bounds."""
        return self.media_type in INLINE and not self.is_too_large_to_show

    @property
    def is_too_large_to_show(self) -> bool:
        return (self.width or 0) * (self.height or 0) > MOST_PIXELS

    @property
    def is_picture(self) -> bool:
        return self.media_type in PICTURES and not self.is_too_large_to_show

    @property
    def is_sound(self) -> bool:
        return self.media_type in SOUNDS

    @property
    def is_pdf(self) -> bool:
        return self.media_type == PDF

    @property
    def display_size(self) -> tuple[int, int]:
        """How large a picture is shown, in pixels."""
        width, height = self.width or 1, self.height or 1
        scale = min(1.0, WIDEST / width, HIGHEST / height)
        return max(1, round(width * scale)), max(1, round(height * scale))


class AttemptAttachment(models.Model):
    """What an attempt holds besides its text, in its order: a file that is kept, or a link, which nobody follows.

    `word` is what stands for it in the text of the attempt.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    attempt = models.ForeignKey(Attempt, on_delete=models.CASCADE, related_name="attachments", db_index=False)
    place = models.PositiveSmallIntegerField()
    # Nothing follows in Django when one is deleted: else it would read all their bytes first. The database forbids it.
    attachment = models.ForeignKey(
        Attachment, null=True, blank=True, on_delete=models.DO_NOTHING, related_name="places"
    )
    name = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    claimed = models.CharField(max_length=LONGEST_NAME, blank=True, default="")
    word = models.TextField()
    url = models.TextField(blank=True, default="")

    class Meta:
        ordering = ("place",)
        constraints = (
            models.UniqueConstraint(fields=("attempt", "place"), name="attempt_attachment_once"),
            models.CheckConstraint(
                name="attempt_attachment_file_or_link",
                condition=Q(attachment__isnull=False, url="") | (Q(attachment__isnull=True) & ~Q(url="")),
            ),
        )

    def __str__(self) -> str:
        return self.word


class ProducedFile(models.Model):
    """A file that a run's work has produced. With `facts`, as the step that opened it found it; else where it is from.

    `name` is the one that it was given. Without a step it was handed in with the history that the run checks; with an
    attempt it was looked at as that attempt's. There is no attachment where the project has no room for its bytes.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="produced_files", db_index=False)
    step = models.ForeignKey(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="produced_files")
    attempt = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.CASCADE, related_name="looked_at")
    place = models.PositiveSmallIntegerField()
    name = models.CharField(max_length=LONGEST_NAME)
    # As with those of attempts: the database forbids that one goes which is held.
    attachment = models.ForeignKey(
        Attachment, null=True, blank=True, on_delete=models.DO_NOTHING, related_name="produced"
    )
    facts = models.JSONField(null=True, blank=True)

    class Meta:
        ordering = ("place",)
        constraints = (
            models.UniqueConstraint(fields=("run", "step", "place"), name="produced_once", nulls_distinct=False),
        )

    def __str__(self) -> str:
        return self.name

    @cached_property
    def found(self) -> FileFacts:
        """What opening it found."""
        return FileFacts.model_validate(self.facts)


class RenderedPage(models.Model):
    """A page of a file as it was shown to a model, a PNG: what stands on the desk's pages is what was looked at.

    It goes with its file.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="rendered_pages")
    # As with those of attempts: what deletes the file deletes them (keeping.py).
    attachment = models.ForeignKey(
        Attachment, on_delete=models.DO_NOTHING, related_name="rendered_pages", db_index=False
    )
    page = models.PositiveIntegerField()
    max_side_px = models.PositiveIntegerField()
    width = models.PositiveIntegerField()
    height = models.PositiveIntegerField()
    content = models.BinaryField()
    created_at = models.DateTimeField(default=timezone.now)

    class Meta:
        constraints = (
            models.UniqueConstraint(fields=("attachment", "page", "max_side_px"), name="rendered_page_once"),
        )

    def __str__(self) -> str:
        return f"page {self.page} of {self.attachment_id}"
