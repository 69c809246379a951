"""Tools as seen by loops: definitions, calls and results."""

import hashlib
import unicodedata
from collections.abc import Sequence
from enum import StrEnum
from typing import Any

from pydantic import Field, JsonValue, PrivateAttr

from reflection_app.loops import json_schema
from reflection_app.loops.storable import Text
from reflection_app.loops.values import Value
from reflection_app.loops.verdicts import Issue, IssueCategory, Severity

LONGEST_FILE_NAME = 200


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
    """Reason why a call failed, by the stage that stopped it."""

    UNKNOWN_TOOL = "unknown_tool"
    INVALID_ARGUMENTS = "invalid_arguments"
    ADDRESS_REFUSED = "address_refused"
    UNREACHABLE = "unreachable"
    TIMED_OUT = "timed_out"
    TOO_LARGE = "too_large"
    HTTP_STATUS = "http_status"
    TOOL_ERROR = "tool_error"
    MISCONFIGURED = "misconfigured"


# Failures before anything was sent. After any other failure, the tool may have executed the call.
NEVER_SENT = frozenset(
    {
        ToolFailure.UNKNOWN_TOOL,
        ToolFailure.INVALID_ARGUMENTS,
        ToolFailure.ADDRESS_REFUSED,
        ToolFailure.MISCONFIGURED,
    }
)


class ToolFile(Value):
    """A file returned by a tool. The project stores its content by hash; journals do not contain it."""

    name: Text = Field(min_length=1, max_length=LONGEST_FILE_NAME)
    sha256: str = Field(min_length=64, max_length=64)
    size: int = Field(ge=0)


def _plain_name(name: str) -> str:
    """Return the name on one line without invisible or reordering characters, for prompts and pages."""
    seen = "".join(sign for sign in name if sign.isspace() or not unicodedata.category(sign).startswith("C"))
    return " ".join(seen.split())[-LONGEST_FILE_NAME:] or "file"


class ToolResult(Value):
    """Result of a call. `content` is the tool's output, including output of a failed call."""

    ok: bool
    content: Text = ""
    failure: ToolFailure | None = None
    error: Text = ""
    status: int | None = None
    retry_after_s: float | None = None
    is_shortened: bool = False
    # Excluded when empty, so records from before files were stored read and serialize unchanged.
    files: tuple[ToolFile, ...] = Field(default=(), exclude_if=lambda files: not files)

    # Content of the files until it is stored; not part of the journal.
    _contents: tuple[bytes, ...] = PrivateAttr(default=())

    @property
    def contents(self) -> tuple[bytes, ...]:
        return self._contents

    def with_files(self, files: Sequence[tuple[str, bytes]]) -> "ToolResult":
        """Return the result with these files, given as (name, content)."""
        listed = tuple(
            ToolFile(name=_plain_name(name), sha256=hashlib.sha256(content).hexdigest(), size=len(content))
            for name, content in files
        )
        made = self.model_copy(update={"files": listed})
        made._contents = tuple(content for _name, content in files)  # noqa: SLF001 - its own
        return made


# Check a tool's arguments against its JSON Schema, before any call

MOST_VIOLATIONS = 50
# Deeper values would overflow the stack of code that checks, stores or shows them, and no tool needs them.
DEEPEST = 64


class SchemaUnusable(Exception):
    """The tool's own schema is unusable, so no arguments could be valid."""


def violations(arguments: dict[str, Any], *, schema: dict[str, Any]) -> tuple[Issue, ...]:
    """Return every place where `arguments` violate `schema`, with its path. Raise SchemaUnusable."""
    if is_too_deep(arguments):
        return (format_issue(f"it is nested more than {DEEPEST} levels deep", path="$"),)
    if json_schema.draft_of(schema) is None:
        # Servers may name an unknown draft. Most keywords mean the same in all drafts.
        schema = {keyword: value for keyword, value in schema.items() if keyword != "$schema"}
    try:
        json_schema.check_schema(schema)
        found = json_schema.violations(schema, arguments)
    except json_schema.SchemaRefused as error:
        raise SchemaUnusable(str(error)) from None
    return tuple(format_issue(one.message, path=one.path) for one in found[:MOST_VIOLATIONS])


def is_too_deep(value: Any) -> bool:
    """Return True if a JSON value is nested more than DEEPEST levels deep. Iterative."""
    level = [value]
    for _ in range(DEEPEST + 1):
        inside: list[Any] = []
        for outer in level:
            if isinstance(outer, dict | list):
                inside += outer.values() if isinstance(outer, dict) else outer
        level = inside
        if not level:
            return False
    return True


def format_issue(message: str, *, path: str) -> Issue:
    description = message or "it does not fit"
    return Issue(category=IssueCategory.FORMAT, severity=Severity.HIGH, description=description, path=path)
