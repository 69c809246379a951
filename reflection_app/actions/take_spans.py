"""Keeping the spans of agents' traces as they come: in any order, in many requests, and the same one more than once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import transaction
from django.utils import timezone

from reflection_app.actions.agent_spans import row_of
from reflection_app.models import AgentSpan, AgentTrace, Project
from reflection_app.otlp.spans import Span

MOST_SPANS_IN_A_TRACE = 5_000
TRACES_AT_ONCE = 500
COUNTED = ("spans_received", "spans_dropped", "has_root", "last_span_at", "assembled_at")
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
    parts = [traces[start : start + TRACES_AT_ONCE] for start in range(0, len(traces), TRACES_AT_ONCE)]
    taken = [_take(part, by_trace) for part in parts]
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


def _take(traces: Sequence[AgentTrace], by_trace: dict[str, dict[str, Span]]) -> TakenSpans:
    """Keeps the spans of the traces that are new, as far as each has room. Whatever is new makes a trace due again, to
    be put together or to be told of as late.
    """
    ids = {span_id for trace in traces for span_id in by_trace[trace.trace_id]}
    there = AgentSpan.objects.filter(trace__in=traces, span_id__in=ids)
    known = set(there.values_list("trace_id", "span_id"))
    now, rows, refused = timezone.now(), [], 0
    changed = []
    for trace in traces:
        new = [span for span in by_trace[trace.trace_id].values() if (trace.pk, span.span_id) not in known]
        if not new:
            continue
        kept = new[: max(0, MOST_SPANS_IN_A_TRACE - trace.spans_received)]
        rows += [row_of(trace, span) for span in kept]
        refused += len(new) - len(kept)
        trace.spans_received += len(kept)
        trace.spans_dropped += len(new) - len(kept)
        trace.has_root = trace.has_root or any(not span.parent_id for span in kept)
        trace.last_span_at = now
        trace.assembled_at = None if kept else trace.assembled_at
        changed.append(trace)
    AgentSpan.objects.bulk_create(rows, batch_size=500)
    # One statement for all of them: they are there, and locked.
    AgentTrace.objects.bulk_create(changed, update_conflicts=True, unique_fields=["id"], update_fields=COUNTED)
    return TakenSpans(new=len(rows), refused=refused)
