"""Making sessions of traces. One is opened soon after its root has ended, and ends once nothing more of it comes, with
the spans that came late. What comes after that is kept for a while, and told of, but no session is written again.
"""

import json
import logging
from collections import Counter
from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

from django.db import OperationalError, transaction
from django.db.models import Q
from django.utils.translation import gettext_noop

from reflection_app.core.audit import Actor
from reflection_app.sessions.agent_spans import spans_of
from reflection_app.sessions.models.agent_trace import AgentSpan, AgentTrace
from reflection_app.sessions.models.transcript import Transcript, TranscriptTurn
from reflection_app.sessions.otlp.conversation import Conversation, conversation_of_spans
from reflection_app.sessions.transcript_submission import (
    MOST_MESSAGES_AT_ONCE,
    MOST_TURNS,
    TranscriptSubmission,
    TurnsInput,
)
from reflection_app.sessions.transcripts import add_turns, end_transcript, open_transcript

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
FAILED = gettext_noop("It could not be made a session; the desk's log says why.")
LATE = gettext_noop("Spans came after the session had ended; they are not in it.")
TOO_LARGE = gettext_noop("It was too large to be read whole.")
LONGEST_ID = 200
LONGEST_AGENT = 120
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
        # Nothing of it can be told, such as of embeddings alone. Whatever comes of it later begins anew.
        trace.delete()
        return
    is_new = trace.transcript is None
    transcript = trace.transcript or _open(trace, conversation)
    if not is_new or transcript.turns_made < len(conversation.messages):
        _append(transcript, conversation.messages)
    if transcript.metadata != (described := _metadata(trace, conversation)):
        Transcript.objects.filter(pk=transcript.pk).update(metadata=described)
    if trace.last_span_at <= now - (ENDS_AFTER if trace.has_root else ENDS_WITHOUT_ROOT_AFTER):
        end_transcript(transcript, actor=Actor())
        _settle(trace, now, problem=TOO_LARGE if len(spans) < trace.spans_received or trace.spans_dropped else "")


def _open(trace: AgentTrace, conversation: Conversation) -> Transcript:
    submission = TranscriptSubmission(
        agent=conversation.agent[:LONGEST_AGENT],
        objective=_objective(conversation),
        external_id=(conversation.conversation_id or trace.trace_id)[:LONGEST_ID],
        messages=conversation.messages[:MOST_MESSAGES_AT_ONCE],
        metadata=_metadata(trace, conversation),
    )
    transcript = open_transcript(trace.project, submission, actor=Actor())
    AgentTrace.objects.filter(pk=trace.pk).update(transcript=transcript)
    trace.transcript = transcript
    return transcript


def _objective(conversation: Conversation) -> str:
    """What the agent's user said first; nobody states an objective in a trace."""
    said = (str(message["content"]) for message in conversation.messages if message["role"] == "user")
    return next(said, "")[:LONGEST_OBJECTIVE]


def _append(transcript: Transcript, messages: Sequence[dict[str, Any]]) -> None:
    """Adds what the session has not: what follows its turns, else what of it is not among them."""
    rows = TranscriptTurn.objects.filter(transcript=transcript).order_by("seq")
    left = list(rows.values_list("message", flat=True))
    is_continued = list(messages[: len(left)]) == left
    news = list(messages[len(left) :]) if is_continued else _not_among(messages, left)
    news = news[: MOST_TURNS - transcript.turns_made]
    for start in range(0, len(news), MOST_MESSAGES_AT_ONCE):
        part = tuple(news[start : start + MOST_MESSAGES_AT_ONCE])
        transcript.turns_made = add_turns(transcript, TurnsInput(messages=part), actor=Actor()).transcript.turns_made


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
    told = {
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
    return {name: value for name, value in told.items() if value}


def _settle(trace: AgentTrace, now: datetime, *, problem: str) -> None:
    AgentTrace.objects.filter(pk=trace.pk).update(assembled_at=now, problem=problem or trace.problem)
