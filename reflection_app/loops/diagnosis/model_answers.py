"""What a model says of a failed call, and as much of it as can be acted on.

Nothing of it is taken on trust: a tool that is not there, parameters that failed before and delays beyond all bounds
are left out, and what is to be done is told by code from what remains.
"""

import json
import math
from typing import Any

from pydantic import Field, JsonValue, field_validator, model_validator

from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    CorrectiveAction,
    Diagnosis,
    ErrorType,
    FailedCall,
    FailureSeverity,
    Remedy,
    Source,
)
from reflection_app.loops.lenient_values import Clipped, Lenient
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_arguments import is_too_deep

LARGEST_PARAMS = 20_000
# As in the design seed, where a delay is left open.
USUAL_DELAY_S = 3.0
# The names of the design seed, which models that read Chinese give back.
TYPE_NAMES = {
    "参数错误": ErrorType.PARAMETER_ERROR,
    "工具选择错误": ErrorType.WRONG_TOOL,
    "权限不足": ErrorType.PERMISSION_DENIED,
    "外部服务异常": ErrorType.EXTERNAL_SERVICE_ERROR,
    "external_service_exception": ErrorType.EXTERNAL_SERVICE_ERROR,
}
SEVERITY_NAMES = {"低": "low", "中": "medium", "高": "high", "critical": "high"}

DIAGNOSIS_SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["error_type", "root_cause", "severity", "action"],
    "properties": {
        "error_type": {"enum": [one.value for one in ErrorType]},
        "root_cause": {"type": "string"},
        "severity": {"enum": [one.value for one in FailureSeverity]},
        "action": {"type": "string"},
        "modified_params": {"type": ["object", "null"]},
        "fallback_tool": {"type": ["string", "null"]},
        "retry_delay_seconds": {"type": ["number", "null"]},
        "alternative": {"type": ["string", "null"]},
    },
}


class ModelDiagnosis(Lenient):
    """A model's diagnosis, flat as it was asked for or with the inner objects of the design seed."""

    error_type: ErrorType
    root_cause: Clipped = Field(min_length=1)
    severity: FailureSeverity = FailureSeverity.MEDIUM
    action: Clipped = ""
    modified_params: dict[str, JsonValue] | None = None
    fallback_tool: Clipped | None = None
    retry_delay_seconds: float | None = None
    alternative: Clipped = ""

    @model_validator(mode="before")
    @classmethod
    def flatten(cls, value: Any) -> Any:
        if not isinstance(value, dict):
            return value
        inner = [value.get(name) for name in ("diagnosis", "corrective_action")]
        return value | {key: one for part in inner if isinstance(part, dict) for key, one in part.items()}

    @field_validator("error_type", mode="before")
    @classmethod
    def read_type(cls, value: Any) -> Any:
        if not isinstance(value, str):
            return value
        name = value.strip().lower()
        return TYPE_NAMES.get(name, name.replace(" ", "_").replace("-", "_"))

    @field_validator("severity", mode="before")
    @classmethod
    def read_severity(cls, value: Any) -> Any:
        if value is None:
            return FailureSeverity.MEDIUM
        return SEVERITY_NAMES.get(value.strip().lower(), value.strip().lower()) if isinstance(value, str) else value

    @field_validator("action", "alternative", mode="before")
    @classmethod
    def read_text(cls, value: Any) -> Any:
        return "" if value is None else value

    @field_validator("modified_params", mode="after")
    @classmethod
    def leave_out_what_cannot_be_sent(cls, value: dict[str, JsonValue] | None) -> dict[str, JsonValue] | None:
        if not value or is_too_deep(value) or not is_storable(value):
            return None
        return value if len(json.dumps(value, ensure_ascii=False)) <= LARGEST_PARAMS else None


def diagnosis_of(said: ModelDiagnosis, failed: FailedCall) -> Diagnosis:
    """The diagnosis with what can be acted on of what the model said."""
    others = {tool.name for tool in failed.tools if tool.name != failed.tool}
    fallback = (said.fallback_tool or "").strip()
    fallback = fallback if fallback in others else ""
    params = said.modified_params if fallback or said.modified_params != failed.params else None
    delay_s = _bounded_delay(said.retry_delay_seconds, failed)
    remedy = _remedy(said.error_type, failed, others=others, fallback=fallback, has_params=bool(params))
    if remedy is Remedy.RETRY_LATER and delay_s is None:
        delay_s = USUAL_DELAY_S
    return Diagnosis(
        error_type=said.error_type,
        root_cause=said.root_cause,
        severity=said.severity,
        action=CorrectiveAction(
            remedy=remedy,
            action=said.action.strip() or remedy.value.replace("_", " "),
            modified_params=params if remedy is not Remedy.ASK_PERSON else None,
            fallback_tool=fallback or None if remedy is Remedy.SWITCH_TOOL else None,
            retry_delay_seconds=delay_s,
            alternative=said.alternative,
        ),
        source=Source.MODEL,
    )


def _remedy(error_type: ErrorType, failed: FailedCall, *, others: set[str], fallback: str, has_params: bool) -> Remedy:
    """What the type of the error comes down to, given what there is to do it with."""
    match error_type:
        case ErrorType.PERMISSION_DENIED:
            return Remedy.ASK_PERSON
        case _ if fallback:
            return Remedy.SWITCH_TOOL
        case ErrorType.WRONG_TOOL:
            return Remedy.SWITCH_TOOL if others else Remedy.FIX_AND_RETRY
        case ErrorType.EXTERNAL_SERVICE_ERROR if failed.is_repeated and not has_params:
            return Remedy.SKIP
        case ErrorType.EXTERNAL_SERVICE_ERROR:
            return Remedy.RETRY_LATER
    return Remedy.FIX_AND_RETRY


def _bounded_delay(told: float | None, failed: FailedCall) -> float | None:
    """The model's delay, none where it is no delay; never shorter than the service itself asked for."""
    delay_s = told if told is not None and math.isfinite(told) and told > 0 else None
    asked_s = failed.retry_after_s or 0.0
    if delay_s is None and not asked_s:
        return None
    return min(max(delay_s or 0.0, asked_s), LONGEST_DELAY_S)
