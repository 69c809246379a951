"""The tables, one file per aggregate. Import models from here."""

from reflection_app.core.audit import Actor, AuditEntry, Target, audit, hand_of
from reflection_app.core.event import Event, EventType, add_event, next_event
from reflection_app.core.models.api_key import ApiKey, Scope
from reflection_app.core.models.idempotency import IdempotentAnswer
from reflection_app.core.models.profile import Profile, Theme
from reflection_app.core.models.project import Membership, OwnWork, Project, Role
from reflection_app.core.permissions import GRANTS, Grant, Permission, key_may, member_may, roles_that_may
from reflection_app.metrics.models.day_figures import DayCount, DayFigure, DaySpend
from reflection_app.metrics.models.judged_item import CriticJudgement, JudgedItem, JudgementImport, PersonsJudgement
from reflection_app.metrics.models.referee_measurement import RefereeMeasurement
from reflection_app.metrics.models.run_figures import FigureDue, RunFigure, RunSpend
from reflection_app.repairs.models.completeness import CompletenessCheck, Supplement
from reflection_app.repairs.models.report import AgentInstruction, ClassCorrection, InstructionState, Report
from reflection_app.repairs.models.ticket import Ticket, TicketState
from reflection_app.repairs.models.tool_failure import FixPair, ToolFailure
from reflection_app.reviews.models.bulk import BulkDecision, BulkItem, BulkItemState, BulkState
from reflection_app.reviews.models.comment import About, Comment
from reflection_app.reviews.models.panel import Panel, PanelState
from reflection_app.reviews.models.review import OPEN, Review, ReviewSkip, ReviewState
from reflection_app.runs.models.attempt import VOID, Attempt, Verdict
from reflection_app.runs.models.question import Question, QuestionState
from reflection_app.runs.models.run import Run, RunState, Step, StepState
from reflection_app.sessions.models.agent_trace import AgentSpan, AgentTrace
from reflection_app.sessions.models.reflector import LookBackDue, Reflector, ReflectorKind
from reflection_app.sessions.models.transcript import Transcript, TranscriptFile, TranscriptTurn
from reflection_app.tasks.models.task import Task, TaskFile
from reflection_app.teams.models.invitation import Invitation
from reflection_app.teams.models.notification import ABOUT_WEBHOOK, Notification, NotificationKind
from reflection_app.teams.models.retention import RetentionRun
from reflection_app.teams.models.tool import Secret, Tool, ToolKind
from reflection_app.teams.models.webhook import OF_STEPS, TEST, Delivery, DeliveryState, DeliveryTry, Webhook

__all__ = [
    "ABOUT_WEBHOOK",
    "GRANTS",
    "OF_STEPS",
    "OPEN",
    "TEST",
    "VOID",
    "About",
    "Actor",
    "AgentInstruction",
    "AgentSpan",
    "AgentTrace",
    "ApiKey",
    "Attempt",
    "AuditEntry",
    "BulkDecision",
    "BulkItem",
    "BulkItemState",
    "BulkState",
    "ClassCorrection",
    "Comment",
    "CompletenessCheck",
    "CriticJudgement",
    "DayCount",
    "DayFigure",
    "DaySpend",
    "Delivery",
    "DeliveryState",
    "DeliveryTry",
    "Event",
    "EventType",
    "FigureDue",
    "FixPair",
    "Grant",
    "IdempotentAnswer",
    "InstructionState",
    "Invitation",
    "JudgedItem",
    "JudgementImport",
    "LookBackDue",
    "Membership",
    "Notification",
    "NotificationKind",
    "OwnWork",
    "Panel",
    "PanelState",
    "Permission",
    "PersonsJudgement",
    "Profile",
    "Project",
    "Question",
    "QuestionState",
    "RefereeMeasurement",
    "Reflector",
    "ReflectorKind",
    "Report",
    "RetentionRun",
    "Review",
    "ReviewSkip",
    "ReviewState",
    "Role",
    "Run",
    "RunFigure",
    "RunSpend",
    "RunState",
    "Scope",
    "Secret",
    "Step",
    "StepState",
    "Supplement",
    "Target",
    "Task",
    "TaskFile",
    "Theme",
    "Ticket",
    "TicketState",
    "Tool",
    "ToolFailure",
    "ToolKind",
    "Transcript",
    "TranscriptFile",
    "TranscriptTurn",
    "Verdict",
    "Webhook",
    "add_event",
    "audit",
    "hand_of",
    "key_may",
    "member_may",
    "next_event",
    "roles_that_may",
]
