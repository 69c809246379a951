"""A failed call as an outside agent reports it, and how what was done about it went. Checked field by field."""

from typing import Annotated, Any
from uuid import UUID

from pydantic import AfterValidator, AliasChoices, Field, JsonValue, model_validator

from reflection_app.core.json_sizes import at_most
from reflection_app.loops.diagnosis.diagnoses import LONGEST_DELAY_S, FailedCall
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_arguments import DEEPEST, is_too_deep
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.values import Value
from reflection_app.teams.tool_input import LONGEST_DESCRIPTION, schema_problem

LONGEST_TOOL = 200
LONGEST_ERROR = 20_000
LONGEST_FIX = 2_000
LARGEST_PARAMS = 65_536
MOST_TOOLS = 50
LARGEST_TOOLS = 200_000
LONGEST_RETRY_AFTER_S = 30 * 86_400.0


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


def _shallow(value: dict[str, Any]) -> dict[str, Any]:
    if is_too_deep(value):
        raise ValueError(f"is nested more than {DEEPEST} levels deep")
    return value


def _usable(schema: dict[str, Any]) -> dict[str, Any]:
    if problem := schema_problem(schema):
        raise ValueError(problem)
    return schema


ToolName = Annotated[str, Field(min_length=1, max_length=LONGEST_TOOL), AfterValidator(_said)]
Params = Annotated[dict[str, JsonValue], AfterValidator(_shallow), at_most(LARGEST_PARAMS)]


class Storable(Value):
    """A value that PostgreSQL can keep, wherever it came from."""

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "Storable":
        if not is_storable(self.model_dump(mode="json")):
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        return self


class OtherTool(Value):
    """A tool that the agent could call instead. `parameters` is the JSON Schema of its arguments."""

    name: str = Field(min_length=1, max_length=64)
    description: str = Field(default="", max_length=LONGEST_DESCRIPTION)
    parameters: Annotated[dict[str, JsonValue], AfterValidator(_usable)] = Field(default_factory=dict)


class ToolFailureSubmission(Storable):
    """A call that failed, as the agent that made it tells it."""

    tool: ToolName = Field(
        validation_alias=AliasChoices("tool", "failed_tool"),
        description="the tool that failed, by the name that the agent knows it by; also as `failed_tool`",
    )
    params: Params = Field(
        default_factory=dict,
        validation_alias=AliasChoices("params", "failed_params"),
        description="what it was called with; also as `failed_params`",
    )
    error_message: Annotated[str, Field(min_length=1, max_length=LONGEST_ERROR), AfterValidator(_said)]
    status: int | None = Field(default=None, ge=100, le=599, description="the HTTP status, where there was one")
    retry_after_seconds: float | None = Field(
        default=None, ge=0, le=LONGEST_RETRY_AFTER_S, allow_inf_nan=False, description="as the header Retry-After asked"
    )
    agent: str = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    run_id: UUID | None = Field(default=None, description="the run of this project that the call belongs to")
    tools: Annotated[tuple[OtherTool, ...], Field(max_length=MOST_TOOLS), at_most(LARGEST_TOOLS)] = Field(
        default=(), description="what could be called, the failed tool among them"
    )

    def failed_call(self, *, is_repeated: bool) -> FailedCall:
        """The call as it is diagnosed."""
        return FailedCall(
            tool=self.tool,
            params=self.params,
            error=self.error_message,
            status=self.status,
            retry_after_s=self.retry_after_seconds,
            is_repeated=is_repeated,
            tools=tuple(ToolSpec.model_validate(tool.model_dump()) for tool in self.tools),
        )


class FixOutcomeSubmission(Storable):
    """How the agent's next try went. `tool`, `params` and `delay_seconds` are what it did, where that differs from
    what was advised; `fix` says it in words."""

    worked: bool
    tool: ToolName | None = None
    params: Params | None = None
    fix: str = Field(default="", max_length=LONGEST_FIX)
    delay_seconds: float | None = Field(default=None, ge=0, le=LONGEST_DELAY_S, allow_inf_nan=False)
    note: str = Field(default="", max_length=LONGEST_FIX)
