"""Which tables go into the file, in what form, and what stays behind; a test compares this with all tables there are.

Never taken along: whatever lets somebody in (passwords, keys, invitations), values of secrets, leases of workers, what
was made of other rows and is made of them again, and what was sent to somebody.
"""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.contrib.auth.models import User
from django.db import models
from django.utils.translation import gettext as _

from notebook_app.public import TAKEN, Row, TakenTable
from reflection_app.attachments.keeping import facts_of
from reflection_app.attachments.models import Attachment, AttemptAttachment, ProducedFile
from reflection_app.comparisons.models import ComparisonSet, JudgementState, Pair, PairJudgement
from reflection_app.core.audit import AuditEntry
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Membership, Project
from reflection_app.metrics.models import (
    CriticJudgement,
    JudgedItem,
    JudgementImport,
    PersonsJudgement,
    RunFigure,
    RunSpend,
)
from reflection_app.queues.models import QueueMember, ReviewQueue, SavedView
from reflection_app.repairs.models import (
    AgentInstruction,
    ClassCorrection,
    CompletenessCheck,
    FixPair,
    Report,
    Supplement,
    Ticket,
    ToolFailure,
)
from reflection_app.reviews.models import (
    BulkDecision,
    BulkItem,
    BulkState,
    Comment,
    Panel,
    PanelState,
    Review,
    ReviewSkip,
    ReviewState,
    seats_of_open_panels,
)
from reflection_app.rubrics.models import GuidelinesVersion, RubricVersion
from reflection_app.runs.events import Event
from reflection_app.runs.models import Attempt, Question, Run, RunState, Step, Verdict
from reflection_app.sessions.models import AgentSpan, AgentTrace, Reflector, Transcript, TranscriptFile, TranscriptTurn
from reflection_app.tasks.models import Task, TaskFile
from reflection_app.teams.models import RetentionRun, Tool, Webhook

# Fields of models are generic for the type checker alone.
type Column = "models.Field[Any, Any]"
# Of settings; the name and the short one are the new project's own.
OF_PROJECT = (
    "limits",
    "thresholds",
    "review_policy",
    "models_by_role",
    "completeness",
    "notebook",
    "retention",
    "waiting",
    "knowledge_tool",
    "unique_external_ids",
    "allowed_models",
)
OF_RUN, OF_STEP = "run__project_id", "step__run__project_id"


def _let_go(row: Row) -> Row:
    """A run that no worker has: one that had it works elsewhere."""
    return row | ({"state": RunState.QUEUED.value} if row["state"] == RunState.RUNNING else {})


def _unclaimed(row: Row) -> Row:
    """A review that nobody holds."""
    if row["state"] != ReviewState.CLAIMED:
        return row
    return row | {"state": ReviewState.WAITING.value, "holder_id": None, "holder_label": ""}


def _not_under_way(row: Row) -> Row:
    """A bulk decision that no worker goes on with: it would act for somebody who is not here."""
    under_way = row["state"] in {BulkState.RUNNING, BulkState.UNDOING}
    return row | ({"state": BulkState.DONE.value} if under_way else {})


def _ended(row: Row) -> Row:
    """A pass that no worker takes up."""
    return row | {"finished_at": row["finished_at"] or row["started_at"]}


def _switched_off(row: Row) -> Row:
    """A webhook without a secret, which an admin may give a new one and switch on."""
    return row | {"is_enabled": False}


# How PostgreSQL writes bytes as text, and reads them.
HEX = "\\x"


def _looked_at_again(row: Row) -> Row:
    """A file that is what its bytes are, whatever was written beside them. Raises InvalidInput where there are none."""
    content = row["content"]
    try:
        if not isinstance(content, str) or not content.startswith(HEX):
            raise ValueError
        return row | facts_of(bytes.fromhex(content.removeprefix(HEX)), name=row["name"])
    except ValueError:
        message = _("attachments.jsonl, content: expected hexadecimal text after a backslash and an x")
        raise InvalidInput(message) from None


