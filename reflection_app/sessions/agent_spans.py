"""Spans as rows, and rows as spans."""

from dataclasses import asdict

from django.db.models import F, QuerySet, TextField
from django.db.models.functions import Cast, Length

from reflection_app.sessions.models.agent_trace import AgentSpan, AgentTrace
from reflection_app.sessions.otlp.spans import Span, SpanEvent

SERVICE = "service.name"
# What is read of one trace, in characters of its spans' attributes: more would be held in memory several times over.
LARGEST_TRACE = 50_000_000
# As many of the largest are no more than that, and are read at once.
FEW_SPANS = 25


def row_of(trace: AgentTrace, span: Span) -> AgentSpan:
    return AgentSpan(
        trace=trace,
        span_id=span.span_id,
        parent_id=span.parent_id,
        name=span.name,
        attributes=dict(span.attributes),
        events=[asdict(event) for event in span.events],
        resource={SERVICE: span.service} if span.service else {},
        is_error=span.is_error,
        status_message=span.status_message,
        start_ns=span.start_ns,
        end_ns=span.end_ns,
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
        spans.append(_span_of(row, trace_id=trace.trace_id))
    return spans


def _span_of(row: AgentSpan, *, trace_id: str) -> Span:
    return Span(
        trace_id=trace_id,
        span_id=row.span_id,
        parent_id=row.parent_id,
        name=row.name,
        attributes=row.attributes,
        events=tuple(SpanEvent(**event) for event in row.events),
        service=row.resource.get(SERVICE, ""),
        is_error=row.is_error,
        status_message=row.status_message,
        start_ns=row.start_ns,
        end_ns=row.end_ns,
    )
