"""Failed calls, their diagnosis and the corrective action, after "structured reflection" of the third design seed."""

from enum import StrEnum

from pydantic import Field, JsonValue

from reflection_app.loops.storable import Text
from reflection_app.loops.tool_calls import ToolCall, ToolResult, ToolSpec
from reflection_app.loops.values import Value

LONGEST_DELAY_S = 3_600.0


class ErrorType(StrEnum):
    PARAMETER_ERROR = "parameter_error"
    WRONG_TOOL = "wrong_tool"
    PERMISSION_DENIED = "permission_denied"
    EXTERNAL_SERVICE_ERROR = "external_service_error"


class FailureSeverity(StrEnum):
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"


class Remedy(StrEnum):
    """What a corrective action comes down to, for code that has to act on it."""

    FIX_AND_RETRY = "fix_and_retry"
    RETRY_LATER = "retry_later"
    SWITCH_TOOL = "switch_tool"
    ASK_PERSON = "ask_person"
    SKIP = "skip"


class CorrectiveAction(Value):
    """`action` says it in words. `modified_params` is None where other parameters are needed that nobody knows yet."""

    remedy: Remedy
    action: Text
    modified_params: dict[str, JsonValue] | None = None
    fallback_tool: Text | None = None
    retry_delay_seconds: float | None = Field(default=None, ge=0, le=LONGEST_DELAY_S)
    alternative: Text = ""


class Source(StrEnum):
    """Where a diagnosis comes from. NONE: no fix pair and no rule fitted, and no model gave a usable answer."""

    FIX_PAIR = "fix_pair"
    RULE = "rule"
    MODEL = "model"
    NONE = "none"


class FailedCall(Value):
    """A call that failed, as it is diagnosed. `tools` are those that could be called instead."""

    tool: str = Field(min_length=1, max_length=200)
    params: dict[str, JsonValue] = Field(default_factory=dict)
    error: Text
    status: int | None = None
    retry_after_s: float | None = None
    failure: str = ""
    is_repeated: bool = False
    tools: tuple[ToolSpec, ...] = ()

    @classmethod
    def of(
        cls, call: ToolCall, result: ToolResult, *, tools: tuple[ToolSpec, ...] = (), is_repeated: bool = False
    ) -> "FailedCall":
        """The failed call of a loop. What the tool said beside its error is part of the error."""
        said = "\n".join(text for text in (result.error, result.content) if text.strip())
        return cls(
            tool=call.tool,
            params=call.arguments,
            error=said or (result.failure.value if result.failure else "The tool failed."),
            status=result.status,
            retry_after_s=result.retry_after_s,
            failure=result.failure.value if result.failure else "",
            is_repeated=is_repeated,
            tools=tools,
        )


class Diagnosis(Value):
    """`signature` is the error in a form in which alike errors are equal (diagnosis/signatures.py).

    `rule` names the rule of the table that fitted, `fix_pair` the pair that was remembered.
    """

    error_type: ErrorType
    root_cause: Text
    severity: FailureSeverity = FailureSeverity.MEDIUM
    action: CorrectiveAction
    source: Source
    rule: str = ""
    fix_pair: str = ""
    signature: Text = ""
    symptoms: tuple[Text, ...] = ()


class DiagnosedFailure(Value):
    """A failed call with its diagnosis. `place` names the failure within its run: the key of the failed call's step."""

    place: str
    attempt: int | None = None
    failed: FailedCall
    diagnosis: Diagnosis


class KnownFix(Value):
    """A fix that worked before on the same tool with the same signature."""

    fix_pair: str
    error_type: ErrorType
    fix: Text
    action: CorrectiveAction
    successes: int = 0
    failures: int = 0


class FixRecall(Value):
    """What the memory of fixes holds for a failure; nothing where `known` is None."""

    known: KnownFix | None = None


class FixOutcome(Value):
    """How what was done about a failure went. `params` and `tool` are those of the call that worked, or did not."""

    place: str
    worked: bool
    tool: str = ""
    params: dict[str, JsonValue] | None = None
    fix: Text = ""
    delay_s: float | None = None
