"""Whatever a tool says and whatever it was called with, a diagnosis can be kept, shown and acted on."""

import json
from typing import Any

from hypothesis import given, settings
from hypothesis import strategies as st

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules, from_known_fix
from reflection_app.loops.diagnosis.diagnoses import (
    LONGEST_DELAY_S,
    CorrectiveAction,
    Diagnosis,
    ErrorType,
    FailedCall,
    KnownFix,
    Remedy,
)
from reflection_app.loops.storable import is_storable
from reflection_app.loops.tool_calls import SchemaUnusable, ToolFailure, ToolSpec, violations
from tests.loops.diagnosis.labelled_errors import LABELLED

KEYS = st.sampled_from(["query", "limit", "lang", "max_results", "url", "a", "b"])
PLAIN = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=20)
VALUES = st.recursive(
    PLAIN, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(KEYS, inner, max_size=3), max_leaves=6
)
PARTS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.sampled_from(["integer", "number", "string", "boolean", "array", "object", "nonsense"]),
        "enum": st.lists(st.sampled_from(["A", "a b", "B_C", 1, None]), max_size=3),
        "default": VALUES,
        "minimum": st.integers(-5, 60) | st.floats() | st.text(max_size=2),
        "maximum": st.integers(-5, 60) | st.floats() | st.text(max_size=2),
    },
)
SCHEMAS = st.fixed_dictionaries(
    {},
    optional={
        "type": st.just("object"),
        "properties": st.dictionaries(KEYS, PARTS | st.booleans(), max_size=5) | st.just([]),
        "required": st.lists(KEYS, max_size=3) | st.just("query"),
        "additionalProperties": st.booleans(),
    },
)
SAID = st.sampled_from([error for error, _, _ in LABELLED]) | st.text(max_size=300)
MORE = st.sampled_from(
    ["", " unknown parameter: a", " limit must be at most 5", " try again in 99999999h", '{"code": 429}']
)
NAMES = st.sampled_from(["search", "searches", "get_page", "delete_page"])
FAILED = st.builds(
    FailedCall,
    tool=NAMES,
    params=st.dictionaries(KEYS, VALUES, max_size=5),
    error=st.builds(str.__add__, SAID, MORE),
    status=st.none() | st.integers(-1, 700),
    retry_after_s=st.none() | st.floats(),
    failure=st.sampled_from(["", "nonsense", *[failure.value for failure in ToolFailure]]),
    is_repeated=st.booleans(),
    tools=st.lists(st.builds(ToolSpec, name=NAMES, parameters=SCHEMAS), max_size=4).map(tuple),
)
KNOWN = st.builds(
    KnownFix,
    fix_pair=st.just("p"),
    error_type=st.sampled_from(ErrorType),
    fix=st.text(max_size=30),
    action=st.builds(
        CorrectiveAction,
        remedy=st.sampled_from(Remedy),
        action=st.text(max_size=30),
        modified_params=st.none() | st.dictionaries(KEYS, st.integers() | st.text(max_size=5), max_size=3),
        fallback_tool=st.none() | NAMES,
        retry_delay_seconds=st.none() | st.floats(0, LONGEST_DELAY_S),
    ),
)


def broken(params: dict[str, Any], schema: dict[str, Any]) -> int | None:
    try:
        return len(violations(params, schema=schema))
    except SchemaUnusable:
        return None


def check_it_can_be_kept(found: Diagnosis) -> None:
    assert Diagnosis.model_validate_json(found.model_dump_json()) == found
    assert is_storable(found.model_dump(mode="json"))
    assert len(found.signature) <= 300
    assert len(found.symptoms) <= 5
    assert 0 <= (found.action.retry_delay_seconds or 0) <= LONGEST_DELAY_S


@settings(max_examples=50)
@given(FAILED)
def test_any_failure_is_diagnosed_or_left_alone(failed: FailedCall) -> None:
    found = diagnose_by_rules(failed)
    if found is None:
        return
    check_it_can_be_kept(found)
    assert len(found.model_dump_json()) < 20_000
    action = found.action
    if action.remedy is Remedy.RETRY_LATER:
        assert action.retry_delay_seconds is not None
        assert not failed.is_repeated or action.retry_delay_seconds >= 10
    if action.fallback_tool is not None:
        assert action.fallback_tool in {tool.name for tool in failed.tools}
    if action.modified_params is not None and action.remedy is not Remedy.SWITCH_TOOL:
        assert json.dumps(action.modified_params) != json.dumps(failed.params)
        schema = next((tool.parameters for tool in failed.tools if tool.name == failed.tool), {})
        before, after = broken(failed.params, schema), broken(action.modified_params, schema)
        assert schema == {} or (before is not None and after is not None and after <= before)


@settings(max_examples=50)
@given(FAILED, KNOWN)
def test_any_remembered_fix_can_be_applied_to_any_failure(failed: FailedCall, known: KnownFix) -> None:
    found = from_known_fix(failed, known)
    assert (found.fix_pair, found.error_type) == (known.fix_pair, known.error_type)
    assert 0 <= (found.action.retry_delay_seconds or 0) <= LONGEST_DELAY_S
    if found.action.modified_params != known.action.modified_params:
        check_it_can_be_kept(found)
