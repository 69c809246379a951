"""Keeping the spans of agents' traces as they come: in any order, in many requests, and the same one more than once."""

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass

from django.db import connection, transaction
from django.utils import timezone

from reflection_app.core.ids import new_id
from reflection_app.core.models import Project
from reflection_app.runs.batch import Batch
from reflection_app.sessions.agent_spans import row_of
from reflection_app.sessions.models.agent_trace import AgentSpan, AgentTrace
from reflection_app.sessions.otlp.spans import Span

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
    wanted = {span.trace_id for span in spans if span.tells_of_agents}
    if doubtful := by_trace.keys() - wanted:
        known = AgentTrace.objects.filter(project=project, trace_id__in=doubtful)
        wanted |= set(known.values_list("trace_id", flat=True))
    by_trace = {trace_id: of_trace for trace_id, of_trace in by_trace.items() if trace_id in wanted}
    traces = _locked_traces(project, sorted(by_trace))
    parts = [traces[start : start + TRACES_AT_ONCE] for start in range(0, len(traces), TRACES_AT_ONCE)]
    taken = [_take(part, by_trace) for part in parts]
    return TakenSpans(new=sum(one.new for one in taken), refused=sum(one.refused for one in taken))


def _locked_traces(project: Project, trace_ids: Sequence[str]) -> list[AgentTrace]:
    """The traces, made where they were not, and locked, with what is counted of them."""
    if not trace_ids:
        return []
    now = timezone.now()
    with connection.cursor() as cursor:
        ids = [new_id() for _ in trace_ids]
        cursor.execute(MAKE_OR_LOCK, [project.pk, now, now, ids, list(trace_ids)])
        names = [column.name for column in cursor.description or ()]
        return [AgentTrace.from_db(connection.alias, names, row) for row in cursor.fetchall()]


def _take(traces: Sequence[AgentTrace], by_trace: dict[str, dict[str, Span]]) -> TakenSpans:
    """Keeps the spans of the traces that are new, as far as each has room. Whatever is new makes a trace due again, to
    be put together or to be told of as late.
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
        trace.assembled_at = None if kept else trace.assembled_at
        changed.append(trace)
    for trace in changed:
        batch.update(trace, fields=COUNTED)
    batch.write()
    return TakenSpans(new=taken, refused=refused)
