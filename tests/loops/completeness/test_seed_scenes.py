"""The three scenes of the second design seed, end to end through the planning loop."""

from reflection_app.loops.attempt_effects import CallTool
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.verdicts import Outcome
from tests.loops.completeness.scenes import call_of, checked, done_by, found_by, planned, played, scene, wanted
from tests.loops.tool_playing import asked_for, verdicts_of, worked


def test_scene_1_pictures_that_were_drawn_are_saved_as_a_supplement() -> None:
    spec = scene("生成两个伪人角色插画（录像带女孩、替代者）", "local__image_draw", "local__file_write")
    answers = {
        "attempt-1/plan/make": planned(
            ("0", "绘制录像带女孩", "local__image_draw"), ("1", "绘制替代者", "local__image_draw")
        ),
        "attempt-1/step-1/arguments": call_of("local__image_draw", prompt="录像带女孩"),
        "attempt-1/step-2/arguments": call_of("local__image_draw", prompt="替代者"),
        "attempt-1/completeness": checked(
            wanted(
                "保存生成的图片到文件", "避免内容丢失，便于后续使用", "local__file_write", quote="生成两个伪人角色插画"
            ),
            analysis="不完整：生成内容后未保存",
            missing=["持久化保存"],
        ),
        "attempt-1/supplement/plan/make": planned(
            ("s1-save", "保存两张图片到文件", "local__file_write"), requires={"s1-save": ["0", "1"]}
        ),
        "attempt-1/supplement/step-1/arguments": call_of("local__file_write", path="插画.png"),
        "attempt-1/answer": "两张插画已生成并保存。",
    }
    results = {"local__image_draw": worked("图片已生成"), "local__file_write": worked("已写入 插画.png")}
    run = played(spec, answers, results)

    found, done = found_by(run), done_by(run)
    assert (found.state, found.missing_aspects, found.steps_ok) == (CheckState.INCOMPLETE, ("持久化保存",), True)
    assert [one.suggested_tools for one in found.supplements] == [("local__file_write",)]
    assert (done.used, done.attempted, done.succeeded, done.success_rate) == (True, 3, 3, 1.0)
    [result] = done.results
    assert (result.operation, result.attempted, result.succeeded) == ("保存生成的图片到文件", True, True)
    assert [effect.tool for effect in run.of(CallTool)][-1] == "local__file_write"

    history = asked_for(run, "attempt-1/completeness")
    assert "Step 1: 绘制录像带女孩 [tool: local__image_draw] — worked" in history
    assert "local__file_write" in history
    planning = asked_for(run, "attempt-1/supplement/plan/make")
    assert "s1: 保存生成的图片到文件" in planning
    assert "图片已生成" in planning, "the supplementary plan is made with the earlier results in view"
    final = asked_for(run, "attempt-1/answer")
    assert "已写入 插画.png" in final
    assert "still missing" not in final
    assert run.ended.outcome is Outcome.UNVERIFIED


def test_scene_2_news_that_was_found_is_sent_as_a_supplement() -> None:
    spec = scene("搜索最新 AI 动态并通知用户", "search_web", "qq_message_send")
    answers = {
        "attempt-1/plan/make": planned(("0", "搜索最新 AI 动态", "search_web")),
        "attempt-1/step-1/arguments": call_of("search_web", query="最新 AI 动态"),
        "attempt-1/completeness": checked(
            wanted("发送搜索结果通知", "任务明确要求通知用户", "qq_message_send", quote="通知用户"),
            analysis="不完整：查询后未发送通知",
            missing=["用户通知"],
        ),
        "attempt-1/supplement/plan/make": planned(("s1-notify", "发送搜索结果通知", "qq_message_send")),
        "attempt-1/supplement/step-1/arguments": call_of("qq_message_send", text="三条新闻"),
        "attempt-1/answer": "已搜索并通知用户。",
    }
    results = {"search_web": worked("AI 新闻列表：甲、乙、丙"), "qq_message_send": worked("已发送")}
    run = played(spec, answers, results)

    assert found_by(run).analysis == "不完整：查询后未发送通知"
    done = done_by(run)
    assert (done.attempted, done.succeeded) == (2, 2)
    assert done.results[0].tools == ("qq_message_send",)
    assert "已发送" in asked_for(run, "attempt-1/answer")
    assert verdicts_of(run)[-1].issues == ()


def test_scene_3_what_is_complete_is_answered_without_any_supplement() -> None:
    spec = scene("读取配置文件并解析", "local__file_read", "local__json_parse")
    answers = {
        "attempt-1/plan/make": planned(
            ("0", "读取文件内容", "local__file_read"), ("1", "解析 JSON", "local__json_parse")
        ),
        "attempt-1/step-1/arguments": call_of("local__file_read", path="config.json"),
        "attempt-1/step-2/arguments": call_of("local__json_parse", text="{}"),
        "attempt-1/completeness": checked(analysis="任务目标已充分达成：所有必要操作已执行，无明显遗漏"),
        "attempt-1/answer": "配置已读取并解析。",
    }
    results = {"local__file_read": worked('{"a": 1}'), "local__json_parse": worked("a = 1")}
    run = played(spec, answers, results)

    found = found_by(run)
    assert (found.state, found.supplements, found.missing_aspects, found.dropped) == (CheckState.COMPLETE, (), (), ())
    assert not [key for key in run.keys if "supplement" in key]
    assert run.keys[-2:] == ["attempt-1/answer", "attempt-1/steps-verdict"]
