"""A history of work that was done elsewhere, as it is handed in to be checked, field by field."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue, StringConstraints, model_validator

from reflection_app.core.json_sizes import at_most
from reflection_app.loops.completeness.checks import CompletenessSettings, HistoryStep
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import Limits
from reflection_app.loops.tool_arguments import DEEPEST, is_too_deep
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.values import Value
from reflection_app.tasks.submission import LARGEST_METADATA

MOST_STEPS = 500
MOST_TOOLS = 100
LONGEST_OBJECTIVE = 20_000
LONGEST_OPERATION = 2_000
LONGEST_RESULT = 20_000
LARGEST_HISTORY = 1_000_000
LARGEST_TOOLS = 500_000

# A history is longer than a task: where a project's limits are lower, these hold for the one call that is made.
CHECK_LIMITS = Limits(max_iterations=1, token_budget=100_000, time_budget_s=300.0)


def _said(value: str) -> str:
    if not value.strip():
        raise ValueError("must not be blank")
    return value


class StepInput(Value):
    """One step of what was done. A step that failed is `ok: false`, and counts as not done."""

    operation: Annotated[str, Field(min_length=1, max_length=LONGEST_OPERATION), AfterValidator(_said)]
    tool: str = Field(default="", max_length=64)
    ok: bool = True
    result: str = Field(default="", max_length=LONGEST_RESULT)


class ToolInput(Value):
    """A tool that could be used. `parameters` is a JSON Schema of its arguments."""

    name: Annotated[str, StringConstraints(strip_whitespace=True, min_length=1, max_length=64)]
    description: str = Field(default="", max_length=8_000)
    parameters: dict[str, JsonValue] = Field(default_factory=dict)


class CheckSettings(Value):
    """Settings of this check alone; what is left out comes from the project."""

    max_supplements: int | None = Field(default=None, ge=0, le=20)
    temperature: float | None = Field(default=None, ge=0, le=2)
    top_p: float | None = Field(default=None, gt=0, le=1)
    max_retries: int | None = Field(default=None, ge=0, le=5)

    def over(self, settings: CompletenessSettings) -> CompletenessSettings:
        """`settings` with these in front. What is asked for here is done, also where the project has it off."""
        given = self.model_dump(exclude_none=True)
        return CompletenessSettings.model_validate(settings.model_dump() | given | {"enabled": True})


class CheckSubmission(Value):
    """What was to be done, what was done, and what could have been used."""

    objective: Annotated[str, Field(min_length=1, max_length=LONGEST_OBJECTIVE), AfterValidator(_said)]
    history: Annotated[tuple[StepInput, ...], Field(max_length=MOST_STEPS), at_most(LARGEST_HISTORY)]
    tools: Annotated[tuple[ToolInput, ...], Field(max_length=MOST_TOOLS), at_most(LARGEST_TOOLS)] = ()
    kind: str = Field(default="", max_length=60)
    agent: str = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    settings: CheckSettings = CheckSettings()
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "CheckSubmission":
        dumped: dict[str, Any] = self.model_dump(mode="json")
        if is_too_deep(dumped):
            raise ValueError(f"is nested more than {DEEPEST} levels deep")
        if not is_storable(dumped):
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        return self

    @property
    def history_steps(self) -> tuple[HistoryStep, ...]:
        return tuple(HistoryStep(**step.model_dump()) for step in self.history)

    @property
    def tool_specs(self) -> tuple[ToolSpec, ...]:
        return tuple(ToolSpec(**tool.model_dump()) for tool in self.tools)
