"""The three scenes of the second design seed, in Chinese, through the running desk and tools behind HTTP."""

import json
from itertools import count
from typing import Any

import pytest

from tests.end_to_end.desk import Desk
from tests.end_to_end.playback import Playback
from tests.end_to_end.thinking import Mind
from tests.end_to_end.tool_servers import ToolServer
from tests.loops.completeness.scenes import checked, planned, wanted
from tests.runs.critiques import critique

_numbers = count(1)
ROOM = {"time_budget_s": 60, "token_budget": 200_000}
ACCEPTED = critique(90, approved=True)


def call(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


@pytest.fixture
def told(desk: Desk, playback: Playback) -> Any:
    """Hands in a task with tools that is answered by `mind`; its run once it has settled."""

    def hand_in(mind: Mind, objective: str, *tools: str) -> Any:
        first_line = playback.add(f"scene-{next(_numbers)}", mind)
        return desk.settled(desk.hand_in(objective=first_line + objective, tools=tools, limits=ROOM))

    return hand_in


def events_of(desk: Desk, run: Any) -> list[tuple[str, Any]]:
    """The events of the check, with the fields of the seed."""
    events = desk.get(f"runs/{run['id']}/events")["results"]
    return [(event["type"], event["payload"]) for event in events if event["type"].startswith("reflection")]


def test_pictures_that_were_drawn_and_not_saved_are_saved(told: Any, desk: Desk, tool_server: ToolServer) -> None:
    tool_server.add(desk, "local__image_draw", "图片 1: 录像带女孩", "图片 2: 替代者")
    tool_server.add(desk, "local__file_write", "已写入 images/")
    draw = [("a", "画录像带女孩", "local__image_draw"), ("b", "画替代者", "local__image_draw")]
    mind = Mind(
        plan=[planned(*draw), planned(("save", "保存生成的图片到文件", "local__file_write"))],
        call=[
            call("local__image_draw", prompt="录像带女孩"),
            call("local__image_draw", prompt="替代者"),
            call("local__file_write", path="images/"),
        ],
        completeness=[
            checked(
                wanted(
                    "保存生成的图片到文件",
                    "避免内容丢失，便于后续使用",
                    "local__file_write",
                    "no_such_tool",
                    quote="生成两个伪人角色插画",
                ),
                analysis="生成内容后未保存",
                missing=["持久化保存"],
            ),
            checked(analysis="图片已保存"),
        ],
        answer="两张插画已生成并保存。",
        critic=ACCEPTED,
    )
    run = told(mind, "生成两个伪人角色插画（录像带女孩、替代者）", "local__image_draw", "local__file_write")

    assert (run["mode"], run["outcome"]) == ("planning", "succeeded"), run
    assert tool_server.calls_of("local__file_write") == [{"path": "images/"}]
    checks, plans, execs, again = events_of(desk, run)
    assert checks == (
        "reflection",
        {"isComplete": False, "analysis": "生成内容后未保存", "missingsCount": 1, "supplementsCount": 1},
    )
    assert (plans[0], plans[1]["supplementsCount"]) == ("reflection_plan", 1)
    assert set(plans[1]["plan"]) == {"manifest", "steps"}
    assert execs == ("reflection_exec", {"exec": {"used": True, "attempted": 3, "succeeded": 3, "successRate": 1.0}})
    assert again == ("reflection_again", {"isComplete": True, "analysis": "图片已保存", "missingsCount": 0})


def test_what_was_found_is_told_to_whom_it_was_promised(told: Any, desk: Desk, tool_server: ToolServer) -> None:
    tool_server.add(desk, "search_web", "AI 新闻列表")
    tool_server.add(desk, "qq_message_send", "已发送")
    mind = Mind(
        plan=[
            planned(("find", "搜索最新 AI 动态", "search_web")),
            planned(("tell", "发送搜索结果通知", "qq_message_send")),
        ],
        call=[call("search_web", query="AI 动态"), call("qq_message_send", text="AI 新闻列表")],
        completeness=[
            checked(
                wanted("发送搜索结果通知", "任务明确要求通知用户", "qq_message_send", quote="通知用户"),
                analysis="查询后未发送通知",
                missing=["用户通知"],
            ),
            checked(analysis="已通知用户"),
        ],
        answer="已搜索并通知用户。",
        critic=ACCEPTED,
    )
    run = told(mind, "搜索最新 AI 动态并通知用户", "search_web", "qq_message_send")

    assert run["outcome"] == "succeeded", run
    assert tool_server.calls_of("qq_message_send") == [{"text": "AI 新闻列表"}]
    assert [kind for kind, _ in events_of(desk, run)] == [
        "reflection",
        "reflection_plan",
        "reflection_exec",
        "reflection_again",
    ]


def test_a_task_that_is_complete_is_left_as_it_is(told: Any, desk: Desk, tool_server: ToolServer) -> None:
    tool_server.add(desk, "local__file_read", '{"port": 8000}')
    tool_server.add(desk, "local__json_parse", "port = 8000")
    mind = Mind(
        plan=planned(("read", "读取配置文件", "local__file_read"), ("parse", "解析 JSON", "local__json_parse")),
        call=[call("local__file_read", path="config.json"), call("local__json_parse", text="{}")],
        completeness=checked(analysis="所有必要操作已执行，无明显遗漏"),
        answer="端口是 8000。",
        critic=ACCEPTED,
    )
    run = told(mind, "读取配置文件并解析", "local__file_read", "local__json_parse")

    assert run["outcome"] == "succeeded", run
    assert events_of(desk, run) == [
        (
            "reflection",
            {
                "isComplete": True,
                "analysis": "所有必要操作已执行，无明显遗漏",
                "missingsCount": 0,
                "supplementsCount": 0,
            },
        )
    ]
    assert mind.times("plan") == 1
