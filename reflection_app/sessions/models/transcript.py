"""Transcripts: sessions of an agent, handed in turn by turn or whole."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.effects import Turn
from reflection_app.runs.models import Run


class Transcript(models.Model):
    """One session. `run` is the loop that reflects on it while it happens, where that was asked for."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="transcripts")
    run = models.OneToOneField(Run, null=True, blank=True, on_delete=models.SET_NULL, related_name="transcript")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    agent = models.CharField(max_length=120, blank=True, default="")
    objective = models.TextField(blank=True, default="")
    metadata = models.JSONField(default=dict, blank=True)
    # When it is reflected on, where the submission says so; else as the project has it.
    reflection = models.CharField(max_length=8, blank=True, default="")
    # Calls of tools that failed, as the agent's own framework traced them.
    tool_errors = models.JSONField(default=list, blank=True)
    turns_made = models.PositiveIntegerField(default=0)
    # The number of the newest reflection that its agent was told of, so that none is told twice.
    reflections_told = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="transcript_newest"),
            models.Index(fields=("project", "external_id"), name="transcript_external_id"),
        )

    def __str__(self) -> str:
        return f"transcript {self.id}"

    @property
    def is_ended(self) -> bool:
        return self.ended_at is not None


class TranscriptTurn(models.Model):
    """One message, kept as it came; what loops read of it is `get_turn`."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    transcript = models.ForeignKey(Transcript, on_delete=models.CASCADE, related_name="turns")
    seq = models.PositiveIntegerField()
    message = models.JSONField()
    role = models.CharField(max_length=20)
    content = models.TextField(blank=True, default="")
    tool_name = models.CharField(max_length=120, blank=True, default="")
    is_tool_failure = models.BooleanField(default=False)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("seq",)
        constraints = (models.UniqueConstraint(fields=("transcript", "seq"), name="turn_seq_once"),)

    def __str__(self) -> str:
        return f"turn {self.seq}"

    def get_turn(self) -> Turn:
        """The turn as loops know it."""
        return Turn(
            seq=self.seq,
            role=self.role,
            content=self.content,
            tool_name=self.tool_name,
            is_tool_failure=self.is_tool_failure,
        )


class TranscriptFile(models.Model):
    """A text file handed in with a session, for those who look back at it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    transcript = models.ForeignKey(Transcript, on_delete=models.CASCADE, related_name="files")
    path = models.CharField(max_length=400)
    content = models.TextField(blank=True)

    class Meta:
        ordering = ("path",)
        constraints = (models.UniqueConstraint(fields=("transcript", "path"), name="transcript_file_once"),)

    def __str__(self) -> str:
        return self.path
