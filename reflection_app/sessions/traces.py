"""Spans of agents: kept as they come, and made sessions of."""

import json
import logging
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError, connection, transaction
from django.db.models import Count, F, Q, QuerySet, TextField
from django.db.models.functions import Cast, Length
from django.utils import timezone
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor
from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.loops.storable import agent_name
from reflection_app.runs.batch import Batch
from reflection_app.sessions.models import SERVICE, AgentSpan, AgentTrace, Transcript, TranscriptTurn
from reflection_app.sessions.otlp.conventions import SpanKind
from reflection_app.sessions.otlp.conversation import Conversation, conversation_of_spans
from reflection_app.sessions.otlp.reading import is_plain, kind_of, tells_of_agents, unread_reasons
from reflection_app.sessions.otlp.wire import Span, SpanEvent
from reflection_app.sessions.recording import (
    MOST_MESSAGES_AT_ONCE,
    MOST_TURNS,
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
)

# Spans as rows, and rows as spans.


# What is read of one trace, in characters of its spans' attributes: more would be held in memory several times over.
LARGEST_TRACE = 50_000_000
# As many of the largest are no more than that, and are read at once.
FEW_SPANS = 25
AS_THEY_ARE = ("span_id", "parent_id", "name", "is_error", "status_message", "start_ns", "end_ns")


def row_of(trace: AgentTrace, span: Span) -> AgentSpan:
    if is_plain(span):
        # Only its place in the tree is of use: who called whom.
        span = replace(span, attributes={}, events=(), is_error=False, status_message="")
    return AgentSpan(
        trace=trace,
        attributes=dict(span.attributes),
        events=[asdict(event) for event in span.events],
        resource={SERVICE: span.service} if span.service else {},
        **{name: getattr(span, name) for name in AS_THEY_ARE},
    )


def spans_of(trace: AgentTrace) -> list[Span]:
    """The trace's spans in order of time, as many as are bearable."""
    size = Length(Cast(F("attributes"), TextField())) + Length(Cast(F("events"), TextField()))
    rows: QuerySet[AgentSpan] = (
        AgentSpan.objects.filter(trace=trace).annotate(size=size).order_by("start_ns", "span_id")
    )
    spans: list[Span] = []
    room = LARGEST_TRACE
    for row in rows.iterator(chunk_size=100) if trace.spans_received > FEW_SPANS else rows:
        room -= row.size  # type: ignore[attr-defined]  # annotated above
        if room < 0:
            break
        spans.append(
            Span(
                trace_id=trace.trace_id,
                attributes=row.attributes,
                events=tuple(SpanEvent(**event) for event in row.events),
                service=row.service,
                **{name: getattr(row, name) for name in AS_THEY_ARE},
            )
        )
    return spans


# Making sessions of traces. One is opened soon after its root has ended, and ends once nothing more of it comes, with
# the spans that came late. What comes after that is kept for a while, and told of, but no session is written again.

log = logging.getLogger(__name__)

# A root is exported with the last of its process; those of other processes follow within their own few seconds.
OPENS_AFTER = timedelta(seconds=3)
ENDS_AFTER = timedelta(seconds=60)
# Of a trace whose root is exported elsewhere, or whose process died.
ENDS_WITHOUT_ROOT_AFTER = timedelta(minutes=15)
KEPT_FOR = timedelta(days=7)
MOST_AT_ONCE = 500
# In one transaction: spans that come for these wait for it.
TOGETHER = 20
# As they are kept; the page says them in its reader's language.
FAILED = gettext_noop("No session could be created; see the server log.")
LATE = gettext_noop("Spans that arrived after the session ended are not included.")
TOO_LARGE = gettext_noop("The trace was too large to be read completely.")
NO_CONTENT = gettext_noop("No session was created: the spans contain no messages.")
# Of what agents, models and tools say: where such spans say nothing, a session lacks something.
OF_THE_TALK = frozenset({SpanKind.MODEL, SpanKind.AGENT, SpanKind.WORKFLOW})
LONGEST_ID = 200
LONGEST_OBJECTIVE = 1_000


def assemble_due(now: datetime) -> int:
    """How many traces were opened, ended or told of as late. May run in several workers at once."""
    due = AgentTrace.objects.filter(_is_due(now), assembled_at__isnull=True, project__deleted_at__isnull=True)
    ids = list(due.order_by("last_span_at").values_list("pk", flat=True)[:MOST_AT_ONCE])
    return sum(_assemble(ids[start : start + TOGETHER], now) for start in range(0, len(ids), TOGETHER))


def forget_spans(now: datetime) -> int:
    """How many spans were deleted: those whose sessions were made long ago, with the traces whose sessions are gone."""
    old = AgentTrace.objects.filter(assembled_at__lt=now - KEPT_FOR)
    old.filter(transcript__isnull=True).delete()
    return AgentSpan.objects.filter(trace__in=old).delete()[0]


