"""Failed calls for tests, reported by the same action as in life."""

import json
from itertools import count
from typing import Any

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import ToolFailure
from reflection_app.repairs.tool_failures import (
    FixOutcomeSubmission,
    ToolFailureSubmission,
    report_fix_outcome,
    report_tool_failure,
)
from tests import given

TIMEOUT = {"tool": "search_papers", "params": {"query": "multi-agent"}, "error_message": "Timeout after 30s"}
# No rule can know what this means.
RIDDLE = {"tool": "oracle", "params": {"question": "why"}, "error_message": "The stars are wrong tonight"}
_numbers = count(1)


def report(project: Project, **fields: Any) -> ToolFailure:
    """A reported failure; a timeout unless other fields are given."""
    sent = ToolFailureSubmission.model_validate(TIMEOUT | fields)
    return report_tool_failure(project, sent, actor=Actor())


def remedy_of(failure: ToolFailure) -> str:
    """What the failure's diagnosis comes down to."""
    assert failure.action is not None
    return str(failure.action["remedy"])


def tell(failure: ToolFailure, *, worked: bool = True, **fields: Any) -> ToolFailure:
    """The failure with its outcome."""
    sent = FixOutcomeSubmission.model_validate({"worked": worked} | fields)
    return report_fix_outcome(failure, sent, actor=Actor())


def diagnosing_project(said: str | None = None, **fields: Any) -> Project:
    """A project whose model says this of every failed call that it is asked about."""
    said = said or json.dumps(
        {
            "error_type": "wrong_tool",
            "root_cause": "The oracle answers at new moon only",
            "severity": "high",
            "action": "Ask the almanac instead",
            "fallback_tool": "almanac",
        }
    )
    answers = {"reported/diagnose": said}
    model = register_script(f"diagnoser-{next(_numbers)}", answers)
    return given.project(models_by_role={"default": model}, **fields)
