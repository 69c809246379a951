"""The quality checklist of a diagnosed failure, after the third design seed. Every check is computed."""

from collections.abc import Mapping
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import ErrorType
from reflection_app.loops.values import Value


class FailureChecklist(Value):
    """Whether what is kept of a failure is enough to act on, and to learn from."""

    names_the_tool: bool
    has_the_params: bool
    has_a_type: bool
    has_a_concrete_action: bool
    has_an_outcome: bool


def checklist_of(
    *, tool: str, params: Any, error_type: str, action: Mapping[str, Any] | None, worked: bool | None
) -> FailureChecklist:
    """The checks, on what is kept. An action is concrete where it says more than its kind."""
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
