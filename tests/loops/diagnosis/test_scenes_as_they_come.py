"""The design seed's scenes of failing tools with the parameters and tools that real calls have, through the loop."""

from typing import Any

import pytest

from reflection_app.loops.attempt_effects import Wait
from reflection_app.loops.diagnosis.diagnoses import Diagnosis, FailedCall, FixRecall, Remedy
from reflection_app.loops.diagnosis.diagnosing import by_memory_or_rules
from reflection_app.loops.task_spec import Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolResult, ToolSpec
from reflection_app.loops.verdicts import Outcome
from tests.loops.playing import NO_AUDIT, Played, play
from tests.loops.tool_playing import calls_of, failed, in_turn, worked

TEXT, WHOLE = {"type": "string"}, {"type": "integer"}
TEXTS = {"type": "array", "items": TEXT}


def tool(name: str, about: str = "", *required: str, **properties: Any) -> ToolSpec:
    schema = {"type": "object", "required": list(required), "properties": properties}
    return ToolSpec(name=name, description=about, parameters=schema)


ARXIV = "mcp__arxiv-mcp-server__search_papers"
PAPERS = tool(
    ARXIV, "Search papers. Combine with AND, OR, ANDNOT.", "query", query=TEXT, categories=TEXTS, timeout=WHOLE
)
PAGED = tool(ARXIV, "Search papers.", "query", query=TEXT, categories=TEXTS, max_results=WHOLE, sort_by=TEXT)
GITHUB_FILE = tool(
    *("mcp__zread__read_file", "Read the content of a file in a GitHub repository.", "repo_name", "file_path"),
    repo_name=TEXT,
    file_path=TEXT,
)
GITHUB_DOCS = tool(
    *("mcp__zread__search_doc", "Search the documentation and issues of a GitHub repository.", "repo_name", "query"),
    repo_name=TEXT,
    query=TEXT,
)
WRITER = tool(
    *("mcp__zread__write_file", "Write the content of a file in a GitHub repository.", "repo_name", "file_path"),
    repo_name=TEXT,
    file_path=TEXT,
)
READER = tool("mcp__web-reader__webReader", "Fetch a web page as text.", "url", url=TEXT, timeout=WHOLE)
OTHER_READER = tool("fetch_page", "Downloads a web page and returns its text.", "link", link=TEXT)
QUERY = {"query": "multi-agent orchestration", "categories": ["cs.AI"]}


def run(spec: ToolSpec, params: dict[str, Any], answers: list[Any], *others: ToolSpec) -> Played:
    """The loop with the tool's answers; the model is asked where no diagnosis has parameters."""
    task = TaskSpec(
        objective="Find what there is.",
        mode=Mode.EXTERNAL_LOOP,
        tools=(spec, *others),
        tool_call=ToolCall(tool=spec.name, arguments=params),
        review_policy=NO_AUDIT,
    )
    return play(task, in_turn(answers))


def told(spec: ToolSpec, params: dict[str, Any], error: str, *others: ToolSpec) -> Diagnosis:
    found = by_memory_or_rules(FailedCall(tool=spec.name, params=params, error=error, tools=(spec, *others)), None)
    assert found is not None
    return found


def timed_out() -> ToolResult:
    return failed(ToolFailure.TIMED_OUT, "Timeout after 30s")


@pytest.mark.parametrize(
    ("spec", "params", "expected"),
    [
        (PAPERS, QUERY, QUERY | {"query": "multi-agent"}),
        (PAPERS, QUERY | {"timeout": 30}, QUERY | {"query": "multi-agent", "timeout": 30}),
        (PAPERS, {"query": "agents", "timeout": 30}, {"query": "agents", "timeout": 60}),
        (PAPERS, {"query": "agents", "categories": ["cs.AI"]}, {"query": "agents"}),
        (PAGED, QUERY | {"max_results": 40}, QUERY | {"max_results": 20}),
        (PAGED, QUERY | {"sort_by": "date"}, QUERY | {"sort_by": "date", "max_results": 10}),
    ],
)
@pytest.mark.parametrize("error", ["Timeout after 30s", "请求超时 30"])
def test_a_search_that_times_out_asks_for_something_lighter_after_a_wait(
    spec: ToolSpec, params: dict[str, Any], expected: dict[str, Any], error: str
) -> None:
    played = run(spec, params, [failed(ToolFailure.TIMED_OUT, error), worked()])
    assert [call.arguments for call in calls_of(played)] == [params, expected]
    assert [effect.delay_s for effect in played.effects if isinstance(effect, Wait)] == [5]
    assert played.ended.outcome is Outcome.SUCCEEDED


def test_a_search_that_times_out_again_and_again_is_never_the_same_twice() -> None:
    played = run(PAGED, QUERY | {"max_results": 2}, [timed_out(), timed_out(), timed_out()])
    called = [call.arguments for call in calls_of(played)]
    assert called == [
        QUERY | {"max_results": 2},
        QUERY | {"max_results": 1},
        QUERY | {"query": "multi-agent", "max_results": 1},
    ]


def test_a_writing_call_that_timed_out_is_not_made_lighter() -> None:
    spec = tool("create_search", "", "query", query=TEXT, categories=TEXTS)
    assert told(spec, QUERY, "Timeout after 30s").action.modified_params is None


