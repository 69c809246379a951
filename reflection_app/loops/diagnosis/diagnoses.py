"""Failed calls, diagnoses and corrective actions. Source: "structured reflection" of the third design seed."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from itertools import islice
from typing import Any

from pydantic import ConfigDict, Field, JsonValue

from reflection_app.loops.storable import Text, leaves
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
    """Type of a corrective action, for programs that act on it."""

    FIX_AND_RETRY = "fix_and_retry"
    RETRY_LATER = "retry_later"
    SWITCH_TOOL = "switch_tool"
    ASK_PERSON = "ask_person"
    SKIP = "skip"


class CorrectiveAction(Value):
    """What to do about a failed call; `action` is the description.

    `modified_params` is None if other parameters are needed but unknown. `carried_over` lists the changes of a fix pair
    that were applied to them ("limit: 500 → 100"). It is empty if the pair holds a description only.
    """

    remedy: Remedy
    action: Text
    modified_params: dict[str, JsonValue] | None = None
    fallback_tool: Text | None = None
    retry_delay_seconds: float | None = Field(default=None, ge=0, le=LONGEST_DELAY_S)
    alternative: Text = ""
    carried_over: tuple[Text, ...] = ()


class Source(StrEnum):
    """Source of a diagnosis. MEANING: a classifier of error meanings was confident.

    NONE: no fix pair or rule matched, and no model gave a usable answer.
    """

    FIX_PAIR = "fix_pair"
    RULE = "rule"
    MEANING = "meaning"
    MODEL = "model"
    NONE = "none"


class FailedCall(Value):
    """A failed call to diagnose. `tools` are those that could be called instead."""

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
        """Return the failed call of a loop. The error includes other output of the tool."""
        error = "\n".join(text for text in (result.error, result.content) if text.strip())
        return cls(
            tool=call.tool,
            params=call.arguments,
            error=error or (result.failure.value if result.failure else "The tool failed."),
            status=result.status,
            retry_after_s=result.retry_after_s,
            failure=result.failure.value if result.failure else "",
            is_repeated=is_repeated,
            tools=tools,
        )

    def schema_of(self, name: str) -> dict[str, Any]:
        """Return the JSON Schema of a listed tool's parameters, or {} if unknown."""
        return next((tool.parameters for tool in self.tools if tool.name == name), {})


class Diagnosis(Value):
    """A diagnosis. `signature` is the error in a form that is equal for similar errors (diagnose.signature_of).

    `rule` is the id of the matching rule, `fix_pair` the id of the remembered pair. `sureness` is the confidence, from
    0 to 1, of a diagnosis by meaning.
    """

    error_type: ErrorType
    root_cause: Text
    severity: FailureSeverity = FailureSeverity.MEDIUM
    action: CorrectiveAction
    source: Source
    rule: str = ""
    fix_pair: str = ""
    sureness: float | None = None
    signature: Text = ""
    symptoms: tuple[Text, ...] = ()


class DiagnosedFailure(Value):
    """A failed call with its diagnosis. `place` is the key of the failed call's step within the run."""

    place: str
    attempt: int | None = None
    failed: FailedCall
    diagnosis: Diagnosis


class ParamChangeKind(StrEnum):
    AT_MOST = "at_most"
    AT_LEAST = "at_least"
    MOVED = "moved"
    DROPPED = "dropped"
    ADDED = "added"
    REPLACED = "replaced"
    # Written by older versions only.
    SHORTENED = "shortened"
    WRITTEN = "written"
    OTHER = "other"


class ParamChange(Value):
    """One change that a fix made to the field at `path`.

    `to` is the field that the value was moved to. `before` and `after` are the field's values. `how` was written by
    older versions.
    """

    kind: ParamChangeKind
    path: tuple[str, ...]
    to: tuple[str, ...] = ()
    how: str = ""
    before: JsonValue = None
    after: JsonValue = None


class KnownFix(Value):
    """A fix that worked before on the same tool and signature.

    `action` has `modified_params`, to be merged into the call's own, only if this very call was fixed. `learned` lists
    the parameter changes that the fix made to other calls, one entry per success, newest first.
    """

    fix_pair: str
    error_type: ErrorType
    fix: Text
    action: CorrectiveAction
    successes: int = 0
    failures: int = 0
    learned: tuple[tuple[ParamChange, ...], ...] = ()


