from typing import Any

import pytest

from reflection_app.loops.completeness import guards
from reflection_app.loops.completeness.checks import (
    LONGEST_KEY,
    CheckState,
    Completeness,
    CompletenessSettings,
    HistoryStep,
    Likeness,
    operation_key,
)
from reflection_app.loops.completeness.dropped import DropCode
from reflection_app.loops.completeness.guards import guarded
from reflection_app.loops.completeness.suggesting import CheckAnswer
from reflection_app.loops.tool_calls import ToolSpec
from tests.loops.completeness.scenes import wanted

TOOLS = (
    ToolSpec(name="file_write", description="Saves a text to a file."),
    ToolSpec(name="send_mail", description="Sends a text by mail."),
)
SUMMARY, TEAM = "write a summary", "mail it to the team"
HISTORY = (
    HistoryStep(operation="搜索最新 AI 动态", tool="search_web", result="新闻列表"),
    HistoryStep(operation="Write the summary", result="It says much."),
    HistoryStep(operation="Send the summary by mail", tool="send_mail", ok=False, result="refused"),
)


def check(
    *supplements: Any,
    complete: bool = False,
    most: int = 3,
    objective: str = "Search the news, write a summary and mail it to the team.",
    tools: tuple[ToolSpec, ...] = TOOLS,
    history: tuple[HistoryStep, ...] = HISTORY,
    likeness: Likeness | None = None,
    **fields: Any,
) -> Completeness:
    said = {"is_complete": complete, "analysis": "为什么", "missing_aspects": [], "supplements": list(supplements)}
    return guarded(
        CheckAnswer.model_validate(said | fields),
        objective=objective,
        tools=tools,
        history=history,
        settings=CompletenessSettings(max_supplements=most),
        likeness=likeness,
    )


def kept(found: Completeness) -> list[str]:
    return [one.operation for one in found.supplements]


def whys(found: Completeness) -> list[DropCode | None]:
    return [one.code for one in found.dropped]


def test_a_check_that_only_looks_keeps_none() -> None:
    four = [wanted(f"Save the summary as file {number}", "", "file_write", quote=SUMMARY) for number in range(4)]
    assert len(kept(check(*four, most=2))) == 4, "their order decides which of them are carried out"
    assert kept(check(*four, most=0)) == []
    assert set(whys(check(*four, most=0))) == {DropCode.CHECK_ONLY}


def test_a_tool_that_is_not_on_the_list_is_dropped_and_its_supplement_stays() -> None:
    found = check(wanted("Save the summary", "", "file_write", "telepathy", "FILE_WRITE ", quote=SUMMARY))
    [one] = found.supplements
    assert one.suggested_tools == ("file_write",)
    assert [(drop.operation, drop.code, drop.parameters) for drop in found.dropped] == [
        ("Save the summary", DropCode.UNKNOWN_TOOL, {"name": "telepathy"})
    ]


@pytest.mark.parametrize(
    "operation", ["搜索最新的 AI 动态。", "请搜索最新AI动态", "write summary", "Write the Summary!"]
)
def test_what_was_done_already_is_dropped_whatever_reason_is_given(operation: str) -> None:
    for reason in ("", operation, "The first result is from last year.", "Do it again!", "再次搜索，务必重新执行"):
        found = check(wanted(operation, reason, repeat_quote=reason))
        assert (kept(found), whys(found)) == ([], [DropCode.DONE_ALREADY]), reason


@pytest.mark.parametrize(
    ("objective", "repeat_quote"),
    [
        ("Write the summary twice, once for each team.", "Write the summary twice"),
        ("写一个总结，然后再次 write the summary。", "再次 write the summary"),
    ],
)
def test_a_task_that_asks_for_it_again_gets_it_again(objective: str, repeat_quote: str) -> None:
    again = wanted("Write the summary", "", quote="write the summary", repeat_quote=repeat_quote)
    [one] = check(again, objective=objective).supplements
    assert one.may_repeat
    assert check(again).supplements == (), "another task does not ask for it"


MAILED = {"to": "Team <team@example.com>", "subject": "News", "body": "Here is what happened today, in short."}
MADE = (HistoryStep(operation="Tell them", tool="send_mail", arguments=MAILED, result="sent"),)


