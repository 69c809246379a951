"""Keeping the spans of agents' traces as they come: in any order, in many requests, and the same one more than once."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from django.db import transaction
from django.db.models import F
from django.utils import timezone

from reflection_app.actions.agent_spans import row_of
from reflection_app.models import AgentSpan, AgentTrace, Project
from reflection_app.otlp.spans import Span

MOST_SPANS_IN_A_TRACE = 5_000
FULL = f"a trace has more than {MOST_SPANS_IN_A_TRACE:,} spans"


@dataclass(frozen=True)
class TakenSpans:
    """How many were new, and how many their traces had no room for. The others were there, or are not wanted."""

    new: int = 0
    refused: int = 0


@transaction.atomic
def take_spans(project: Project, spans: Sequence[Span]) -> TakenSpans:
    """What was taken; it is committed with the caller's transaction, and each span is kept once.

    Of a trace that tells of no agent nothing is kept: programs export the traces of all that they do.
    """
    by_trace: dict[str, dict[str, Span]] = defaultdict(dict)
    for span in spans:
        by_trace[span.trace_id].setdefault(span.span_id, span)
    known = AgentTrace.objects.filter(project=project, trace_id__in=list(by_trace))
    wanted = set(known.values_list("trace_id", flat=True))
    wanted |= {span.trace_id for span in spans if span.tells_of_agents}
    by_trace = {trace_id: of_trace for trace_id, of_trace in by_trace.items() if trace_id in wanted}
    traces = _locked_traces(project, sorted(by_trace))
    taken = [_take(trace, by_trace[trace.trace_id].values()) for trace in traces]
    return TakenSpans(new=sum(one.new for one in taken), refused=sum(one.refused for one in taken))


def _locked_traces(project: Project, trace_ids: Sequence[str]) -> list[AgentTrace]:
    """The traces, made where they were not; locked in one order, so that two requests never wait for each other."""
    now = timezone.now()
    AgentTrace.objects.bulk_create(
        (AgentTrace(project=project, trace_id=trace_id, last_span_at=now) for trace_id in trace_ids),
        ignore_conflicts=True,
    )
    wanted = AgentTrace.objects.filter(project=project, trace_id__in=trace_ids)
    # What was taken away between the two statements (it told of no agent) is made anew.
    locked = {trace.trace_id: trace for trace in wanted.order_by("trace_id").select_for_update()}
    for trace_id in trace_ids:
        if trace_id not in locked:
            locked[trace_id] = AgentTrace.objects.create(project=project, trace_id=trace_id, last_span_at=now)
    return list(locked.values())


def _take(trace: AgentTrace, spans: Iterable[Span]) -> TakenSpans:
    """Keeps the spans of one trace that are new, as far as there is room."""
    ids = {span.span_id: span for span in spans}
    known = set(AgentSpan.objects.filter(trace=trace, span_id__in=ids).values_list("span_id", flat=True))
    new = [span for span in ids.values() if span.span_id not in known]
    room = max(0, MOST_SPANS_IN_A_TRACE - trace.spans_received)
    kept = new[:room]
    if new:
        AgentSpan.objects.bulk_create([row_of(trace, span) for span in kept], batch_size=500)
        # Whatever is new makes it due again, to be put together or to be told of as late.
        AgentTrace.objects.filter(pk=trace.pk).update(
            spans_received=F("spans_received") + len(kept),
            spans_dropped=F("spans_dropped") + len(new) - len(kept),
            has_root=trace.has_root or any(not span.parent_id for span in kept),
            last_span_at=timezone.now(),
            assembled_at=None if kept else trace.assembled_at,
        )
    return TakenSpans(new=len(kept), refused=len(new) - len(kept))
