from typing import Any

import pytest

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import FailedCall
from reflection_app.loops.diagnosis.queries import mended
from reflection_app.loops.tool_calls import ToolSpec

SCHEMA: dict[str, Any] = {
    "type": "object",
    "required": ["query", "format"],
    "additionalProperties": False,
    "properties": {
        "query": {"type": "string"},
        "format": {"enum": ["JSON", "csv"], "default": "JSON"},
        "limit": {"type": "integer", "minimum": 1, "maximum": 50},
        "ratio": {"type": "number"},
        "is_new": {"type": "boolean"},
        "tags": {"type": "array"},
        "code": {"type": "string"},
    },
}
GOOD = {"query": "a", "format": "JSON"}


def changed(params: dict[str, Any], error: str, *, schema: dict[str, Any] | None = SCHEMA) -> dict[str, Any] | None:
    tools = (ToolSpec(name="find", parameters=schema),) if schema is not None else ()
    found = diagnose_by_rules(FailedCall(tool="find", params=params, error=error, tools=tools))
    assert found is not None
    return found.action.modified_params


@pytest.mark.parametrize(
    ("params", "error", "expected"),
    [
        (GOOD | {"limit": "20"}, "limit: is not of type integer", GOOD | {"limit": 20}),
        (GOOD | {"ratio": "0.5"}, "invalid parameter ratio", GOOD | {"ratio": 0.5}),
        (GOOD | {"is_new": "True"}, "invalid parameter", GOOD | {"is_new": True}),
        (GOOD | {"tags": '["a", "b"]'}, "invalid parameter", GOOD | {"tags": ["a", "b"]}),
        (GOOD | {"code": 7}, "invalid parameter", GOOD | {"code": "7"}),
        (GOOD | {"format": "CSV"}, "invalid enum value", GOOD | {"format": "csv"}),
        (GOOD | {"limit": 500}, "limit must be at most 50", GOOD | {"limit": 50}),
        ({"query": "a"}, "missing required parameter: format", GOOD),
        (GOOD | {"lang": "en"}, "unexpected keyword argument 'lang'", GOOD),
        (GOOD | {"limit": 40}, "response too large", GOOD | {"limit": 20}),
    ],
)
def test_what_code_can_put_right_is_put_right(params: dict[str, Any], error: str, expected: dict[str, Any]) -> None:
    assert changed(params, error) == expected


@pytest.mark.parametrize(
    ("params", "error"),
    [
        (GOOD, "missing required parameter: city"),
        (GOOD | {"limit": "many"}, "limit: is not of type integer"),
        (GOOD | {"format": "xml"}, "invalid enum value"),
        ({"format": "JSON"}, "missing required parameter: query"),
        (GOOD, "invalid parameter query"),
    ],
)
def test_what_nobody_knows_is_not_guessed(params: dict[str, Any], error: str) -> None:
    assert changed(params, error) is None


def test_a_size_of_several_types_is_left_alone() -> None:
    schema = {"type": "object", "properties": {"limit": {"type": ["integer", "null"]}}}
    assert changed({"query": "a"}, "response too large", schema=schema) is None


@pytest.mark.parametrize("guard", ["dry_run", "where", "filter", "user_id", "if_match", "confirm"])
def test_what_guards_a_call_is_never_left_out(guard: str) -> None:
    assert changed({"name": "x", guard: "y"}, f"unexpected keyword argument '{guard}'", schema=None) is None


def test_without_a_schema_only_what_the_error_names_is_changed() -> None:
    params = {"name": "x", "lang": "en", "size": 900}
    assert changed(params, "unknown parameter: lang", schema=None) == {"name": "x", "size": 900}
    assert changed(params, "size must be less than or equal to 100", schema=None) == params | {"size": 100}
    assert changed(params, "invalid parameter: lang", schema=None) is None


@pytest.mark.parametrize(
    ("query", "expected"),
    [
        ("multi-agent or agent coordination", "multi-agent OR agent coordination"),
        ('"multi agent', "multi agent"),
        ("(a AND (b", "a AND b"),
        ("a && b || c", "a AND b OR c"),
        ("salt and pepper", "salt and pepper"),
        ('"this or that"', '"this or that"'),
        ("a AND", "a"),
        ("OR", "OR"),
    ],
)
def test_queries_are_mended_without_changing_their_words(query: str, expected: str) -> None:
    assert mended(query) == expected