@pytest.mark.parametrize(
    ("about", "query", "expected"),
    [
        ("Search papers.", "multi-agent | agent coordination", "multi-agent OR agent coordination"),
        ("Search papers.", "agents|swarms", "agents OR swarms"),
        ("Combine with AND, OR, ANDNOT.", '"swarm AND agents NOT robots', "swarm AND agents ANDNOT robots"),
        ("`|` means OR, `+` means AND.", "agents OR swarms AND robots (", "agents | swarms + robots"),
        ("支持布尔检索：| 表示 或，+ 表示 与", "智能体 OR 群体", "智能体 | 群体"),
        ("搜索论文", "智能体 或 群体", "智能体 OR 群体"),
        ("Sucht Aufsätze.", "Agenten oder (Schwärme", "Agenten OR Schwärme"),
        ("Search papers.", "agents AND OR swarms", "agents AND swarms"),
        ("Search papers.", "ti:agents^2 ~ swarms", "agents 2 swarms"),
    ],
)
@pytest.mark.parametrize("error", ["Invalid query syntax", "查询语法错误"])
def test_a_query_is_mended_as_its_tool_reads_it(about: str, query: str, expected: str, error: str) -> None:
    params = {"query": query, "categories": ["cs.AI"]}
    action = told(tool(ARXIV, about, "query", query=TEXT, categories=TEXTS), params, error).action
    assert (action.remedy, action.modified_params) == (Remedy.FIX_AND_RETRY, params | {"query": expected})


def test_a_mended_query_is_what_is_called_with() -> None:
    params = {"request": {"query": "a | b", "page": 1}}
    spec = tool(ARXIV, "Search papers.", "request", request={"type": "object"})
    played = run(spec, params, [failed(error="Invalid query syntax"), worked()])
    assert calls_of(played)[-1].arguments == {"request": {"query": "a OR b", "page": 1}}


def test_a_pattern_is_no_query() -> None:
    spec = tool("grep", "Searches files by regular expression.", "query", query=TEXT)
    assert told(spec, {"query": "a|b"}, "Invalid query syntax").action.modified_params != {"query": "a OR b"}


@pytest.mark.parametrize("error", ["Timeout after 30s", "Invalid query syntax", "No results found", "HTTP 400"])
@pytest.mark.parametrize(
    "query", ["SELECT a || b FROM t WHERE (x", "query { user(id: 1) { name ", "status = Open AND ("]
)
def test_a_query_in_a_language_of_its_own_is_left_to_who_wrote_it(error: str, query: str) -> None:
    spec = tool("query_database", "Reads rows.", "query", query=TEXT)
    assert told(spec, {"query": query}, error).action.modified_params is None


def test_each_of_several_queries_is_mended() -> None:
    params = {"queries": ["a | b", "c"], "more": [{"q": "d | e"}]}
    action = told(tool("search_many", "Searches."), params, "Invalid query syntax").action
    assert action.modified_params == {"queries": ["a OR b", "c"], "more": [{"q": "d OR e"}]}


FILE = {"repo_name": "a/b", "file_path": "docs/setup.md"}


@pytest.mark.parametrize("error", ["Rate limit exceeded", "404 Not Found", "File not found: setup.md", "文件不存在"])
def test_a_listed_tool_that_serves_alike_is_named_with_its_parameters(error: str) -> None:
    action = told(GITHUB_FILE, FILE, error, WRITER, GITHUB_DOCS, READER).action
    assert action.alternative.startswith("Use mcp__zread__search_doc instead (file_path as query).")


def test_no_tool_is_named_that_writes_or_cannot_be_called_with_what_there_is() -> None:
    needs_more = tool("search_code", "Search a file in a GitHub repository.", "token", token=TEXT, repo_name=TEXT)
    two_faced = tool(
        "get_file", "Read a file in a GitHub repository and delete it.", "repo_name", repo_name=TEXT, file_path=TEXT
    )
    for other in (WRITER, needs_more, two_faced, READER):
        assert "Use " not in told(GITHUB_FILE, FILE, "404 Not Found", other).action.alternative


def test_the_vectors_decide_where_there_are_any() -> None:
    call = FailedCall(tool=READER.name, params={"url": "https://a.example"}, error="404", status=404)
    call = call.model_copy(update={"tools": (READER, OTHER_READER)})
    near, far = (by_memory_or_rules(call, None, FixRecall(likeness={"fetch_page": how})) for how in (0.64, 0.3))
    assert near is not None
    assert far is not None
    assert near.action.alternative.startswith("Use fetch_page instead (url as link).")
    assert "fetch_page" not in far.action.alternative


def test_a_tool_that_is_not_there_is_replaced_by_one_that_reads_alike() -> None:
    call = FailedCall(tool="read_url", params={"url": "https://a.example"}, error="no", failure="unknown_tool")
    found = by_memory_or_rules(call.model_copy(update={"tools": (OTHER_READER, GITHUB_DOCS)}), None)
    assert found is not None
    assert (found.action.fallback_tool, found.action.modified_params) == ("fetch_page", {"link": "https://a.example"})


def test_a_page_that_may_not_be_read_is_skipped_and_read_by_no_other_way() -> None:
    action = told(READER, {"url": "https://a.example"}, "403 Forbidden", OTHER_READER).action
    assert (action.remedy, "fetch_page" in action.alternative) == (Remedy.SKIP, False)


def test_safe_tool_call_tries_twice_more_each_time_otherwise_and_then_goes_on_without() -> None:
    bad = failed(error="Invalid query syntax")
    played = run(PAPERS, {"query": "a | (b"}, [bad, bad, bad])
    assert [call.arguments["query"] for call in calls_of(played)] == ["a | (b", "a OR b", "a b"]
    assert played.ended.outcome is Outcome.EXHAUSTED
