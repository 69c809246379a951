"""Rewind tickets, reports and instructions, failed calls and their fixes, completeness checks."""

from typing import Any
from uuid import UUID

from django.conf import settings
from django.db import models
from django.db.models.functions import MD5
from django.utils import timezone
from django.utils.translation import gettext as _

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops import tickets
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.diagnosis.diagnoses import (
    Diagnosis,
    ErrorType,
    FailureChecklist,
    FailureSeverity,
    Source,
    checklist_of,
)
from reflection_app.loops.diagnosis.error_texts import headline
from reflection_app.loops.protocol import reports
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.reports import corrected, document_of
from reflection_app.loops.tickets import Trigger
from reflection_app.runs.models import Attempt, Run, Step

# Rewind tickets as they are kept: what sent an attempt back, and what became of it.


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


# Error trace reports, the corrections of their class by people, and the instructions that came of them.

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
    """A person's word on the class of an error. Rows are only ever added."""

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
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="instruction_newest"),
            models.Index(fields=("project", "agent", "state"), name="instruction_of_agent"),
        )

    def __str__(self) -> str:
        return self.text[:80]


# Failed calls with their diagnosis, and the fixes that worked.

TYPES = [(one.value, one.value) for one in ErrorType]


class FixPair(models.Model):
    """What has failed and what helped. `action` is the corrective action that worked, `digest` tells fixes apart.

    `learned` is what was changed of the parameters each time it worked, the newest first: the changes, the failure that
    they put right, and who told of it (empty where a run of the desk saw it, null where nobody vouches).
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="fix_pairs")
    tool = models.CharField(max_length=200)
    error_type = models.CharField(max_length=30, choices=TYPES)
    signature = models.CharField(max_length=300)
    symptoms = models.JSONField(default=list)
    fix = models.TextField()
    action = models.JSONField()
    digest = models.CharField(max_length=64)
    learned = models.JSONField(default=list)
    successes = models.PositiveIntegerField(default=0)
    failures = models.PositiveIntegerField(default=0)
    created_at = models.DateTimeField(auto_now_add=True)
    last_worked_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("tool", "-successes", "id")
        constraints = (
            models.UniqueConstraint(fields=("project", "tool", "signature", "error_type", "digest"), name="fix_once"),
        )
        indexes = (models.Index(fields=("project", "-created_at", "-id"), name="fix_pair_newest"),)

    def __str__(self) -> str:
        return f"{self.tool}: {self.fix[:60]}"

    @property
    def tried(self) -> int:
        return self.successes + self.failures


class ToolFailure(models.Model):
    """A failed call of a run of ours, or one that an outside agent reported. `error_type` is empty until diagnosed.

    `worked` is None until it is known how the corrective action went. `place` names the failure within its run.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="tool_failures")
    run = models.ForeignKey(Run, null=True, blank=True, on_delete=models.CASCADE, related_name="tool_failures")
    step = models.OneToOneField(Step, null=True, blank=True, on_delete=models.CASCADE, related_name="diagnosed_failure")
    place = models.CharField(max_length=200, blank=True, default="")
    agent = models.CharField(max_length=120, blank=True, default="")
    external_id = models.CharField(max_length=200, null=True, blank=True)
    tool = models.CharField(max_length=200)
    params = models.JSONField(default=dict)
    error_message = models.TextField()
    status = models.IntegerField(null=True, blank=True)
    is_repeated = models.BooleanField(default=False)
    error_type = models.CharField(max_length=30, blank=True, default="", choices=TYPES)
    root_cause = models.TextField(blank=True, default="")
    severity = models.CharField(
        max_length=10, blank=True, default="", choices=[(one.value, one.value) for one in FailureSeverity]
    )
    action = models.JSONField(null=True, blank=True)
    source = models.CharField(max_length=10, blank=True, default="", choices=[(one.value, one.value) for one in Source])
    rule = models.CharField(max_length=60, blank=True, default="")
    signature = models.CharField(max_length=300, blank=True, default="")
    symptoms = models.JSONField(default=list)
    fix_pair = models.ForeignKey(
        FixPair, null=True, blank=True, on_delete=models.SET_NULL, related_name="tool_failures"
    )
    worked = models.BooleanField(null=True, blank=True)
    outcome = models.JSONField(null=True, blank=True)
    reported_by_label = models.CharField(max_length=200, blank=True, default="")
    created_at = models.DateTimeField(auto_now_add=True)
    diagnosed_at = models.DateTimeField(null=True, blank=True)
    outcome_at = models.DateTimeField(null=True, blank=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="tool_failure_newest"),
            models.Index(fields=("project", "tool", "-created_at"), name="tool_failure_of_tool"),
            models.Index(fields=("run", "place"), name="tool_failure_of_run"),
            # Covers the grouping of the cheat sheet.
            models.Index(
                fields=("project", "tool", "error_type", "signature", "-created_at"),
                include=("source",),
                name="tool_failure_kinds",
            ),
        )

    def __str__(self) -> str:
        return f"{self.tool}: {self.error_message[:60]}"

    @property
    def is_diagnosed(self) -> bool:
        return bool(self.error_type)

    def set_diagnosis(self, found: Diagnosis, *, fix_pair_id: UUID | None) -> None:
        """Fill in the columns of its diagnosis; the caller saves them."""
        self.error_type, self.root_cause, self.severity = found.error_type.value, found.root_cause, found.severity.value
        self.action, self.source, self.rule = found.action.model_dump(mode="json"), found.source.value, found.rule[:60]
        self.signature, self.symptoms = found.signature[:300], list(found.symptoms)
        self.fix_pair_id, self.diagnosed_at = fix_pair_id, timezone.now()

    @property
    def is_known(self) -> bool:
        """True if it has a diagnosis that says more than that nobody knows."""
        return self.is_diagnosed and self.source != Source.NONE

    @property
    def is_being_diagnosed(self) -> bool:
        return not self.is_diagnosed and self.run is not None and not self.run.is_finished

    @property
    def headline(self) -> str:
        """The error as a list shows it."""
        return headline(self.error_message) or _("(no message)")

    @property
    def told(self) -> dict[str, Any]:
        """How what was done about it went, as it was reported or seen."""
        return self.outcome if isinstance(self.outcome, dict) else {}

    @property
    def told_delay_seconds(self) -> float | None:
        return self.told.get("delay_seconds", self.told.get("delay_s"))

    @property
    def checklist(self) -> FailureChecklist:
        return checklist_of(
            tool=self.tool, params=self.params, error_type=self.error_type, action=self.action, worked=self.worked
        )