class JudgedRemedy(Value):
    """Remedy by the error's meaning: a confidence from 0 to 1 per remedy, and the most likely error type.

    `is_sure`: no model needs to be asked. `is_exact`: the matching rule was almost never wrong, so it applies.
    """

    sureness: dict[Remedy, float]
    error_type: ErrorType
    is_sure: bool
    is_exact: bool = False

    @property
    def remedy(self) -> Remedy:
        """The remedy with the highest confidence."""
        return max(self.sureness, key=lambda one: self.sureness[one])


class FixRecall(Value):
    """Result of looking up fixes for a failure; `known` is None if there is none.

    `judged` is None if no embedding model is available or none answered in time. Older journals hold more fields.
    """

    model_config = ConfigDict(extra="ignore")

    known: KnownFix | None = None
    judged: JudgedRemedy | None = None


class FixOutcome(Value):
    """Outcome of a fix. `params` and `tool` are those of the call that followed, whether it worked or not.

    Empty fields mean that the advice was followed.
    """

    place: str = ""
    worked: bool
    tool: str = ""
    params: dict[str, JsonValue] | None = None
    fix: Text = ""
    delay_s: float | None = None


# Quality checklist of a diagnosed failure, from the third design seed. Every check is computed.


class FailureChecklist(Value):
    """Checks that a failure record contains enough to act on and to learn from."""

    names_the_tool: bool
    has_the_params: bool
    has_a_type: bool
    has_a_concrete_action: bool
    has_an_outcome: bool


def checklist_of(
    *, tool: str, params: Any, error_type: str, action: Mapping[str, Any] | None, worked: bool | None
) -> FailureChecklist:
    """Return the checklist of a stored failure. An action is concrete if it says more than its type."""
    action = action or {}
    details = ("modified_params", "fallback_tool", "retry_delay_seconds", "alternative")
    is_concrete = bool(str(action.get("action", "")).strip()) and any(action.get(name) for name in details)
    return FailureChecklist(
        names_the_tool=bool(tool.strip()),
        has_the_params=isinstance(params, dict),
        has_a_type=error_type in {one.value for one in ErrorType},
        has_a_concrete_action=is_concrete,
        has_an_outcome=worked is not None,
    )


# What of a fix may be shown: values of parameters may be secrets, their names are not.

HIDDEN = "…"
# Shorter texts are everyday words; hiding them would make every sentence unreadable.
SHORTEST_HIDDEN = 8
# Bounds the work: a page of hundreds of failures would search every text for thousands of values each.
MOST_VALUES = 200


@dataclass(frozen=True)
class ChangedParam:
    """A parameter that a fix changes. `was_there` and `is_there` are False if it is added or removed."""

    name: str
    before: Any
    after: Any
    was_there: bool = True
    is_there: bool = True


def changed_params(before: Mapping[str, Any], after: Mapping[str, Any] | None) -> tuple[ChangedParam, ...]:
    """Return the differences between two sets of parameters, or () if there is no second one."""
    if after is None:
        return ()
    return tuple(
        ChangedParam(name, before.get(name), after.get(name), was_there=name in before, is_there=name in after)
        for name in dict.fromkeys((*before, *after))
        if name not in before or name not in after or before[name] != after[name]
    )


def without_values(texts: Sequence[str], *params: Mapping[str, Any] | None) -> list[str]:
    """Return `texts` with every longer value of `params` hidden. If there are too many, hide all of it."""
    written = (str(value).strip() for mapping in params for value in leaves(mapping) if not isinstance(value, bool))
    longer = (value for value in written if len(value) >= SHORTEST_HIDDEN)
    values = set(islice(longer, MOST_VALUES + 1))
    if len(values) > MOST_VALUES:
        return [HIDDEN for _ in texts]
    for value in sorted(values, key=len, reverse=True):
        texts = [text.replace(value, HIDDEN) for text in texts]
    return list(texts)
