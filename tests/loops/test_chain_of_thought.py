from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.chain_of_thought import ChainOfThought, asking_for_parts, parse_chain_of_thought, work_in
from reflection_app.loops.code_answers import code_of, data_of
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.values import assistant, user
from tests.loops.playing import code_spec, play, report, said, sequence, text_spec
from tests.pace import within

ALL = ChainOfThought(understand="a", analyze="b", plan="c", execute="d", verify="e")


WORK = "Dear Ms Okafor,\n\nYour parcel left Leeds on Tuesday.\n\nKind regards"


@pytest.mark.parametrize(
    "answer",
    [
        "## Understand\na\n## Analyze\nb\n## Plan\nc\n## Execute\nd\n## Verify\ne",
        "## **Understand**\na\n## **Analyzing it**\nb\n##Plan\nc\n## Execute: d\n## Verify\ne",
        "1. **Understand**: a\n2. **Analyse**: b\n3. **Plan**: c\n4. **Execute**: d\n5. **Verify**: e",
        "Sure!\n\n__Understanding it__\na\n__Analyzing__\nb\n__Planning:__ c\n__Execution__\nd\n__Verification__\ne",
        "- **Understand:** a\n- **Analyze:** b\n- **Plan:** c\n- **Execute:** d\n- **Verify:** e",
        "**理解任务**\na\n**分析：** b\n**計劃**\nc\n**執行**\nd\n**驗證**\ne",
        "一、理解任务：\na\n二、分析：b\n三、计划\nc\n4、执行\nd\n五、验证\ne",
        "## Verify\ne\n## Execute\nd\n## Plan\nc\n## Analyze\nb\n## Understand\na",
        (
            "<think>## Execute\nnot this\n## Plan\nnor this</think>\n"
            "## Understand\na\n## Analyze\nb\n## Plan\nc\n## Execute\nd\n## Verify\ne"
        ),
    ],
)
def test_headings_of_markdown_bold_and_numbered_ones_are_found(answer: str) -> None:
    for text in (answer, answer.replace("\n", "\r\n"), f"\n\n{answer}\n"):
        parts = parse_chain_of_thought(text)
        assert parts is not None
        assert parts.parts == ALL.parts
        assert parts.answer == work_in(text) == "d"


def test_text_on_the_line_of_its_heading_keeps_its_own_marks() -> None:
    assert work_in("## Plan: x\n## Execute: __init__") == "__init__"
    assert work_in("**Plan:** x\n**Execute:** **4**") == "**4**"


def test_a_part_that_is_missing_is_none_and_an_empty_one_is_empty() -> None:
    parts = parse_chain_of_thought("## Plan\n\n## Execute\nd")
    assert parts == ChainOfThought(plan="", execute="d")


def test_a_part_that_stands_twice_is_put_together() -> None:
    parts = parse_chain_of_thought("## Execute\nfirst\n## Verify\nwrong\n## Execute\nsecond")
    assert parts == ChainOfThought(execute="first\n\nsecond", verify="wrong")


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "I plan to do it.\nPlan B is better.\nUnderstandably so.\nPlanned: x",
        "**Execute** the plan, then **verify** it.",
        "分析了数据之后，我们计划做这件事。",
        "```\n## Plan\nall of it\n```",
        "```\n## Plan",
        "<h2>Plan</h2>\nc\n<h2>Execute</h2>\nd",
        '{"plan": "c", "execute": "d"}',
        "Plan\n----\nc\n\nExecute\n-------\nd",
        "Plan: c\nExecute: d",
    ],
)
def test_where_no_part_is_headed_there_is_none(answer: str) -> None:
    assert parse_chain_of_thought(answer) is None


def test_lists_and_code_inside_of_a_part_are_no_headings() -> None:
    plan = "1. Analyze the data\n2. Execute: run the query\n3. Verify the result\n\n**Verify twice**"
    code = "```python\n# Verify\ndef f(x):\n    return x + 1\n```"
    answer = f"## Understand\na\n## Analyze\nb\n## Plan\n{plan}\n## Execute\n{code}\n## Verify\ne"
    parts = parse_chain_of_thought(answer)

    assert parts == ChainOfThought(understand="a", analyze="b", plan=plan, execute=code, verify="e")
    assert code_of(answer, entry_point="f") == "# Verify\ndef f(x):\n    return x + 1"


@pytest.mark.parametrize(
    ("text", "answer", "reasoning"),
    [
        (f"<think>\nShe asks.\nTuesday, Leeds.\n</think>\n\n{WORK}", WORK, ("She asks.\nTuesday, Leeds.",)),
        (f"The parcel is hers.\n\nSo be kind.\n</think>\n{WORK}", WORK, ("The parcel is hers.", "So be kind.")),
        ("<think>A name.</think>\n<form><answer>y</answer></form>", "<form><answer>y</answer></form>", ("A name.",)),
        ("<think>a</think>\nOne.\n\n<think>b</think>\nTwo.", "One.\n\n\nTwo.", ("a\nb",)),
    ],
)
def test_a_thought_is_separated_from_the_answer(text: str, answer: str, reasoning: tuple[str, ...]) -> None:
    for around in (text, f"\n{text}\n\n"):
        found = parse_chain_of_thought(around)
        assert found == ChainOfThought(reasoning=reasoning, final=answer)
        assert work_in(around) == answer


