"""Results of calls, short enough to be kept and shown to a model."""

from reflection_app.loops.storable import storable
from reflection_app.loops.tool_calls import ToolFailure, ToolResult

MOST_BYTES = 2_000_000
LONGEST_TEXT = 64_000
LONGEST_ERROR = 2_000


def told(
    content: str,
    *,
    failure: ToolFailure | None = None,
    error: str = "",
    status: int | None = None,
    retry_after_s: float | None = None,
) -> ToolResult:
    """A result; it failed where there is a failure. What is too long loses its middle, with a mark in its place."""
    text = storable(content)
    return ToolResult(
        ok=failure is None,
        content=shortened(text),
        failure=failure,
        error=storable(error)[:LONGEST_ERROR],
        status=status,
        retry_after_s=retry_after_s,
        is_shortened=len(text) > LONGEST_TEXT,
    )


def failed(failure: ToolFailure, error: str) -> ToolResult:
    return told("", failure=failure, error=error)


def shortened(text: str) -> str:
    if len(text) <= LONGEST_TEXT:
        return text
    head, tail = LONGEST_TEXT * 3 // 4, LONGEST_TEXT // 5
    return f"{text[:head]}\n… [{len(text) - head - tail:,} characters left out] …\n{text[-tail:]}"
