"""Transcripts and their turns, traces and spans, and the forks that look back."""

from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.effects import Turn
from reflection_app.runs.models import Run

# Transcripts: sessions of an agent, handed in turn by turn or whole.


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
    # Which of those who look back it switches on or off; else as the project has it.
    reflector_switches = models.JSONField(default=dict, blank=True)
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


# What a resource calls the service, by OpenTelemetry.
SERVICE = "service.name"


# Traces of agents, as OpenTelemetry sends them: spans come in any order and in many requests, and make one session.


class AgentTrace(models.Model):
    """One trace. It becomes a transcript when its root has ended, or when nothing more of it comes."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="agent_traces")
    trace_id = models.CharField(max_length=32)
    transcript = models.ForeignKey(
        Transcript, null=True, blank=True, on_delete=models.SET_NULL, related_name="agent_traces"
    )
    spans_received = models.PositiveIntegerField(default=0)
    spans_dropped = models.PositiveIntegerField(default=0)
    has_root = models.BooleanField(default=False)
    problem = models.TextField(blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    last_span_at = models.DateTimeField()
    # Of what has come by then; a later span makes it due again.
    assembled_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("project", "trace_id"), name="agent_trace_once"),)
        indexes = (
            models.Index(fields=("last_span_at",), name="agent_trace_due", condition=Q(assembled_at__isnull=True)),
        )

    def __str__(self) -> str:
        return self.trace_id


class AgentSpan(models.Model):
    """One span, kept until its trace is assembled and a while beyond."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    trace = models.ForeignKey(AgentTrace, on_delete=models.CASCADE, related_name="spans")
    span_id = models.CharField(max_length=16)
    parent_id = models.CharField(max_length=16, blank=True, default="")
    name = models.CharField(max_length=400)
    attributes = models.JSONField(default=dict)
    events = models.JSONField(default=list)
    resource = models.JSONField(default=dict)
    is_error = models.BooleanField(default=False)
    status_message = models.TextField(blank=True, default="")
    # Nanoseconds since 1970: a datetime would round what orders them.
    start_ns = models.BigIntegerField()
    end_ns = models.BigIntegerField()
    received_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        constraints = (models.UniqueConstraint(fields=("trace", "span_id"), name="agent_span_once"),)

    def __str__(self) -> str:
        return self.name

    @property
    def service(self) -> str:
        return str(self.resource.get(SERVICE, ""))


# Reflectors: the forks that look back at a run or a session once it has ended, each a run of its own.


class ReflectorKind(models.TextChoices):
    ERRORS = "errors", "Error reflector"
    MEMORY = "memory", "Memory reflector"


class Reflector(models.Model):
    """One fork: what it looks back at (`run` or `transcript`), the run that does it, and what came of it.

    `found` is what it named, `added` what became new entries of the notebook, `counted` what was there already. Each
    is made once for what it looks back at, and one's failure touches nothing else.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reflectors")
    kind = models.CharField(max_length=6, choices=ReflectorKind)
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="reflectors")
    transcript = models.ForeignKey(
        Transcript, null=True, blank=True, on_delete=models.CASCADE, related_name="reflectors"
    )
    fork = models.OneToOneField(Run, on_delete=models.CASCADE, related_name="reflector")
    score = models.FloatField(null=True, blank=True)
    # The findings or memories as they were read, each with what became of it.
    findings = models.JSONField(default=list)
    found = models.PositiveIntegerField(default=0)
    added = models.PositiveIntegerField(default=0)
    counted = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    finished_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("created_at", "id")
        constraints = (
            models.CheckConstraint(
                name="reflector_of_one_thing",
                condition=Q(run__isnull=False, transcript__isnull=True) | Q(run__isnull=True, transcript__isnull=False),
            ),
            models.UniqueConstraint(fields=("run", "kind"), name="reflector_once_per_run"),
            models.UniqueConstraint(fields=("transcript", "kind"), name="reflector_once_per_transcript"),
        )
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="reflector_newest"),
            models.Index(
                fields=("project", "finished_at", "id"), name="reflector_ended", condition=Q(finished_at__isnull=False)
            ),
        )

    def __str__(self) -> str:
        return f"{self.kind} reflector {self.id}"


class LookBackDue(models.Model):
    """That a run has ended and nobody has begun to look back at it. Written with the end, so that none is forgotten.

    Rows are only added and taken away, never changed, so that whoever ends a run waits for nobody.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    run_id = models.UUIDField()

    class Meta:
        indexes = (models.Index(fields=("run_id",), name="look_back_of_run"),)

    def __str__(self) -> str:
        return f"look back at {self.run_id}"
