"""The four failing tools of the third design seed, called by runs of the desk and reported by outside agents."""

import json
from itertools import count
from typing import Any

import pytest

from tests.adapters.outgoing.server import reply
from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback
from tests.end_to_end.thinking import Mind
from tests.end_to_end.tool_servers import ToolServer

_numbers = count(1)
ROOM = {"time_budget_s": 60, "token_budget": 200_000}


@pytest.mark.parametrize(
    ("call", "error", "error_type", "expected"),
    [
        (
            ("mcp__arxiv-mcp-server__search_papers", {"query": "multi-agent orchestration", "max_results": 50}),
            "Timeout after 30s",
            "external_service_error",
            {"retry_delay_seconds": 5},
        ),
        (
            ("mcp__zread__read_file", {"path": "README.md"}),
            "Rate limit exceeded",
            "external_service_error",
            {"retry_delay_seconds": 60},
        ),
        (("mcp__web-reader__webReader", {"url": "https://a.example"}), "403 Forbidden", "permission_denied", {}),
        (
            ("mcp__arxiv-mcp-server__search_papers", {"query": "multi-agent OR"}),
            "Invalid query syntax",
            "parameter_error",
            {"retry_delay_seconds": None},
        ),
        (("search_papers", {"query": "多智能体"}), "请求超时，无响应", "external_service_error", {}),
        (("pay", {"invoice": 7}), "权限不足", "permission_denied", {}),
        (("search", {"query": "("}), "参数格式错误", "parameter_error", {}),
    ],
)
def test_a_reported_failure_is_diagnosed_in_the_same_answer(
    desk: Desk, call: tuple[str, dict[str, Any]], error: str, error_type: str, expected: dict[str, Any]
) -> None:
    tool, params = call
    report = {"tool": tool, "params": params, "error_message": error, "agent": f"agent-{next(_numbers)}"}
    answer = desk.post("tool-failures", report, status=201)

    assert (answer["reflection_type"], answer["state"], answer["source"]) == ("tool_failure", "diagnosed", "rule")
    assert (answer["failed_tool"], answer["failed_params"], answer["error_type"]) == (tool, params, error_type)
    action = answer["corrective_action"]
    assert action["action"]
    assert {name: action[name] for name in expected} == expected


def test_a_fix_that_worked_is_what_comes_first_the_next_time(desk: Desk) -> None:
    report = {
        "tool": "search_papers_once_more",
        "params": {"query": "multi-agent orchestration", "max_results": 50},
        "error_message": "Timeout after 30s",
    }
    first = desk.post("tool-failures", report | {"agent": "one"}, status=201)
    told = {
        "worked": True,
        "params": {"query": "multi-agent", "max_results": 10},
        "fix": "简化查询词，减少 max_results",
    }
    desk.post(f"tool-failures/{first['id']}/outcome", told)

    again = desk.post("tool-failures", report | {"agent": "two", "error_message": "Timeout after 45s"}, status=201)
    assert again["source"] == "fix_pair"
    assert again["corrective_action"]["modified_params"]["max_results"] == 10
    rows = desk.get("tool-failures/cheat-sheet")["rows"]
    (row,) = [one for one in rows if one["tool"] == report["tool"]]
    assert "简化查询词" in json.dumps(row, ensure_ascii=False)


@pytest.fixture
def told(desk: Desk, playback: Playback) -> Any:
    """Hands in one tool call that is corrected by `mind`; its run once it has settled."""

    def hand_in(mind: Mind, tool: str, arguments: dict[str, Any]) -> Any:
        first_line = playback.add(f"failing-{next(_numbers)}", mind)
        call = {"tool": tool, "arguments": arguments}
        return desk.settled(desk.hand_in(objective=f"{first_line}Call it.", tool_call=call, limits=ROOM))

    return hand_in


def test_a_service_that_is_away_is_waited_for_without_a_worker(told: Any, desk: Desk, tool_server: ToolServer) -> None:
    away = reply(b"try later", status="503 Service Unavailable", Retry_After="1")
    tool_server.add(desk, "unsteady_service", away, "here again")
    mind = Mind()
    run = told(mind, "unsteady_service", {"n": 1})

    assert run["outcome"] == "succeeded", run
    assert tool_server.calls_of("unsteady_service") == [{"n": 1}, {"n": 1}]
    assert mind.asked == []
    kinds = [step["kind"] for step in desk.all_of(f"runs/{run['id']}/steps")]
    assert "wait" in kinds
    (failure,) = desk.all_of("tool-failures", tool="unsteady_service")
    assert (failure["error_type"], failure["source"]) == ("external_service_error", "rule")


def test_a_call_that_is_not_allowed_goes_to_a_person(told: Any, desk: Desk, tool_server: ToolServer) -> None:
    tool_server.add(desk, "guarded_service", reply(b"no", status="403 Forbidden"), "welcome")
    run = told(Mind(), "guarded_service", {"n": 1})
    assert (run["state"], run["waiting_for"]) == ("waiting_review", "permission"), run

    (question,) = desk.all_of("questions", run=run["id"])
    desk.decide(f"questions/{question['id']}/answer", {"choice": "try_again"})
    assert desk.settled(run["id"])["outcome"] == "succeeded"
    assert len(tool_server.calls_of("guarded_service")) == 2