@pytest.mark.parametrize(
    "arguments",
    [
        {"subject": " news ", "to": "TEAM@example.com", "body": "Here is what happened today, in short"},
        {
            "to": ["team@example.com"],
            "subject": "News",
            "body": "Hello all, this is the news of the day!",
            "cc": None,
        },
    ],
)
def test_a_proposed_call_that_was_made_is_dropped_whatever_words_ask_for_it(arguments: dict[str, Any]) -> None:
    one = wanted("Deliver the summary", "urgent", "send_mail", quote=TEAM, arguments=arguments)
    assert whys(check(one, history=MADE)) == [DropCode.DONE_ALREADY]
    another = one | {"arguments": arguments | {"to": "board@example.com"}}
    assert kept(check(another | {"operation": "Send the summary by mail"}, history=MADE)) == [
        "Send the summary by mail"
    ]


def test_nothing_unrelated_is_carried_out() -> None:
    assert whys(check(wanted("订购一台咖啡机", "大家都累了"))) == [DropCode.UNRELATED]
    assert whys(check(wanted("Order a coffee machine", "All are tired.", "espresso"))) == [DropCode.UNRELATED]
    assert kept(check(wanted("Inform the team", ""))) == ["Inform the team"], "the objective names the team"
    self_made = check(wanted("通知大家", ""), missing_aspects=["通知大家看新闻"], analysis="通知大家")
    assert whys(self_made) == [DropCode.UNRELATED], "the check's own words are no task"


def test_a_tool_that_is_for_something_else_carries_nothing_out() -> None:
    for quote in ("", TEAM, "buy coffee", "the team"):
        found = check(wanted("Buy coffee for the team", "They asked for it.", "send_mail", quote=quote))
        assert not found.supplements, quote
    unnamed = check(wanted("Buy coffee for the team", "", quote="the team"))
    assert [one.allowed_tools for one in unnamed.supplements] == [()], "it may be written about, and nothing called"


def test_an_empty_tool_list_stays_empty_and_the_plan_may_use_what_fits() -> None:
    [one] = check(wanted("Send the summary by mail", "", quote=TEAM)).supplements
    assert one.suggested_tools == ()
    assert one.allowed_tools == ("send_mail",)
    [named] = check(wanted("Send the summary by mail", "", "send_mail", quote=TEAM)).supplements
    assert named.suggested_tools == named.allowed_tools == ("send_mail",)


def test_a_tool_that_changes_something_needs_words_of_the_task() -> None:
    mail = wanted("Send the summary by mail", "", "send_mail")
    assert whys(check(mail)) == [DropCode.NO_TOOL]
    assert whys(check(mail | {"quote": "send the summary to everybody"})) == [DropCode.NO_TOOL], (
        "that is not the task's"
    )
    assert kept(check(mail | {"quote": "MAIL it, to the team"})) == ["Send the summary by mail"]
    reads = (ToolSpec(name="search_news", description="Searches the news."),)
    assert kept(check(wanted("Search older news", "", "search_news"), tools=reads)) == ["Search older news"]


@pytest.mark.parametrize(
    ("to_quote", "to_tools", "tools"),
    [
        (4.5, (0.4, 2.0), ("send_mail",)),
        (4.5, (2.2, 2.0), ("file_write", "send_mail")),
        (0.8, (0.4, 2.0), None),
        (3.2, (-0.4, -1.1), None),
    ],
)
def test_meaning_decides_where_it_can_be_told(
    to_quote: float, to_tools: tuple[float, ...], tools: tuple[str, ...] | None
) -> None:
    one = wanted("通知大家", "", "file_write", "send_mail", quote=TEAM)
    found = check(one, likeness=Likeness(to_quote=(to_quote,), to_tools=(to_tools,)))
    assert (found.supplements[0].suggested_tools if found.supplements else None) == tools


def test_what_is_unlike_its_quote_is_dropped() -> None:
    one = wanted("给我妈妈打电话", "", quote=TEAM)
    assert whys(check(one, likeness=Likeness(to_quote=(-0.9,), to_tools=((0.1, 1.5),)))) == [DropCode.UNRELATED]


def test_what_a_question_needs_may_be_named_elsewhere_in_the_task_and_the_interpreter_computes_it() -> None:
    objective = "Which month of the sales was the strongest? What should we look at next?"
    python = ToolSpec(name="python", description="Runs a Python program in a sandbox and gives what it printed.")
    one = wanted("Compute the revenue per order of each month", "", "python", quote="What should we look at next")
    unlike = Likeness(to_quote=(-0.2,), to_tools=((-1.5,),))
    assert kept(check(one, objective=objective, tools=(python,), likeness=unlike)) == [one["operation"]]
    other = one | {"operation": "Order a coffee machine"}
    assert whys(check(other, objective=objective, tools=(python,), likeness=unlike)) == [DropCode.UNRELATED]


