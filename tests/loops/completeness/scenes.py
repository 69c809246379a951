"""Playing the planning loop with answers by step key, and tools that answer by name."""

import json
from collections.abc import Mapping
from typing import Any

from reflection_app.loops.attempt_effects import CallTool, Generate
from reflection_app.loops.completeness.checks import Completeness, CompletenessSettings, SupplementsRun
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.effects import AnyEffect, RecordCompleteness, RecordSupplements
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolResult, ToolSpec
from tests.loops.playing import NO_AUDIT, Answer, Played, noted, play, said

USUAL = CompletenessSettings()
SECOND_LOOK = "attempt-1/second-look/completeness"
DESCRIPTIONS = {
    "search": "Finds a list.",
    "write": "Saves a list to a file.",
    "mail": "Mails a list to people.",
    "local__file_write": "把内容保存到文件",
    "qq_message_send": "发送消息，通知用户",
}


def checked(*supplements: dict[str, Any], analysis: str = "analysis", missing: list[str] | None = None) -> str:
    """An answer of the check, as a model writes it; complete where it asks for nothing."""
    return json.dumps(
        {
            "is_complete": not supplements and not missing,
            "analysis": analysis,
            "missing_aspects": missing or [],
            "supplements": list(supplements),
        },
        ensure_ascii=False,
    )


def wanted(operation: str, reason: str = "", *tools: str, quote: str = "", **more: Any) -> dict[str, Any]:
    """A supplement as a model writes it; `quote` are words of the task."""
    return {"operation": operation, "reason": reason, "suggested_tools": list(tools), "quote": quote} | more


def planned(*steps: tuple[str, str, str | None], requires: Mapping[str, list[str]] | None = None) -> str:
    """A plan as a model writes it, of (id, description, tool)."""
    listed = [
        {"id": name, "description": what, "tool": tool, "requires": (requires or {}).get(name, [])}
        for name, what, tool in steps
    ]
    return json.dumps({"steps": listed}, ensure_ascii=False)


def call_of(tool: str, **arguments: Any) -> str:
    return json.dumps({"tool": tool, "arguments": arguments}, ensure_ascii=False)


def scene(objective: str, *tools: str, settings: CompletenessSettings | None = USUAL, **limits: Any) -> TaskSpec:
    return TaskSpec(
        objective=objective,
        mode=Mode.PLANNING,
        tools=tuple(
            ToolSpec(name=name, description=DESCRIPTIONS.get(name, name), parameters={"type": "object"})
            for name in tools
        ),
        has_critic=False,
        completeness=settings,
        limits=Limits(**{"token_budget": 100_000, "max_iterations": 1} | limits),
        review_policy=NO_AUDIT,
    )


def by_key(answers: Mapping[str, Any], results: Mapping[str, ToolResult]) -> Answer:
    """Models answer by the step's key, tools by their name; what has no answer fails for good.

    A second look finds nothing missing, where the test says nothing else.
    """
    answers = {SECOND_LOOK: checked(analysis="all is there now")} | dict(answers)

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, Generate):
            found = answers.get(effect.key, EffectFailed(f"no answer for {effect.key}"))
            return said(found) if isinstance(found, str) else found
        if isinstance(effect, CallTool):
            return results[effect.tool]
        return noted(effect)

    return answer


def played(spec: TaskSpec, answers: Mapping[str, Any], results: Mapping[str, ToolResult] | None = None) -> Played:
    return play(spec, by_key(answers, results or {}))


def found_by(one: Played) -> Completeness:
    [effect] = one.of(RecordCompleteness)
    return effect.found


def done_by(one: Played) -> SupplementsRun:
    [effect] = one.of(RecordSupplements)
    return effect.done