def _is_due(now: datetime) -> Q:
    is_over = Q(has_root=True, last_span_at__lte=now - ENDS_AFTER) | Q(last_span_at__lte=now - ENDS_WITHOUT_ROOT_AFTER)
    is_ripe = Q(transcript__isnull=True, has_root=True, last_span_at__lte=now - OPENS_AFTER)
    is_late = Q(transcript__ended_at__isnull=False)
    return is_over | is_ripe | is_late


@transaction.atomic
def _assemble(trace_ids: Sequence[UUID], now: datetime) -> int:
    """How many of these were brought forward; those that another worker has are left to it."""
    found = AgentTrace.objects.select_for_update(skip_locked=True, of=("self",)).filter(
        _is_due(now), pk__in=trace_ids, assembled_at__isnull=True
    )
    traces = list(found.select_related("transcript", "project").order_by("last_span_at"))
    for trace in traces:
        try:
            with transaction.atomic():
                _bring_forward(trace, now)
        except OperationalError:
            # The database's trouble, not the trace's: the next look tries again.
            raise
        except Exception:
            # One trace that cannot be made sense of must not hold up the others, nor be tried for ever.
            log.exception("trace %s could not be made a session", trace.pk)
            _settle(trace, now, problem=FAILED)
    return len(traces)


def _bring_forward(trace: AgentTrace, now: datetime) -> None:
    if trace.transcript is not None and trace.transcript.is_ended:
        _settle(trace, now, problem=LATE)
        return
    spans = spans_of(trace)
    conversation = conversation_of_spans(spans)
    if not conversation.messages:
        # One of embeddings alone is deleted. What comes of either later makes it due again, or begins it anew.
        if any(kind_of(span) in OF_THE_TALK for span in spans):
            _settle(trace, now, problem=NO_CONTENT)
        else:
            trace.delete()
        return
    is_new = trace.transcript is None
    transcript = trace.transcript
    if transcript is None:
        # Nobody states an objective in a trace: it is what the agent's user said first.
        asked = (str(message["content"]) for message in conversation.messages if message["role"] == "user")
        submission = TranscriptSubmission(
            agent=agent_name(conversation.agent),
            objective=next(asked, "")[:LONGEST_OBJECTIVE],
            external_id=(conversation.conversation_id or trace.trace_id)[:LONGEST_ID],
            messages=conversation.messages[:MOST_MESSAGES_AT_ONCE],
            metadata=_metadata(trace, conversation),
        )
        transcript = open_transcript(trace.project, submission, actor=Actor())
        # What was said of it before its first message came holds no more.
        AgentTrace.objects.filter(pk=trace.pk).update(transcript=transcript, problem="")
        trace.transcript, trace.problem = transcript, ""
    if not is_new or transcript.turns_made < len(conversation.messages):
        # Adds what the session has not: what follows its turns, else what of it is not among them.
        messages = conversation.messages
        rows = TranscriptTurn.objects.filter(transcript=transcript).order_by("seq")
        left = list(rows.values_list("message", flat=True))
        is_continued = list(messages[: len(left)]) == left
        news = list(messages[len(left) :]) if is_continued else _not_among(messages, left)
        news = news[: MOST_TURNS - transcript.turns_made]
        for start in range(0, len(news), MOST_MESSAGES_AT_ONCE):
            part = tuple(news[start : start + MOST_MESSAGES_AT_ONCE])
            transcript.turns_made = add_turns(
                transcript, TurnsInput(messages=part), actor=Actor()
            ).transcript.turns_made
    if transcript.metadata != (described := _metadata(trace, conversation)):
        Transcript.objects.filter(pk=transcript.pk).update(metadata=described)
    if trace.last_span_at <= now - (ENDS_AFTER if trace.has_root else ENDS_WITHOUT_ROOT_AFTER):
        end_transcript(transcript, actor=Actor())
        _settle(trace, now, problem=TOO_LARGE if len(spans) < trace.spans_received or trace.spans_dropped else "")


