"""Lessons of the notebook in the first prompt of every loop, and in no other."""

from typing import Any
from uuid import uuid4

import pytest
from hypothesis import given
from hypothesis import strategies as st

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.attempts import attempt_messages
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.lessons import LONGEST_LESSONS, Lesson, Lessons, RecallLessons, recall_for
from reflection_app.loops.project_settings import LessonSettings
from reflection_app.loops.task_spec import Execution, Limits, Mode, Redo, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolResult, ToolSpec
from reflection_app.loops.values import assistant, system, user
from tests.loops.playing import TESTS, noted, play, report, said
from tests.runs.critiques import critique

BLOCK = "[[notebook:begin:x]] the lesson $task {braces} [[notebook:end:x]]"
GIVEN = Lesson(
    entry_id=uuid4(),
    version=1,
    kind="lesson",
    name="n",
    text="t",
    rank=1,
    score=1.0,
    share=0.1,
    draw=0.5,
    is_withheld=False,
)


def spec_of(mode: Mode, **more: Any) -> TaskSpec:
    limits = Limits(token_budget=100_000, max_iterations=2)
    return TaskSpec(objective="the task", mode=mode, limits=limits, lessons=LessonSettings(), **more)


def played(spec: TaskSpec, answers: dict[str, Any]) -> list[AnyEffect]:
    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, RecallLessons):
            return Lessons(block=BLOCK, lessons=(GIVEN,))
        if isinstance(effect, Generate):
            return said(answers[effect.key])
        return answers[effect.key] if effect.key in answers else noted(effect)

    return play(spec, answer).effects


LOOPS: dict[str, tuple[TaskSpec, dict[str, Any]]] = {
    "code": (
        spec_of(Mode.EXTERNAL_LOOP, tests=TESTS),
        {
            "attempt-1/answer": "```python\nx\n```",
            "attempt-1/tests": report(False),
            "attempt-2/answer": "```python\ny\n```",
            "attempt-2/tests": report(True),
        },
    ),
    "data": (
        spec_of(Mode.EXTERNAL_LOOP, output_schema={"type": "object", "required": ["a"]}),
        {"attempt-1/answer": "{}", "attempt-2/answer": '{"a": 1}'},
    ),
    "actor and critic": (
        spec_of(Mode.ACTOR_CRITIC),
        {
            "attempt-1/answer": "a",
            "attempt-1/critique": critique(40),
            "attempt-2/answer": "b",
            "attempt-2/critique": critique(90, approved=True),
        },
    ),
    "reflexion": (
        spec_of(Mode.REFLEXION),
        {
            "attempt-1/answer": "a",
            "attempt-1/self-evaluation": '{"is_satisfactory": false, "issues": ["x"], "confidence": 0.9}',
            "attempt-1/reflection": '{"issues": ["x"], "root_causes": [], "suggestions": ["y"]}',
            "attempt-2/answer": "b",
            "attempt-2/self-evaluation": '{"is_satisfactory": true, "issues": [], "confidence": 0.9}',
        },
    ),
    "the six steps": (
        spec_of(Mode.REFLECTION_PROTOCOL),
        {"attempt-1/answer": "a", "attempt-1/critique": critique(90, approved=True)},
    ),
}


@pytest.mark.parametrize("name", LOOPS)
def test_lessons_are_recalled_once_and_stand_in_the_first_prompt_after_the_task_alone(name: str) -> None:
    spec, answers = LOOPS[name]
    effects = played(spec, answers)
    recalls = [effect for effect in effects if isinstance(effect, RecallLessons)]
    assert [effect.key for effect in recalls] == ["lessons"]
    prompts = [effect for effect in effects if isinstance(effect, Generate)]
    holding = [effect.key for effect in prompts if any(BLOCK in message.content for message in effect.messages)]
    assert holding == ["attempt-1/answer"]
    [first] = [effect for effect in prompts if effect.key == "attempt-1/answer"]
    last = first.messages[-1].content
    assert last.index("the task") < last.index(BLOCK)
    assert effects.index(recalls[0]) == effects.index(first) - 1


