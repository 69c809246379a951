"""Rewind tickets as they are kept: what sent an attempt back, and what became of it."""

from django.db import models

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops import tickets
from reflection_app.runs.models import Attempt, Run, Step


class TicketState(models.TextChoices):
    OPEN = "open", "Open"
    IN_PROGRESS = "in_progress", "In progress"
    RESOLVED = "resolved", "Resolved"
    SUPERSEDED = "superseded", "Superseded"
    CLOSED = "closed", "Closed"


class Ticket(models.Model):
    """`step` is the one that issued it. `resolved_by` is the attempt that was accepted after it."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tickets", db_index=False)
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="tickets", db_index=False)
    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.CASCADE, related_name="tickets")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="ticket")
    ticket_id = models.CharField(max_length=60)
    trigger = models.CharField(max_length=20, choices=[(one.value, one.value) for one in tickets.Trigger])
    target_agent = models.CharField(max_length=120, blank=True, default="")
    target_phase = models.CharField(max_length=120, blank=True, default="")
    verdict = models.CharField(max_length=8)
    quality_score = models.FloatField()
    issues = models.JSONField(default=list)
    repair_plan = models.JSONField(default=list)
    context_needed = models.JSONField(default=list)

    state = models.CharField(max_length=12, choices=TicketState, default=TicketState.OPEN)
    superseded_by = models.ForeignKey("self", null=True, blank=True, on_delete=models.SET_NULL, related_name="replaces")
    resolved_by = models.ForeignKey(Attempt, null=True, blank=True, on_delete=models.SET_NULL, related_name="+")
    closed_reason = models.TextField(blank=True, default="")
    ended_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField()
    started_at = models.DateTimeField(null=True, blank=True)
    ended_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (models.UniqueConstraint(fields=("project", "ticket_id"), name="ticket_id_once"),)
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="ticket_newest"),
            models.Index(fields=("project", "state", "-created_at"), name="ticket_by_state"),
            models.Index(fields=("run", "created_at"), name="ticket_of_run"),
        )

    def __str__(self) -> str:
        return self.ticket_id

    @property
    def is_open(self) -> bool:
        return self.state in {TicketState.OPEN, TicketState.IN_PROGRESS}
