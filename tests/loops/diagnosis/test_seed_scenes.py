"""The four scenes of the design seed, in the languages in which tools answer."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import Wait
from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, ErrorType, FailedCall, Remedy
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolSpec
from tests.loops.playing import NO_AUDIT, Played, play
from tests.loops.tool_playing import calls_of, failed, in_turn, worked

SEARCH = "mcp__arxiv-mcp-server__search_papers"
SEARCH_SPEC = ToolSpec(
    name=SEARCH,
    description="Search papers on arXiv.",
    parameters={
        "type": "object",
        "required": ["query"],
        "properties": {
            "query": {"type": "string"},
            "categories": {"type": "array", "items": {"type": "string"}},
            "max_results": {"type": "integer", "minimum": 1, "maximum": 50},
        },
    },
)


def ruled(failed: FailedCall) -> Diagnosis:
    found = diagnose_by_rules(failed)
    assert found is not None
    return found


@pytest.mark.parametrize("error", ["Timeout after 30s", "请求超时", "arXiv API 30 秒无响应"])
def test_scene_1_a_search_that_times_out_asks_for_less_after_five_seconds(error: str) -> None:
    params = {"query": "multi-agent orchestration", "categories": ["cs.AI"]}
    found = ruled(FailedCall(tool=SEARCH, params=params, error=error, tools=(SEARCH_SPEC,)))
    assert (found.error_type, found.severity.value) == (ErrorType.EXTERNAL_SERVICE_ERROR, "medium")
    assert (found.action.remedy, found.action.retry_delay_seconds) == (Remedy.RETRY_LATER, 5)
    assert found.action.modified_params == params | {"max_results": 10}
    halved = ruled(FailedCall(tool=SEARCH, params=params | {"max_results": 30}, error=error, tools=(SEARCH_SPEC,)))
    assert halved.action.modified_params == params | {"max_results": 15}
    assert "query" in found.action.alternative


@pytest.mark.parametrize("error", ["Rate limit exceeded", "请求过于频繁", "触发限流，请降低频率"])
def test_scene_2_a_rate_limit_is_waited_out_with_something_else_to_do(error: str) -> None:
    found = ruled(FailedCall(tool="mcp__zread__read_file", params={"path": "a.py"}, error=error))
    assert found.error_type is ErrorType.EXTERNAL_SERVICE_ERROR
    assert (found.action.remedy, found.action.retry_delay_seconds) == (Remedy.RETRY_LATER, 60)
    assert found.action.alternative


@pytest.mark.parametrize("error", ["403 Forbidden", "禁止访问", "权限不足"])
def test_scene_3_a_page_that_may_not_be_read_is_skipped_and_noted(error: str) -> None:
    params = {"url": "https://example.org/paywalled"}
    found = ruled(FailedCall(tool="mcp__web-reader__webReader", params=params, error=error))
    assert (found.error_type, found.action.remedy) == (ErrorType.PERMISSION_DENIED, Remedy.SKIP)
    assert "not accessible" in found.action.alternative


@pytest.mark.parametrize("error", ["Invalid query syntax", "查询语法错误", "检索式格式错误: 查询语法无效"])
def test_scene_4_a_query_with_wrong_syntax_is_mended(error: str) -> None:
    params = {"query": "multi-agent or (agent coordination", "categories": ["cs.AI"]}
    found = ruled(FailedCall(tool=SEARCH, params=params, error=error, tools=(SEARCH_SPEC,)))
    assert (found.error_type, found.action.remedy) == (ErrorType.PARAMETER_ERROR, Remedy.FIX_AND_RETRY)
    assert found.action.modified_params == params | {"query": "multi-agent OR agent coordination"}


# The design seed's scenes of failing tools with the parameters and tools that real calls have, through the loop.


TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def tool(name: str, about: str = "", *required: str, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "required": list(required), "properties": properties}
    return ToolSpec(name=name, description=about, parameters=schema)


ARXIV = "mcp__arxiv-mcp-server__search_papers"
PAGED = tool(ARXIV, "Search papers.", "query", query=TEXT, categories=TEXTS, max_results=WHOLE)
LIMITED = tool("query_table", "Reads rows.", "table", table=TEXT, limit={"type": "integer", "maximum": 1000})
QUERY = {"query": "multi-agent orchestration", "categories": ["cs.AI"]}
TIMED_OUT = failed(ToolFailure.TIMED_OUT, "Timeout after 30s")


def run(spec: ToolSpec, params: dict[str, Any], answers: list[Any]) -> Played:
    """The loop with the tool's answers; the model is asked where no diagnosis has parameters."""
    task = TaskSpec(
        objective="Find what there is.",
        mode=Mode.EXTERNAL_LOOP,
        tools=(spec,),
        tool_call=ToolCall(tool=spec.name, arguments=params),
        review_policy=NO_AUDIT,
    )
    return play(task, in_turn(answers))


def test_a_search_that_times_out_again_and_again_is_never_the_same_twice() -> None:
    played = run(PAGED, QUERY | {"max_results": 2}, [TIMED_OUT, TIMED_OUT, TIMED_OUT])
    assert [call.arguments for call in calls_of(played)] == [
        QUERY | {"max_results": 2},
        QUERY | {"max_results": 1},
        QUERY | {"query": "multi-agent", "max_results": 1},
    ]
    assert [effect.delay_s for effect in played.of(Wait)] == [5, 5]


def test_a_number_beyond_the_schemas_bound_is_never_sent_again() -> None:
    played = run(LIMITED, {"table": "t", "limit": 5000}, [worked()])
    assert [call.arguments for call in calls_of(played)] == [{"table": "t", "limit": 1000}]