# Completeness checks and the supplements that they asked for.


class CompletenessCheck(models.Model):
    """`tokens` and `cost_usd` are the check's own. The statistics are null until the supplements have been done.

    `second_look` is what was found once the supplements all had worked, null where nobody looked again.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="completeness_checks")
    run = models.ForeignKey(Run, on_delete=models.CASCADE, related_name="completeness_checks")
    step = models.OneToOneField(Step, on_delete=models.CASCADE, related_name="completeness_check")
    attempt_number = models.PositiveIntegerField(default=1)
    task_kind = models.CharField(max_length=60, blank=True, default="")
    state = models.CharField(max_length=24, choices=[(one.value, one.value) for one in CheckState])
    analysis = models.TextField(blank=True, default="")
    missing_aspects = models.JSONField(default=list)
    dropped = models.JSONField(default=list)
    steps_ok = models.BooleanField(default=True)
    error = models.TextField(blank=True, default="")
    tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    cost_known = models.BooleanField(default=True)
    second_look = models.JSONField(null=True, blank=True)
    second_tokens = models.PositiveIntegerField(default=0)
    second_cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    used = models.BooleanField(null=True, blank=True)
    attempted = models.PositiveIntegerField(null=True, blank=True)
    succeeded = models.PositiveIntegerField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("-created_at", "-id")
        indexes = (
            models.Index(fields=("project", "-created_at", "-id"), name="completeness_newest"),
            models.Index(fields=("run", "created_at"), name="completeness_of_run"),
            models.Index(fields=("project", "task_kind", "-created_at", "-id"), name="completeness_of_kind"),
        )

    def __str__(self) -> str:
        return f"{self.state} ({self.run_id})"

    @property
    def success_rate(self) -> float | None:
        return self.succeeded / self.attempted if self.attempted and self.succeeded is not None else None


class Supplement(models.Model):
    """One operation that was found missing. `operation_key` is equal for operations that say the same word for word.

    `left_out` is why it was not begun after all.
    """

    id = models.UUIDField(primary_key=True, default=new_id, editable=False)
    project = models.ForeignKey(Project, on_delete=models.CASCADE, related_name="supplements")
    completeness_check = models.ForeignKey(CompletenessCheck, on_delete=models.CASCADE, related_name="supplements")
    number = models.PositiveSmallIntegerField()
    task_kind = models.CharField(max_length=60, blank=True, default="")
    operation = models.TextField()
    operation_key = models.CharField(max_length=300)
    reason = models.TextField(blank=True, default="")
    suggested_tools = models.JSONField(default=list)
    attempted = models.BooleanField(null=True, blank=True)
    succeeded = models.BooleanField(null=True, blank=True)
    left_out = models.CharField(max_length=20, blank=True, default="")
    error = models.TextField(blank=True, default="")
    tokens = models.PositiveIntegerField(default=0)
    cost_usd = models.DecimalField(max_digits=16, decimal_places=8, default=0)
    cost_known = models.BooleanField(default=True)
    # Null in rows from before it was kept.
    seconds = models.FloatField(null=True, blank=True)
    created_at = models.DateTimeField(auto_now_add=True)

    class Meta:
        ordering = ("created_at", "number")
        indexes = (
            models.Index(fields=("project", "task_kind", "operation_key"), name="supplement_recurring"),
            models.Index(fields=("project", "-created_at"), name="supplement_newest"),
        )

    def __str__(self) -> str:
        return self.operation[:80]
