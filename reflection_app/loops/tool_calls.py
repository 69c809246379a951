"""Tools as loops know them: what can be called, a call, and what came back."""

from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue

from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value

Plain = Text


class ToolSpec(Value):
    """A tool that a task may use, as described when the run began. `parameters` is a JSON Schema of an object."""

    name: str = Field(min_length=1, max_length=64)
    description: str = ""
    parameters: dict[str, Any] = Field(default_factory=dict)


class ToolCall(Value):
    """A tool's name and its arguments."""

    tool: str = Field(min_length=1, max_length=64)
    arguments: dict[str, JsonValue] = Field(default_factory=dict)


class ToolFailure(StrEnum):
    """Why a call failed, in terms of where it was stopped."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    ADDRESS_REFUSED = "address_refused"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    HTTP_STATUS = "http_status"
    TOOL_ERROR = "tool_error"
    MISCONFIGURED = "misconfigured"


class ToolResult(Value):
    """What a call came to. `content` is what the tool said, also where it failed and said something."""

    ok: bool
    content: Plain = ""
    failure: ToolFailure | None = None
    error: Plain = ""
    status: int | None = None
    retry_after_s: float | None = None
    is_shortened: bool = False
