"""Traces of agents, as OpenTelemetry sends them: spans come in any order and in many requests, and make one session."""

from django.db import models
from django.db.models import Q

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.sessions.models.transcript import Transcript


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
