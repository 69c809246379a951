"""What a rule's diagnosis gains from the failed call itself: a search made lighter, a query in the tool's own syntax,
and the tool among those that are there which can be used instead.
"""

import re
from collections.abc import Mapping
from typing import Any

from reflection_app.loops.diagnosis.diagnoses import CorrectiveAction, Diagnosis, ErrorType, FailedCall, Remedy
from reflection_app.loops.diagnosis.error_texts import telling_text
from reflection_app.loops.diagnosis.fallback_tools import may_call, may_stand_in, stand_in, stand_ins
from reflection_app.loops.diagnosis.modifiers import Params, can_be_kept, lighter, modified, with_paired_signs
from reflection_app.loops.diagnosis.rules import RULES, Change
from reflection_app.loops.texts import word_set
from reflection_app.loops.tool_calls import ToolFailure

_RULES = {rule.id: rule for rule in RULES}
TIMED_OUT = frozenset({408, 504, 522, 524, 598, 599})
NOTHING_FOUND = word_set("no-results")
# What is named is not there, or not here: the same may be had, or found, by another tool.
MISSING = word_set("status-404 status-410 page-404 page-410 no-such-file not-there no-results not-to-be-had")


def refined(failed: FailedCall, ruled: Diagnosis, likeness: Mapping[str, float]) -> Diagnosis:
    """The rule's diagnosis with what can be told of this call. `likeness` is that of other tools, by their vectors."""
    action = ruled.action
    rule = _RULES.get(ruled.rule)
    changes = rule.changes if rule else ()
    spec = next((tool for tool in failed.tools if tool.name == failed.tool), None)
    schema: dict[str, Any] = spec.parameters if spec else {}
    text = telling_text(failed.error)
    if Change.FIX_QUERY in changes and spec is not None and spec.description:
        described = schema | {"description": f"{spec.description} {schema.get('description') or ''}"}
        params = modified(failed.params, changes=changes, schema=described, text=text)
        action = action.model_copy(update={"modified_params": params})
    if action.modified_params is None and may_call(failed.tool) and _asks_for_less(failed, ruled, changes):
        params = lighter(failed.params, schema=schema, text=text, finds_nothing=ruled.rule in NOTHING_FOUND)
        action = action.model_copy(update={"modified_params": params})
    is_missing = ruled.rule in MISSING or failed.status in (404, 410)
    if action.modified_params is None and action.remedy is Remedy.FIX_AND_RETRY and not is_missing:
        action = action.model_copy(update={"modified_params": with_paired_signs(failed.params, schema)})
    return ruled.model_copy(update={"action": _with_stand_in(action, failed, ruled, likeness)})


def _asks_for_less(failed: FailedCall, ruled: Diagnosis, changes: tuple[Change, ...]) -> bool:
    if ruled.rule in NOTHING_FOUND:
        return True
    is_late = (
        Change.HALVE_SIZE in changes or failed.failure == ToolFailure.TIMED_OUT.value or failed.status in TIMED_OUT
    )
    return (
        is_late and ruled.error_type is ErrorType.EXTERNAL_SERVICE_ERROR and ruled.action.remedy is Remedy.RETRY_LATER
    )


def _with_stand_in(
    action: CorrectiveAction, failed: FailedCall, ruled: Diagnosis, likeness: Mapping[str, float]
) -> CorrectiveAction:
    """With the tool that can be used instead: called by code where this one cannot be, else named."""
    if action.remedy is Remedy.SWITCH_TOOL and action.fallback_tool is not None:
        # The tool that was meant, or one that was found by its words: its own names for the parameters.
        if action.modified_params is None and may_stand_in(action.fallback_tool, called=failed.tool):
            alike = [one for one in stand_ins(failed) if one.tool.name == action.fallback_tool]
            action = action.model_copy(update={"modified_params": _kept(alike[0].params) if alike else None})
        return action
    is_missing = ruled.rule in MISSING or failed.status in (404, 410)
    is_refused = action.remedy in (Remedy.RETRY_LATER, Remedy.SKIP, Remedy.SWITCH_TOOL)
    if ruled.error_type is ErrorType.PERMISSION_DENIED:
        # What may not be read is not read by another way.
        return action
    if not (is_refused or (is_missing and action.remedy is Remedy.FIX_AND_RETRY)):
        return action
    found = stand_in(failed, likeness)
    if found is None:
        return action
    if action.remedy is Remedy.SWITCH_TOOL and may_stand_in(found.tool.name, called=failed.tool):
        words = f"{action.action} {found.in_words()}"
        update = {"fallback_tool": found.tool.name, "modified_params": _kept(found.params), "action": words}
    else:
        # What was found by words alone, and is told without its parameters.
        rest = re.sub(r"^Use \S{1,64} instead\. ?", "", action.alternative)
        update = {"alternative": f"{found.in_words()} {rest}".strip()}
    return action.model_copy(update=update)


def _kept(params: Params | None) -> Params | None:
    return params if params is not None and can_be_kept(params) else None
