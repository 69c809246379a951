"""Sessions of agents, failed tool calls and completeness checks."""

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
    """Optional fields of a session.

    `objective` is the agent's task and `external_id` your own id of the session. `reflection` sets when the server
    reflects on it, such as `{"mode": "inline", "every_turns": 5}`; by default, the project's setting applies.
    """

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
    """Submit a session as OpenAI chat messages, at most 500.

    With `ended=True` it is complete. Otherwise continue it with `add_turns` and finish it with `end_transcript`.
    `tool_errors` has failed tool calls as `{"tool": …, "error": …, "arguments": …, "turn": …}`.
    """
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
    """Add messages to a session, at most 500, and return the newest reflection not returned before.

    `after` is the number of turns that you know of; with it, the same messages are added only once. If the session has
    other turns or has ended, nothing is added and Conflict is raised. With `wait_s`, the server waits for a reflection
    that is in progress.
    """
    body = {"messages": list(messages), "after": after}
    path = f"transcripts/{transcript_id}/turns"
    return post(path, Turns, body, idempotency_key=idempotency_key, wait_s=wait_s)


def end_transcript(transcript_id: UUID | str, *, idempotency_key: str | None = None) -> Call[Transcript]:
    """End a session. The server then reflects on it, if the session or the project's settings request it."""
    return post(f"transcripts/{transcript_id}/end", Transcript, idempotency_key=idempotency_key)


def get_transcript(transcript_id: UUID | str) -> Call[Transcript]:
    """Return a session with its reflections, oldest first. Raises NotFound."""
    return get(f"transcripts/{transcript_id}", Transcript)


class ToolFailureFields(TypedDict, total=False):
    """Optional fields of a failed tool call.

    `params` are its arguments, `status` the HTTP status, `retry_after_seconds` the Retry-After header, and `tools` the
    tools that could be called, including the failed one.
    """

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
    """Report a failed tool call and return its diagnosis with a corrective action.

    A fix that worked before, or a rule, is returned at once. If neither fits, a model diagnoses the failure: with
    `wait_s` in seconds, the server waits for it; else `state` is `diagnosing` and `diagnosis` is None.
    """
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
    """Report whether the next try worked. A fix that worked is suggested first the next time.

    `tool` and `params` are what was called, if different from the advice; `fix` describes it. Raises Conflict if a
    different outcome was already reported.
    """
    body = {"worked": worked, "tool": tool, "params": params, "fix": fix, "note": note}
    return post(f"tool-failures/{failure_id}/outcome", ToolFailure, body, idempotency_key=idempotency_key)


class CheckFields(TypedDict, total=False):
    """Optional fields of a completeness check.

    `tools` are the available tools, `files` those that the work produced and `required_files` those it must have
    produced. `settings` apply to this check only; omitted ones come from the project.
    """

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
    """Check whether work is complete, and return missing aspects and suggested follow-up steps.

    `history` lists the steps done so far. The `files` are inspected; a missing or faulty required file makes the work
    incomplete. With `wait_s` in seconds, the server waits for the result; else `state` may be `checking`.
    """
    body = {"objective": objective, "history": list(history), **fields}
    return post("completeness-checks", CompletenessCheck, body, idempotency_key=idempotency_key, wait_s=wait_s)


def get_completeness_check(check_id: UUID | str) -> Call[CompletenessCheck]:
    """Return a completeness check, which may still be in progress. Raises NotFound."""
    return get(f"completeness-checks/{check_id}", CompletenessCheck)


def list_run_checks(
    *,
    state: str | None = None,
    kind: str | None = None,
    since: datetime | str | None = None,
    run_id: UUID | str | None = None,
    limit: int | None = None,
) -> Call[Page[RunCheck]]:
    """Return a page of completeness checks of runs and of submitted histories, newest first."""
    return get("completeness/checks", Page[RunCheck], state=state, kind=kind, since=since, run_id=run_id, limit=limit)


def recurring_supplements(*, kind: str | None = None) -> Call[RecurringSupplements]:
    """Return the steps that were missing in several runs, most frequent first. Different wordings are grouped."""
    return get("completeness/recurring", RecurringSupplements, kind=kind)


def completeness_figures() -> Call[CompletenessFigures]:
    """Return how many checks of the project found missing work, and how often it was then completed."""
    return get("completeness/figures", CompletenessFigures)