def _not_among(messages: Sequence[dict[str, Any]], known: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """The messages that are not known, each known one standing for one of its like."""
    left = Counter(json.dumps(message, sort_keys=True) for message in known)
    news = []
    for message in messages:
        written = json.dumps(message, sort_keys=True)
        if left[written]:
            left[written] -= 1
        else:
            news.append(message)
    return news


def _metadata(trace: AgentTrace, conversation: Conversation) -> dict[str, Any]:
    metadata = {
        "trace_id": trace.trace_id,
        "conversation_id": conversation.conversation_id[:LONGEST_ID],
        "service": conversation.service[:LONGEST_ID],
        "models": [model[:LONGEST_ID] for model in conversation.models[:20]],
        "model_calls": conversation.model_calls,
        "tool_calls": conversation.tool_calls,
        "prompt_tokens": conversation.input_tokens,
        "completion_tokens": conversation.output_tokens,
        "model_errors": list(conversation.model_errors),
        "spans": trace.spans_received,
        "spans_dropped": trace.spans_dropped,
    }
    return {name: value for name, value in metadata.items() if value}


def _settle(trace: AgentTrace, now: datetime, *, problem: str) -> None:
    AgentTrace.objects.filter(pk=trace.pk).update(assembled_at=now, problem=problem or trace.problem)


# Keeping the spans of agents' traces as they come: in any order, in many requests, and the same one more than once.
#
# Programs export the traces of all that they do: one that tells of no agent is not kept.

MOST_SPANS_IN_A_TRACE = 5_000
TRACES_AT_ONCE = 500
SPANS_AT_ONCE = 500
COUNTED = ("spans_received", "spans_dropped", "has_root", "last_span_at", "assembled_at")
# A trace that is there is only locked: all of them in one order, so that two requests never wait for each other.
MAKE_OR_LOCK = """
INSERT INTO reflection_app_agenttrace (
  id, project_id, trace_id, spans_received, spans_dropped, has_root, problem, created_at, last_span_at
)
SELECT id, %s, trace_id, 0, 0, false, '', %s, %s FROM unnest(%s::uuid[], %s::text[]) new (id, trace_id)
ORDER BY trace_id
ON CONFLICT (project_id, trace_id) DO UPDATE SET trace_id = excluded.trace_id
RETURNING id, trace_id, spans_received, spans_dropped, has_root, last_span_at, assembled_at
"""
FULL = f"a trace has more than {MOST_SPANS_IN_A_TRACE:,} spans"
NO_AGENT = "not kept: nothing in these traces tells of an agent"


@dataclass(frozen=True)
class TakenSpans:
    """How many spans were new, and how many, by the reason, are not kept or not understood.

    The reasons are the same when the same spans are sent again.
    """

    new: int = 0
    rejected: Mapping[str, int] = field(default_factory=dict)


@transaction.atomic
def take_spans(project: Project, spans: Sequence[Span]) -> TakenSpans:
    """What was taken; it is committed with the caller's transaction, and each span is kept once."""
    by_trace: dict[str, dict[str, Span]] = defaultdict(dict)
    for span in spans:
        by_trace[span.trace_id].setdefault(span.span_id, span)
    of_agents = {span.trace_id for span in spans if tells_of_agents(span)}
    if doubtful := by_trace.keys() - of_agents:
        known = AgentTrace.objects.filter(project=project, trace_id__in=doubtful)
        of_agents |= set(known.values_list("trace_id", flat=True))
    sent = [span for of_trace in by_trace.values() for span in of_trace.values()]
    # OTLP has no other place for what is kept and not understood.
    rejected = Counter(
        reason or NO_AGENT
        for span, reason in zip(sent, unread_reasons(sent), strict=True)
        if reason or span.trace_id not in of_agents
    )
    by_trace = {trace_id: of_trace for trace_id, of_trace in by_trace.items() if trace_id in of_agents}
    traces: list[AgentTrace] = []
    if by_trace:
        now, trace_ids = timezone.now(), sorted(by_trace)
        with connection.cursor() as cursor:
            cursor.execute(MAKE_OR_LOCK, [project.pk, now, now, [new_id() for _ in trace_ids], trace_ids])
            names = [column.name for column in cursor.description or ()]
            traces = [AgentTrace.from_db(connection.alias, names, row) for row in cursor.fetchall()]
    new = 0
    for start in range(0, len(traces), TRACES_AT_ONCE):
        part = traces[start : start + TRACES_AT_ONCE]
        taken, refused = _take(part, by_trace)
        new += taken
        rejected[FULL] += refused
    return TakenSpans(new=new, rejected=+rejected)


def _take(traces: Sequence[AgentTrace], by_trace: dict[str, dict[str, Span]]) -> tuple[int, int]:
    """How many spans of the traces were new and are kept, and for how many there is no room in their traces.

    Whatever is new makes a trace due again, to be put together or to be told of as late.
    """
    known = set()
    if begun := [trace for trace in traces if trace.spans_received]:
        ids = {span_id for trace in begun for span_id in by_trace[trace.trace_id]}
        there = AgentSpan.objects.filter(trace__in=begun, span_id__in=ids)
        known = set(there.values_list("trace_id", "span_id"))
    now, taken, refused = timezone.now(), 0, 0
    batch, changed = Batch(), []
    for trace in traces:
        new = [span for span in by_trace[trace.trace_id].values() if (trace.pk, span.span_id) not in known]
        if not new:
            continue
        kept = new[: max(0, MOST_SPANS_IN_A_TRACE - trace.spans_received)]
        for span in kept:
            batch.insert(row_of(trace, span))
            taken += 1
            if taken % SPANS_AT_ONCE == 0:
                batch.write()
        refused += len(new) - len(kept)
        trace.spans_received += len(kept)
        trace.spans_dropped += len(new) - len(kept)
        trace.has_root = trace.has_root or any(not span.parent_id for span in kept)
        trace.last_span_at = now
        if kept:
            trace.assembled_at = None
        changed.append(trace)
    for trace in changed:
        batch.update(trace, fields=COUNTED)
    batch.write()
    return taken, refused


def traces_without_session(project: Project) -> dict[str, int]:
    """Return how many of the project's traces made no session, by the problem."""
    rows = AgentTrace.objects.filter(project=project, transcript=None).exclude(problem="").order_by("problem")
    return dict(rows.values_list("problem").annotate(Count("pk")))
