"""Sessions of agents, and their calls of tools that failed."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from typing import Any, TypedDict, Unpack
from uuid import UUID

from reflection_desk.answers import (
    CompletenessCheck,
    CompletenessFigures,
    Page,
    RecurringSupplements,
    RunCheck,
    ToolFailure,
    Transcript,
    Turns,
)
from reflection_desk.call import Call, get, post


class TranscriptFields(TypedDict, total=False):
    """What may be said of a session besides what happens in it."""

    objective: str | None
    agent: str | None
    external_id: str | None
    files: Sequence[Mapping[str, str]] | None
    reflection: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None


def submit_transcript(
    messages: Sequence[Mapping[str, Any]] = (),
    *,
    ended: bool = False,
    tool_errors: Sequence[Mapping[str, Any]] | None = None,
    idempotency_key: str | None = None,
    **fields: Unpack[TranscriptFields],
) -> Call[Transcript]:
    """A session in OpenAI-style messages, whole (`ended=True`) or to be gone on with by `add_turns`."""
    body = {"messages": list(messages), "ended": ended, "tool_errors": tool_errors, **fields}
    return post("transcripts", Transcript, body, idempotency_key=idempotency_key)


def add_turns(
    transcript_id: UUID | str,
    messages: Sequence[Mapping[str, Any]],
    *,
    after: int | None = None,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
) -> Call[Turns]:
    """The session's next messages. `after` is the number of the last turn you know of: a gap is refused."""
    body = {"messages": list(messages), "after": after}
    path = f"transcripts/{transcript_id}/turns"
    return post(path, Turns, body, idempotency_key=idempotency_key, wait_s=wait_s)


def end_transcript(transcript_id: UUID | str, *, idempotency_key: str | None = None) -> Call[Transcript]:
    """Ends the session; the desk looks back at it, where the project says so."""
    return post(f"transcripts/{transcript_id}/end", Transcript, idempotency_key=idempotency_key)


def get_transcript(transcript_id: UUID | str) -> Call[Transcript]:
    """The session with the reflections on it."""
    return get(f"transcripts/{transcript_id}", Transcript)


class ToolFailureFields(TypedDict, total=False):
    """What may be said of a call that failed."""

    params: Mapping[str, Any] | None
    status: int | None
    retry_after_seconds: float | None
    agent: str | None
    external_id: str | None
    run_id: UUID | str | None
    tools: Sequence[Mapping[str, Any]] | None


def report_tool_failure(
    tool: str,
    error_message: str,
    *,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
    **fields: Unpack[ToolFailureFields],
) -> Call[ToolFailure]:
    """A failed call of a tool, for a diagnosis and a corrective action. A model that has to think is waited for."""
    body = {"tool": tool, "error_message": error_message, **fields}
    return post("tool-failures", ToolFailure, body, idempotency_key=idempotency_key, wait_s=wait_s)


def report_fix_outcome(
    failure_id: UUID | str,
    *,
    worked: bool,
    tool: str | None = None,
    params: Mapping[str, Any] | None = None,
    fix: str | None = None,
    note: str | None = None,
    idempotency_key: str | None = None,
) -> Call[ToolFailure]:
    """How the fix went: one that worked is tried first the next time."""
    body = {"worked": worked, "tool": tool, "params": params, "fix": fix, "note": note}
    return post(f"tool-failures/{failure_id}/outcome", ToolFailure, body, idempotency_key=idempotency_key)


class CheckFields(TypedDict, total=False):
    """What a check may be told besides the objective and the history; `settings` are of this check alone."""

    tools: Sequence[Mapping[str, Any]] | None
    kind: str | None
    agent: str | None
    external_id: str | None
    files: Sequence[Mapping[str, Any]] | None
    required_files: Sequence[Mapping[str, Any]] | None
    settings: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None


def check_completeness(
    objective: str,
    history: Sequence[Mapping[str, Any]],
    *,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
    **fields: Unpack[CheckFields],
) -> Call[CompletenessCheck]:
    """What the work still lacks, before it is summed up. The `files` are opened, and their faults count."""
    body = {"objective": objective, "history": list(history), **fields}
    return post("completeness-checks", CompletenessCheck, body, idempotency_key=idempotency_key, wait_s=wait_s)


def get_completeness_check(check_id: UUID | str) -> Call[CompletenessCheck]:
    """The check, which may still be going on."""
    return get(f"completeness-checks/{check_id}", CompletenessCheck)


def list_run_checks(
    *,
    state: str | None = None,
    kind: str | None = None,
    since: datetime | str | None = None,
    run_id: UUID | str | None = None,
    limit: int | None = None,
) -> Call[Page[RunCheck]]:
    """Completeness checks of runs at work and of histories, the newest first, with what came of the supplements."""
    return get("completeness/checks", Page[RunCheck], state=state, kind=kind, since=since, run_id=run_id, limit=limit)


def recurring_supplements(*, kind: str | None = None) -> Call[RecurringSupplements]:
    """What keeps being missing, in whatever words, the most frequent first."""
    return get("completeness/recurring", RecurringSupplements, kind=kind)


def completeness_figures() -> Call[CompletenessFigures]:
    """How often something was missing in this project, and what became of it."""
    return get("completeness/figures", CompletenessFigures)
