"""The four scenes of the design seed, in the languages in which tools answer."""

import pytest

from reflection_app.loops.diagnosis.diagnose import diagnose_by_rules
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, ErrorType, FailedCall, Remedy
from reflection_app.loops.tool_calls import ToolSpec

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


@pytest.mark.parametrize(
    ("error", "error_type"),
    [
        ("参数格式错误", ErrorType.PARAMETER_ERROR),
        ("语法错误", ErrorType.PARAMETER_ERROR),
        ("权限不足", ErrorType.PERMISSION_DENIED),
        ("连接被拒绝", ErrorType.EXTERNAL_SERVICE_ERROR),
        ("服务不可用", ErrorType.EXTERNAL_SERVICE_ERROR),
        ("未知工具: paint", ErrorType.WRONG_TOOL),
    ],
)
def test_chinese_errors_have_the_types_of_english_ones(error: str, error_type: ErrorType) -> None:
    assert ruled(FailedCall(tool="t", error=error)).error_type is error_type