LEASE = frozenset({"lease_token", "lease_until"})
# They differ from desk to desk; what can be known of them here is worked out after the import.
NUMBERS_OF_PEOPLE = frozenset({"handed_in_by", "holder_person"})
# Tables of earlier archives that no longer exist. Importing skips their rows.
REMOVED = frozenset(
    {"labels", "referee_measurements", "review_examples", "supplement_groups", "check_draws", "check_suggestions"}
)
TABLES: tuple[TakenTable, ...] = (
    TakenTable("members", Membership, without=frozenset({"invited_by_key"}), dropped=frozenset({"skills"})),
    TakenTable("tools", Tool),
    TakenTable("fix_pairs", FixPair),
    TakenTable("tasks", Task),
    TakenTable("task_files", TaskFile, path="task__project_id"),
    TakenTable("runs", Run, without=LEASE | {"enqueued_at", "failures", "asked_waits"}, mended=_let_go),
    TakenTable("steps", Step, path=OF_RUN),
    TakenTable("attempts", Attempt, path=OF_RUN),
    TakenTable("attachments", Attachment, mended=_looked_at_again),
    TakenTable("attempt_attachments", AttemptAttachment, path="attempt__run__project_id"),
    TakenTable("produced_files", ProducedFile, path=OF_RUN),
    TakenTable("verdicts", Verdict, path="attempt__run__project_id"),
    TakenTable("panels", Panel),
    TakenTable("review_queues", ReviewQueue, dropped=frozenset({"skills"})),
    TakenTable("queue_members", QueueMember, path="queue__project_id"),
    TakenTable("reviews", Review, without=LEASE | NUMBERS_OF_PEOPLE | {"decided_by_key"}, mended=_unclaimed),
    TakenTable("rubric_versions", RubricVersion),
    TakenTable("guidelines_versions", GuidelinesVersion),
    TakenTable("review_skips", ReviewSkip, path="review__project_id"),
    TakenTable("bulk_decisions", BulkDecision, without=frozenset({"api_key"}), mended=_not_under_way),
    TakenTable("bulk_items", BulkItem, path="bulk__project_id"),
    TakenTable("comparison_sets", ComparisonSet),
    TakenTable("pairs", Pair, without=NUMBERS_OF_PEOPLE),
    TakenTable(
        "pair_judgements",
        PairJudgement,
        without=LEASE | {"person", "by_key"},
        only={"state": JudgementState.JUDGED.value},
    ),
    # A person's own go no further: where that person is not known, it would be everybody's.
    TakenTable("saved_views", SavedView, only={"owner__isnull": True}),
    TakenTable("tickets", Ticket),
    TakenTable("reports", Report),
    TakenTable("class_corrections", ClassCorrection, path="report__project_id"),
    TakenTable("agent_instructions", AgentInstruction),
    TakenTable("questions", Question),
    TakenTable("tool_failures", ToolFailure),
    TakenTable("completeness_checks", CompletenessCheck),
    TakenTable("supplements", Supplement, dropped=frozenset({"group", "estimate"})),
    TakenTable("transcripts", Transcript),
    TakenTable("transcript_turns", TranscriptTurn, path="transcript__project_id"),
    TakenTable("transcript_files", TranscriptFile, path="transcript__project_id"),
    TakenTable("agent_traces", AgentTrace, dropped=frozenset({"tells_of_agents"})),
    TakenTable("agent_spans", AgentSpan, path="trace__project_id", dropped=frozenset({"unread"})),
    TakenTable("reflectors", Reflector),
    TakenTable("judgement_imports", JudgementImport, dropped=frozenset({"rows", "outcome", "applied_at"})),
    TakenTable("judged_items", JudgedItem),
    TakenTable("critic_judgements", CriticJudgement, path="item__project_id"),
    TakenTable("persons_judgements", PersonsJudgement, path="item__project_id"),
    TakenTable("comments", Comment),
    TakenTable("events", Event),
    # Of runs that are gone; those of the others are worked out anew.
    TakenTable("figures", RunFigure, only={"run__isnull": True}, dropped=frozenset({"latency", "referee"})),
    TakenTable("spend", RunSpend, path="figure__project_id", only={"figure__run__isnull": True}),
    TakenTable("retention_runs", RetentionRun, mended=_ended),
    TakenTable("audit", AuditEntry, without=frozenset({"api_key_id"})),
    # After the events, which would else be written out for them to be sent.
    TakenTable(
        "webhooks",
        Webhook,
        without=frozenset({"ciphertext", "former_ciphertext", "former_until", "paused_at", "failing_since"}),
        mended=_switched_off,
    ),
    *TAKEN,
)
# Left behind on purpose, by the name of the model.
STAYS = {
    "AgentLease": "an agent that is not here holds nothing",
    "Project": "its settings are in the manifest",
    "Profile": "a person's own",
    "ApiKey": "lets somebody in",
    "IdempotentAnswer": "of keys, for two days",
    "Invitation": "lets somebody in",
    "Secret": "names and origins are in the manifest, values nowhere",
    "Notification": "a person's own",
    "Delivery": "was sent to somebody, and must not be sent again",
    "DeliveryTry": "was sent to somebody",
    "Channel": "its address is a secret",
    "ChannelItem": "of a channel",
    "ChannelMessage": "was sent to somebody, and must not be sent again",
    "ChannelTry": "was sent to somebody",
    "DigestLetter": "was sent to somebody",
    "Escalation": "was told to somebody; what waits elsewhere escalates there",
    "FigureDue": "is written again with the runs",
    "LookBackDue": "what has ended elsewhere is looked back at there",
    "RenderedPage": "made anew of the files",
    "SearchRow": "written again with the rows",
    "EmbeddingSpace": "the desk's own",
    "Dashboard": "a person's own, or made by one who is not here",
    "Embedding": "made anew of the words",
    "ImportBatch": "files of that desk",
}