def test_the_same_supplement_twice_is_carried_out_once() -> None:
    twice = [
        wanted("Mail the summary", "", "send_mail", quote=TEAM),
        wanted("mail summary.", "", "send_mail", quote=TEAM),
    ]
    found = check(*twice)
    assert (kept(found), whys(found)) == (["Mail the summary"], [DropCode.TWICE])


@pytest.mark.parametrize("operation", ["", "   ", "!!!", "\u200b"])
def test_a_supplement_that_names_nothing_is_dropped(operation: str) -> None:
    assert whys(check(wanted(operation, "because", "file_write"))) == [DropCode.NAMES_NOTHING]


def test_complete_with_supplements_is_a_contradiction_in_which_complete_stands() -> None:
    found = check(wanted("Mail the summary", "", "send_mail"), complete=True)
    assert (found.state, kept(found), whys(found)) == (CheckState.COMPLETE, [], [DropCode.NOT_MISSING])


def test_whatever_a_model_says_is_bounded() -> None:
    huge = "字" * 50_000
    tools = [f"tool-{number}" for number in range(1_000)]
    many = [{"operation": f"{huge} {number}", "reason": huge, "suggested_tools": tools} for number in range(500)]
    found = check(*many, analysis=huge, missing_aspects=[huge] * 500, most=20)
    assert len(found.model_dump_json()) < 200_000
    assert len(found.missing_aspects) == guards.MOST_ASPECTS
    assert len(found.dropped) == guards.MOST_DROPPED


SAVE_IMAGE = ToolSpec(name="file_write", description="Saves a file to disk.")
DRAW = ToolSpec(name="draw_poster", description="Draws a poster.")


BY_MEANING = Likeness(to_quote=(1.61,), to_tools=((3.06,),))


@pytest.mark.parametrize(
    ("quote", "likeness"),
    [
        ("", BY_MEANING),
        ("an illustration that nobody asked for", BY_MEANING),
        ("an illustration of a lighthouse", BY_MEANING),
        ("Generate an illustration", None),
    ],
)
def test_what_saves_the_result_of_the_task_is_about_the_task(quote: str, likeness: Likeness | None) -> None:
    """The likenesses are those of the embedding model for the operation, the whole task and the tool."""
    operation = "Persist the generated image to disk"
    objective = "Generate an illustration of a lighthouse."
    one = wanted(operation, "", "file_write", quote=quote)
    assert kept(check(one, objective=objective, tools=(SAVE_IMAGE,), likeness=likeness)) == [operation]


@pytest.mark.parametrize(
    ("operation", "done", "is_done"),
    [
        ("Draw the first poster", "draw poster 1", True),
        ("Draw poster 2", "Draw the second poster", True),
        ("画第一张海报", "画海报1", True),
        ("Draw the second poster", "draw poster 1", False),
        ("Print the first poster", "draw poster 1", False),
    ],
)
def test_a_step_that_is_done_is_known_by_its_number_too(operation: str, done: str, is_done: bool) -> None:
    history = (HistoryStep(operation=done, tool="draw_poster", result="drawn"),)
    one = wanted(operation, "", "draw_poster", quote="two posters")
    found = check(one, objective="Draw two posters and print two posters.", tools=(DRAW,), history=history)
    assert (DropCode.DONE_ALREADY in whys(found)) is is_done


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Save the pictures to a file.", "save picture to file"),
        ("保存生成的图片到文件", "请保存生成图片到文件。"),
        ("ＳＡＶＥ　ｉｔ to disk", "save to disk"),
    ],
)
def test_operations_that_say_the_same_have_the_same_key(one: str, other: str) -> None:
    assert operation_key(one) == operation_key(other) != ""


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Book a flight from Rome to Paris", "Book a flight from Paris to Rome"),
        ("Send the mail", "Do not send the mail"),
        ("保存图片", "不保存图片"),
    ],
)
def test_operations_that_differ_have_different_keys(one: str, other: str) -> None:
    assert operation_key(one) != operation_key(other)


def test_a_key_is_bounded_and_long_texts_keep_apart() -> None:
    long = "写" * 2_000
    assert len(operation_key(long)) <= LONGEST_KEY
    assert operation_key(f"{long}一") != operation_key(f"{long}二")
    assert operation_key("the") == "the", "a word that says nothing is still more than nothing"
    assert operation_key("?! … ——") == ""
