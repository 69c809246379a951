from typing import Any

import pytest

from reflection_app.loops.completeness import asking
from reflection_app.loops.completeness.asking import CheckAnswer, guarded
from reflection_app.loops.completeness.checks import CheckState, Completeness, CompletenessSettings, HistoryStep
from reflection_app.loops.tool_calls import ToolSpec
from tests.loops.completeness.scenes import wanted

TOOLS = (ToolSpec(name="file_write"), ToolSpec(name="send_mail"))
HISTORY = (
    HistoryStep(operation="搜索最新 AI 动态", tool="search_web", result="新闻列表"),
    HistoryStep(operation="Write the summary", result="It says much."),
    HistoryStep(operation="Send the summary by mail", tool="send_mail", ok=False, result="refused"),
)


def check(*supplements: Any, complete: bool = False, most: int = 3, **fields: Any) -> Completeness:
    said = {"is_complete": complete, "analysis": "为什么", "missing_aspects": [], "supplements": list(supplements)}
    return guarded(
        CheckAnswer.model_validate(said | fields),
        objective="Search the news, write a summary and mail it to the team.",
        tools=TOOLS,
        history=HISTORY,
        settings=CompletenessSettings(max_supplements=most),
    )


def kept(found: Completeness) -> list[str]:
    return [one.operation for one in found.supplements]


def whys(found: Completeness) -> list[str]:
    return [one.why for one in found.dropped]


def test_no_more_than_the_most_are_kept_and_those_are_the_first() -> None:
    four = [wanted(f"Save the summary as file {number}", "", "file_write") for number in range(4)]
    found = check(*four, most=2)
    assert kept(found) == ["Save the summary as file 0", "Save the summary as file 1"]
    assert whys(found) == ["Only the first 2 are carried out."] * 2
    assert kept(check(*four, most=0)) == []
    assert set(whys(check(*four, most=0))) == {asking.CHECK_ONLY}


def test_a_tool_that_is_not_on_the_list_is_dropped_and_its_supplement_stays() -> None:
    found = check(wanted("Save the summary", "so that it lasts", "file_write", "telepathy", "FILE_WRITE "))
    [one] = found.supplements
    assert one.suggested_tools == ("file_write",)
    assert [(drop.operation, drop.why) for drop in found.dropped] == [
        ("Save the summary", "There is no tool 'telepathy' on the list.")
    ]


@pytest.mark.parametrize(
    "operation", ["搜索最新的 AI 动态。", "请搜索最新AI动态", "write summary", "Write the Summary!"]
)
def test_what_was_done_already_is_dropped_unless_a_reason_says_why(operation: str) -> None:
    for reason in ("", "   ", operation, "请"):
        found = check(wanted(operation, reason))
        assert (kept(found), whys(found)) == ([], [asking.DONE_ALREADY]), reason
    again = check(wanted(operation, "The first result is from last year and out of date."))
    assert kept(again) == [operation]


def test_a_step_that_failed_is_not_done() -> None:
    assert kept(check(wanted("Send the summary by mail", "", "send_mail"))) == ["Send the summary by mail"]


def test_nothing_unrelated_is_carried_out() -> None:
    assert whys(check(wanted("订购一台咖啡机", "大家都累了"))) == [asking.UNRELATED]
    assert whys(check(wanted("Order a coffee machine", "All are tired.", "espresso"))) == [asking.UNRELATED]
    assert kept(check(wanted("Inform the team", ""))) == ["Inform the team"], "the objective names the team"
    assert kept(check(wanted("通知大家", ""), missing_aspects=["通知大家看新闻"])) == ["通知大家"]
    assert kept(check(wanted("Persist everything", "", "file_write"))) == ["Persist everything"]


def test_the_same_supplement_twice_is_carried_out_once() -> None:
    found = check(wanted("Mail the summary", "", "send_mail"), wanted("mail summary.", "again", "send_mail"))
    assert (kept(found), whys(found)) == (["Mail the summary"], [asking.TWICE])


@pytest.mark.parametrize("operation", ["", "   ", "!!!", "\u200b"])
def test_a_supplement_that_names_nothing_is_dropped(operation: str) -> None:
    assert whys(check(wanted(operation, "because", "file_write"))) == [asking.NAMES_NOTHING]


def test_complete_with_supplements_is_a_contradiction_in_which_complete_stands() -> None:
    found = check(wanted("Mail the summary", "", "send_mail"), complete=True)
    assert (found.state, kept(found), whys(found)) == (CheckState.COMPLETE, [], [asking.NOT_MISSING])


def test_incomplete_without_supplements_stays_incomplete() -> None:
    assert check(missing_aspects=["the mail"]).state is CheckState.INCOMPLETE
    assert check(wanted("", "")).state is CheckState.INCOMPLETE, "also where the guards left none"


def test_steps_that_worked_are_told_apart_from_nothing_being_missing() -> None:
    assert check(complete=True).steps_ok is False
    assert check(complete=True).state is CheckState.COMPLETE


def test_whatever_a_model_says_is_bounded() -> None:
    huge = "字" * 50_000
    tools = [f"tool-{number}" for number in range(1_000)]
    many = [{"operation": f"{huge} {number}", "reason": huge, "suggested_tools": tools} for number in range(500)]
    found = check(*many, analysis=huge, missing_aspects=[huge] * 500, most=20)
    assert len(found.model_dump_json()) < 200_000
    assert len(found.missing_aspects) == asking.MOST_ASPECTS
    assert len(found.dropped) == asking.MOST_DROPPED