def columns_of(table: TakenTable) -> list[Column]:
    """The columns that are taken along. A key that is only counted up says nothing elsewhere, nor does the project."""
    return [
        column
        for column in table.model._meta.concrete_fields  # noqa: SLF001 - Django's documented API
        if column.name not in table.without
        and not isinstance(column, models.AutoField)
        and column.related_model is not Project
        and column.attname != "project_id"
    ]


def is_of_person(column: Column) -> bool:
    """Whether the column names a user, who goes by name in the file: numbers of users differ from desk to desk."""
    return column.related_model is User


def key_in_file(column: Column) -> str:
    """What the column is called in the file."""
    return f"{column.name}_username" if is_of_person(column) else column.attname


def rows_at_once(table: TakenTable) -> int:
    """How many rows of the table are held in memory together: few where each may be a whole file."""
    is_large = any(isinstance(column, models.BinaryField) for column in columns_of(table))
    return 4 if is_large else 200


def rows_of(table: TakenTable, project_id: UUID) -> models.QuerySet[Any]:
    """The project's rows of the table, oldest first."""
    rows: models.QuerySet[Any] = models.QuerySet(table.model)
    return rows.filter(**{table.path: project_id}, **table.only).order_by("pk")


# What is left out of a file that people read, as long as several judge the same verdict blindly.

UNDECIDED = {
    "state": ReviewState.WAITING.value,
    "opinion": None,
    "decision": None,
    "decided_verdict_id": None,
    "decision_reason": "",
    "decided_by_username": None,
    "decided_by_label": "",
    "decided_at": None,
    "decided_seq": None,
}


@dataclass(frozen=True)
class Blindness:
    """The seats of open panels, and the bulk decisions that would tell what is said there."""

    seats: frozenset[UUID] = frozenset()
    bulks: frozenset[UUID] = frozenset()

    @classmethod
    def of(cls, project_id: UUID) -> "Blindness":
        bulks = BulkItem.objects.filter(bulk__project=project_id, review__panel__state=PanelState.OPEN)
        return cls(
            seats=frozenset(seats_of_open_panels(project_id).values_list("pk", flat=True)),
            bulks=frozenset(bulks.values_list("bulk_id", flat=True)),
        )

    def told(self, table: str, row: Row) -> Row | None:
        """The row as it may be told, or None where it may not be told at all."""
        if table == "reviews" and row["id"] in self.seats and row["state"] == ReviewState.DECIDED:
            return row | UNDECIDED
        if table == "audit" and row["target_id"] in self.seats | self.bulks:
            return row | {"before": {}, "after": {}}
        about = {"bulk_decisions": "id", "bulk_items": "bulk_id", "comments": "about_id"}.get(table)
        return None if about and row[about] in self.seats | self.bulks else row
