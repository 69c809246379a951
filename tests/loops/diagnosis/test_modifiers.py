from typing import Any

import pytest

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import FailedCall
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
        "tags": {"type": "array", "items": {"type": "integer"}},
        "options": {"type": "object", "properties": {"page": {"type": "integer", "maximum": 9}}},
        "code": {"type": "string"},
    },
}
GOOD = {"query": "a", "format": "JSON"}
ANYTHING: dict[str, Any] = {"type": "object"}


def changed(params: dict[str, Any], error: str, *, tool: str = "find", **schema: Any) -> dict[str, Any] | None:
    tools = (ToolSpec(name=tool, parameters=schema or SCHEMA),)
    found = diagnose_by_rules(FailedCall(tool=tool, params=params, error=error, tools=tools))
    assert found is not None
    return found.action.modified_params


@pytest.mark.parametrize(
    ("params", "error", "expected"),
    [
        (GOOD | {"limit": "20"}, "limit: is not of type integer", GOOD | {"limit": 20}),
        (GOOD | {"is_new": "True"}, "invalid parameter", GOOD | {"is_new": True}),
        (GOOD | {"tags": '["1", 2]'}, "invalid parameter", GOOD | {"tags": [1, 2]}),
        (GOOD | {"options": {"page": "12"}}, "invalid parameter", GOOD | {"options": {"page": 9}}),
        (GOOD | {"format": "CSV"}, "invalid enum value", GOOD | {"format": "csv"}),
        (GOOD | {"limit": 500}, "limit is too large: invalid parameter", GOOD | {"limit": 50}),
        (GOOD | {"limit": 0}, "invalid parameter", GOOD | {"limit": 1}),
        ({"query": "a"}, "missing required parameter: format", GOOD),
        (GOOD | {"lang": "en"}, "unexpected keyword argument 'lang'", GOOD),
        (GOOD | {"limit": 40}, "response too large", GOOD | {"limit": 20}),
    ],
)
def test_what_the_schema_tells_is_put_right(params: dict[str, Any], error: str, expected: dict[str, Any]) -> None:
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


@pytest.mark.parametrize("guard", ["dry_run", "where", "filter", "user_id", "if_match", "confirm"])
def test_what_guards_a_call_is_never_left_out(guard: str) -> None:
    assert changed(GOOD | {guard: "y"}, f"unexpected keyword argument '{guard}'") is None


@pytest.mark.parametrize(
    ("params", "error", "expected"),
    [
        ({"query": "old oak trees"}, "Timeout after 30s", {"query": "old oak"}),
        ({"request": {"limit": 50, "q": "a b"}}, "请求超时", {"request": {"limit": 25, "q": "a b"}}),
        ({"关键词": "大模型 推理", "数量": 1}, "未找到相关结果", {"关键词": "大模型", "数量": 1}),
        ({"query": "agents|swarms"}, "Invalid query syntax", {"query": "agents OR swarms"}),
        ({"queries": ['"a b', "c && d"]}, "查询语法错误", {"queries": ["a b", "c AND d"]}),
        ({"q": '"this or that"'}, "Invalid query syntax", None),
        ({"query": "SELECT a || b FROM t WHERE (x"}, "Invalid query syntax", None),
        ({"query": "agents"}, "Timeout after 30s", None),
    ],
)
def test_a_search_asks_for_less_and_its_syntax_is_mended(
    params: dict[str, Any], error: str, expected: dict[str, Any] | None
) -> None:
    assert changed(params, error, tool="search_papers", **ANYTHING) == expected


def test_words_of_a_call_that_changes_something_stay() -> None:
    assert changed({"query": "old oak trees"}, "Timeout after 30s", tool="create_search", **ANYTHING) is None