@pytest.mark.parametrize("name", LOOPS)
def test_a_run_without_lessons_asks_for_none(name: str) -> None:
    spec, answers = LOOPS[name]
    effects = played(spec.model_copy(update={"lessons": None}), answers)
    assert not any(isinstance(effect, RecallLessons) for effect in effects)


def test_a_plan_is_made_knowing_the_lessons_and_so_is_its_answer() -> None:
    tools = (ToolSpec(name="look", description="Looks.", parameters={"type": "object"}),)
    plan = '{"steps": [{"id": "1", "description": "think", "tool": null, "requires": []}]}'
    answers = {
        "attempt-1/plan/make": plan,
        "attempt-1/step-1/answer": "thought",
        "attempt-1/answer": "a",
        "attempt-1/critique": critique(40),
        "attempt-2/answer": "b",
        "attempt-2/critique": critique(90, approved=True),
    }
    spec = spec_of(Mode.PLANNING, tools=tools)
    effects = played(spec, answers)
    [recall] = [effect for effect in effects if isinstance(effect, RecallLessons)]
    prompts = {effect.key: effect.messages[-1].content for effect in effects if isinstance(effect, Generate)}
    assert [key for key, words in prompts.items() if BLOCK in words] == ["attempt-1/plan/make", "attempt-1/answer"]
    plan_words = prompts["attempt-1/plan/make"]
    assert plan_words.index("the task") < plan_words.index(BLOCK) < plan_words.index("Answer with one JSON object")
    assert effects.index(recall) == 0
    assert recall.most_characters == LONGEST_LESSONS
    small = spec.model_copy(update={"limits": Limits(token_budget=10_000)})
    [recall] = [effect for effect in played(small, answers) if isinstance(effect, RecallLessons)]
    assert recall.most_characters == 2_000


def test_a_call_is_chosen_knowing_the_lessons_and_one_that_came_with_the_task_asks_for_none() -> None:
    tools = (ToolSpec(name="look", description="Looks.", parameters={"type": "object"}),)
    spec = spec_of(Mode.EXTERNAL_LOOP, tools=tools)
    answers = {
        "attempt-1/arguments": '{"tool": "look", "arguments": {}}',
        "attempt-1/call": ToolResult(ok=True, content="seen"),
    }
    effects = played(spec, answers)
    assert [effect.key for effect in effects][:2] == ["lessons", "attempt-1/arguments"]
    [asked] = [effect for effect in effects if isinstance(effect, Generate)]
    assert BLOCK in asked.messages[-1].content
    given = spec.model_copy(update={"tool_call": ToolCall(tool="look", arguments={})})
    assert not any(isinstance(effect, RecallLessons) for effect in played(given, answers))


def test_an_outside_agent_recalls_by_itself() -> None:
    effects: list[AnyEffect] = []

    def answer(effect: AnyEffect) -> Any:
        effects.append(effect)
        return EffectFailed("enough")

    play(spec_of(Mode.REFLEXION, execution=Execution.EXTERNAL), answer)
    assert [effect.kind for effect in effects] == ["await_attempt"]


def test_lessons_stand_with_the_task_and_before_what_was_ordered_again() -> None:
    spec = spec_of(Mode.REFLEXION, redo=Redo(content="old answer", instructions="do better"))
    made = attempt_messages(spec, (system("s"), user("the task")), number=1, lessons=Lessons(block=BLOCK))
    assert [message.role for message in made] == ["system", "user", "assistant", "user"]
    assert BLOCK in made[1].content
    assert made[2] == assistant("old answer")
    assert BLOCK not in made[3].content


@given(st.integers(min_value=1, max_value=10_000_000))
def test_lessons_take_a_bounded_share_of_the_tokens_and_none_of_a_small_budget(tokens: int) -> None:
    spec = spec_of(Mode.REFLEXION).model_copy(update={"limits": Limits(token_budget=tokens)})
    recall = recall_for(spec)
    if recall is None:
        assert tokens < 2_001
    else:
        assert recall.most_characters <= min(LONGEST_LESSONS, tokens)