@pytest.mark.parametrize(
    "answer",
    [
        "<think>I never come to an end",
        "</think>",
        "<think>42</think>",
        "Write <think> at the start.\nAnswer the question.",
        "```xml\n<think>x</think>\n<answer>y</answer>\n```",
        "<reasoning>A box.</reasoning>\n<answer>34</answer>",
        '{"reasoning": "Three boxes of twelve.", "answer": "34"}',
    ],
)
def test_where_nothing_marks_the_answer_all_of_the_text_is_it(answer: str) -> None:
    assert work_in(answer) == answer
    assert parse_chain_of_thought(answer) is None


def test_steps_are_paragraphs_and_the_last_one_holds_the_remaining_text() -> None:
    found = parse_chain_of_thought("3", beside="\n\n".join(f"do w{number}." for number in range(500)))
    assert found is not None
    assert found.steps[1] == "do w1."
    assert len(found.steps) == 100
    assert all(f"w{number}." in "".join(found.steps) for number in range(500))


def test_parts_that_an_earlier_version_stored_are_read() -> None:
    stored = {"understand": None, "execute": "d", "reasoning": ["Step 1: a", "Step 2: b"], "is_within": True}
    assert ChainOfThought.model_validate(stored) == ChainOfThought(execute="d", reasoning=("Step 1: a", "Step 2: b"))


def test_an_object_that_was_asked_for_is_not_taken_apart() -> None:
    answer = '{"reasoning": "x", "answer": {"papers": []}}'
    assert data_of(answer, chain_of_thought=True) == {"reasoning": "x", "answer": {"papers": []}}
    assert data_of(f"<think>{answer}</think>\n[1]", chain_of_thought=True) == [1]
    assert data_of(f"<think>hm</think>\n{answer}", chain_of_thought=True) == {
        "reasoning": "x",
        "answer": {"papers": []},
    }
    assert data_of('<think>{"a": 1}', chain_of_thought=True) == {"a": 1}


def test_what_a_provider_tells_beside_the_answer_is_reasoning() -> None:
    found = parse_chain_of_thought("forty-two", beside="First.\n\nThen.")
    assert found is not None
    assert (found.reasoning, found.answer) == (("First.", "Then."), "forty-two")
    parts = parse_chain_of_thought("## Plan\nc\n## Execute\nd", beside="First.")
    assert parts is not None
    assert (parts.steps, parts.answer) == (("First.", "c"), "d")
    assert parse_chain_of_thought("forty-two", beside=" \n") is None


def test_headings_within_a_thought_are_no_parts() -> None:
    found = parse_chain_of_thought("<think>\n## Execute\nno\n</think>\n## Plan\nc\n## Execute\nd")
    assert found is not None
    assert found.parts == ALL.parts | {"understand": None, "analyze": None, "verify": None}
    assert found.reasoning == ("## Execute\nno",)


TAGS = ["<think>", "</think>", "\n<think>", "</think>\n"]
LABELS = ["## Plan\n", "**Execute:** ", "3. Plan\n", "四、执行：", "#### ", "```\n"]
BREAKS = ["\n", "\n\n", " ", "{", "}"]


@given(st.lists(st.sampled_from([*TAGS, *LABELS, *BREAKS]), max_size=14))
def test_hostile_and_half_open_layouts_lose_no_word(pieces: list[str]) -> None:
    words = [f"w{number}w" for number in range(len(pieces) + 1)]
    text = words[0] + "".join(f"{piece}{word}" for piece, word in zip(pieces, words[1:], strict=True))
    found = parse_chain_of_thought(text)
    kept = "\n".join((*found.steps, found.answer)) if found else text
    assert [word for word in words if word not in kept] == []
    assert work_in(text).strip()


HOSTILE = ["#", "*", "`", "1.", "\n", "## Plan\n", "Plan: ", "-", "((", "理解", "\n---", "```\n", "step ", "plan ", " "]


REPEATED = ["<think></think>\n```\n```\n", "```\n</think>\n```\n", "**Plan:** x\n"]


@pytest.mark.parametrize(
    "piece",
    [*HOSTILE, *TAGS, *LABELS, "<a>", '{"a":', "Plan\n---\n", "~~~ ```\n", "\t", "第", "ⅰ.", "\u2028Plan", *REPEATED],
)
def test_hostile_text_takes_no_longer_than_its_length(piece: str) -> None:
    with within(paces=100):
        parse_chain_of_thought(piece * (50_000 // len(piece)))


@given(st.text(max_size=200), st.lists(st.sampled_from([*HOSTILE, "a", "## Verify"]), max_size=20))
def test_any_text_is_read_without_an_error(text: str, pieces: list[str]) -> None:
    parts = parse_chain_of_thought(text + "".join(pieces))
    assert parts is None or parts.parts or parts.final


def test_the_wish_stands_at_the_end_of_the_last_message_only() -> None:
    first, last = asking_for_parts((user("one"), user("two")))
    assert first == user("one")
    assert last.content.startswith("two\n\n")
    assert "## Verify" in last.content
    assert [message.role for message in asking_for_parts((assistant("x"),))] == ["assistant", "user"]


def test_every_loop_asks_for_the_parts_where_the_task_does_and_else_none() -> None:
    judged = said('{"score": 90, "approved": true}')
    specs: list[tuple[TaskSpec, list[Any]]] = [
        (code_spec(), [said("a"), report(True)]),
        (text_spec(), [said("a"), judged]),
    ]
    for spec, answers in specs:
        asked = play(spec.model_copy(update={"chain_of_thought": True}), sequence(answers)).effects[0]
        plain = play(spec, sequence(answers)).effects[0]
        assert isinstance(asked, Generate)
        assert isinstance(plain, Generate)
        assert "## Understand" in asked.messages[-1].content
        assert "## Understand" not in plain.messages[-1].content
