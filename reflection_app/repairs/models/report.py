"""Error trace reports, the corrections of their class by people, and the instructions that came of them."""

from typing import Any

from django.conf import settings
from django.db import models
from django.db.models.functions import MD5

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.protocol import reports
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.report_documents import corrected, document_of
from reflection_app.loops.tickets import Trigger
from reflection_app.repairs.models.ticket import Ticket
from reflection_app.runs.models import Attempt, Run, Step

CLASSES = [(one.value, one.value) for one in ErrorClass]


class Report(models.Model):
    """`content` is the whole report (loops/protocol/reports.Report); the columns are what is searched by.

    `error_type` is what the tree said; `corrected_type` is a person's word where one disagreed. `step` kept it first.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="reports")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="reports")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="report")
    ticket = models.ForeignKey(Ticket, null=True, on_delete=models.SET_NULL, related_name="reports")
    attempt = models.ForeignKey(Attempt, null=True, on_delete=models.SET_NULL, related_name="reports")
    revised_attempt = models.ForeignKey(Attempt, null=True, on_delete=models.SET_NULL, related_name="+")
    reflection_id = models.CharField(max_length=60)
    agent = models.CharField(max_length=120, blank=True, default="")
    trigger = models.CharField(max_length=20, choices=[(one.value, one.value) for one in Trigger])
    error_type = models.CharField(max_length=8, choices=CLASSES)
    corrected_type = models.CharField(max_length=8, choices=CLASSES, null=True, blank=True)
    surface_issue = models.TextField(blank=True, default="")
    issues = models.JSONField(default=list)
    content = models.JSONField()
    created_at = models.DateTimeField()
    updated_at = models.DateTimeField()

    class Meta:
        ordering = ("-created_at", "-id")
        constraints = (models.UniqueConstraint(fields=("project", "reflection_id"), name="reflection_id_once"),)
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="report_newest"),
            models.Index(fields=("project", "agent", "-created_at"), name="report_of_agent"),
            models.Index(fields=("run", "created_at"), name="report_of_run"),
        )

    def __str__(self) -> str:
        return self.reflection_id

    @property
    def holding_type(self) -> str:
        """The class that holds: a person's correction before the tree's."""
        return self.corrected_type or self.error_type

    def get_value(self) -> reports.Report:
        """The report as the loop kept it."""
        return reports.Report.model_validate(self.content)

    def get_holding(self) -> reports.Report:
        """The report with the class that holds, in the words of whoever gave it last."""
        value = self.get_value()
        last = next(reversed(self.corrections.all()), None)
        return corrected(value, to=ErrorClass(last.after), reason=last.reason) if last else value

    def get_document(self) -> dict[str, Any]:
        """The report that holds, in just the form of the design seed."""
        return document_of(self.get_holding(), timestamp=self.created_at)


class ClassCorrection(models.Model):
    """A person's word on the class of an error, kept as a label. Rows are only ever added."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    report = models.ForeignKey(Report, on_delete=models.CASCADE, related_name="corrections")
    computed = models.CharField(max_length=8, choices=CLASSES)
    before = models.CharField(max_length=8, choices=CLASSES)
    after = models.CharField(max_length=8, choices=CLASSES)
    reason = models.TextField()
    user = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    by_label = models.CharField(max_length=200)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("created_at", "id")

    def __str__(self) -> str:
        return f"{self.before} to {self.after} by {self.by_label}"


class InstructionState(models.TextChoices):
    PROPOSED = "proposed", "Proposed"
    ACCEPTED = "accepted", "Accepted"
    DECLINED = "declined", "Declined"


class AgentInstruction(models.Model):
    """An instruction for an agent's system prompt. Accepted ones stand in every later run of that agent."""

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="agent_instructions")
    agent = models.CharField(max_length=120, blank=True, default="")
    text = models.TextField()
    report = models.ForeignKey(Report, null=True, on_delete=models.SET_NULL, related_name="instructions")
    state = models.CharField(max_length=10, choices=InstructionState, default=InstructionState.PROPOSED)
    decided_by = models.ForeignKey(settings.AUTH_USER_MODEL, null=True, on_delete=models.SET_NULL, related_name="+")
    decided_by_label = models.CharField(max_length=200, blank=True, default="")
    decided_at = models.DateTimeField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        # By a digest: an index takes no text of any length.
        constraints = (models.UniqueConstraint("project", "agent", MD5("text"), name="instruction_once"),)
        indexes = (models.Index(fields=("project", "agent", "state"), name="instruction_of_agent"),)

    def __str__(self) -> str:
        return self.text[:80]
