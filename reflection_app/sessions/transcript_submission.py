"""A session as it is handed in, checked message by message. Messages are kept as they came."""

from typing import Annotated, Any

from pydantic import AfterValidator, Field, JsonValue, model_validator

from reflection_app.core.json_sizes import at_most, check_size
from reflection_app.loops.session_messages import ROLES
from reflection_app.loops.storable import is_storable
from reflection_app.loops.task_spec import MOST_REFLECTIONS, Limits
from reflection_app.loops.values import Value
from reflection_app.tasks.submission import (
    LARGEST_METADATA,
    AnyReflection,
    Files,
    LimitsOverride,
    ReflectionInput,
    ToolErrors,
)

MOST_MESSAGES_AT_ONCE = 500
MOST_TURNS = 10_000
LARGEST_MESSAGE = 200_000
LONGEST_OBJECTIVE = 20_000

# A session is longer than a task: where a project's limits are lower, these hold. Iterations are reflections here.
SESSION_LIMITS = Limits(max_iterations=200, token_budget=500_000, time_budget_s=3_600.0)


def _message(value: dict[str, Any]) -> dict[str, Any]:
    """The message. Raises ValueError, which says what of it is not of the form."""
    if value.get("role") not in ROLES:
        raise ValueError(f"role must be one of {', '.join(ROLES)}")
    if not isinstance(value.get("content"), str | list | None):
        raise ValueError("content must be a text, a list of parts, or null")
    if not isinstance(value.get("tool_calls"), list | None):
        raise ValueError("tool_calls must be a list")
    if not isinstance(value.get("is_error"), bool | None):
        raise ValueError("is_error must be true or false")
    check_size(value, longest=LARGEST_MESSAGE)
    if not is_storable(value):
        raise ValueError("holds a NUL character, half a surrogate pair or an infinite number, which cannot be stored")
    return value


Message = Annotated[dict[str, JsonValue], AfterValidator(_message)]


class SessionLimitsOverride(LimitsOverride):
    """What the reflections on this session may take; iterations are reflections."""

    max_iterations: int | None = Field(default=None, ge=1, le=MOST_REFLECTIONS)


class TranscriptSubmission(Value):
    """A session of an agent: whole, with `ended`, or its beginning."""

    objective: str = Field(default="", max_length=LONGEST_OBJECTIVE)
    agent: str = Field(default="", max_length=120)
    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = None
    messages: Annotated[tuple[Message, ...], Field(max_length=MOST_MESSAGES_AT_ONCE)] = ()
    tool_errors: ToolErrors = ()
    files: Files = ()
    reflection: AnyReflection = ReflectionInput()
    limits: SessionLimitsOverride = SessionLimitsOverride()
    ended: bool = False
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(default_factory=dict)

    @model_validator(mode="after")
    def check_it_can_be_stored(self) -> "TranscriptSubmission":
        if not is_storable(self.model_dump(mode="json")):
            raise ValueError("a text holds a NUL character or half a surrogate pair, which cannot be stored")
        return self

    def limits_over(self, project: Limits) -> Limits:
        """What the reflections may take: the submission's own, else the project's or a session's, the larger."""
        usual = project.model_copy(
            update={
                "max_iterations": max(project.max_iterations, SESSION_LIMITS.max_iterations),
                "token_budget": max(project.token_budget, SESSION_LIMITS.token_budget),
                "time_budget_s": max(project.time_budget_s, SESSION_LIMITS.time_budget_s),
            }
        )
        return self.limits.over(usual)


class TurnsInput(Value):
    """What happened next in a session. With `after`, the turns that the sender knows of, they are taken once only."""

    messages: Annotated[tuple[Message, ...], Field(min_length=1, max_length=MOST_MESSAGES_AT_ONCE)]
    after: int | None = Field(default=None, ge=0, le=MOST_TURNS)
