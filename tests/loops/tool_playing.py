"""Driving loops that call tools: specifications, calls and results in short."""

import json
from typing import Any

from reflection_app.loops.attempt_effects import (
    AskPerson,
    AskReviewer,
    AwaitAttempt,
    CallTool,
    Generate,
    KeepAttempt,
    RecordVerdict,
)
from reflection_app.loops.diagnosis.diagnoses import Diagnosis
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import RecordToolFailure
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolCall, ToolFailure, ToolResult, ToolSpec
from tests.loops.playing import NO_AUDIT, Answer, Played, noted

__all__ = ["noted"]

WEATHER = ToolSpec(
    name="weather",
    description="The weather of a city.",
    parameters={
        "type": "object",
        "required": ["city"],
        "additionalProperties": False,
        "properties": {"city": {"type": "string"}, "days": {"type": "integer", "minimum": 1}},
    },
)
ADD = ToolSpec(name="add", description="Adds numbers.", parameters={"type": "object"})


def tool_spec(call: dict[str, Any] | None = None, *tools: ToolSpec, **fields: Any) -> TaskSpec:
    """A task of the tool loop, with the call of `weather` that it brings, if any."""
    limits = Limits(**fields.pop("limits", {}))
    return TaskSpec(
        objective="What is the weather in Rome?",
        mode=Mode.EXTERNAL_LOOP,
        tools=tools or (WEATHER,),
        tool_call=None if call is None else ToolCall(tool="weather", arguments=call),
        limits=limits,
        review_policy=NO_AUDIT,
        **fields,
    )


def planning_spec(*, has_critic: bool = False, **limits: Any) -> TaskSpec:
    return TaskSpec(
        objective="Pack for Rome.",
        mode=Mode.PLANNING,
        tools=(WEATHER, ADD),
        has_critic=has_critic,
        limits=Limits(**limits),
        review_policy=NO_AUDIT,
    )


def worked(content: str = "21 degrees") -> ToolResult:
    return ToolResult(ok=True, content=content)


def failed(failure: ToolFailure = ToolFailure.TOOL_ERROR, error: str = "it broke", **more: Any) -> ToolResult:
    return ToolResult(ok=False, failure=failure, error=error, **more)


def call_text(tool: str = "weather", **arguments: Any) -> str:
    """A call as a model writes it."""
    return json.dumps({"tool": tool, "arguments": arguments})


def plan_text(*steps: tuple[str, str | None, list[str]]) -> str:
    """A plan as a model writes it, of (id, tool, requires)."""
    listed = [
        {"id": step_id, "description": f"do {step_id}", "tool": tool, "requires": requires}
        for step_id, tool, requires in steps
    ]
    return json.dumps({"steps": listed})


def in_turn(answers: list[Any]) -> Answer:
    """Answers in turn for everything that asks the outside; no model diagnoses."""
    waiting = iter(answers)

    def answer(effect: Any) -> Any:
        if isinstance(effect, Generate) and effect.role == "diagnoser":
            return EffectFailed("there is no diagnoser")
        asks = isinstance(effect, Generate | CallTool | AskReviewer | AwaitAttempt | AskPerson)
        return next(waiting) if asks else noted(effect)

    return answer


def calls_of(played: Played) -> list[CallTool]:
    return played.of(CallTool)


def kept_by(played: Played) -> list[Any]:
    """The attempts that were kept, read as JSON."""
    return [json.loads(effect.content) for effect in played.of(KeepAttempt)]


def asked_for(played: Played, key: str) -> str:
    """What the model was asked in the step `key`."""
    return next(effect for effect in played.of(Generate) if effect.key == key).messages[-1].content


def verdicts_of(played: Played) -> list[Any]:
    return [effect.judgement for effect in played.of(RecordVerdict)]


def diagnoses_of(played: Played) -> list[Diagnosis]:
    return [effect.failure.diagnosis for effect in played.of(RecordToolFailure)]
