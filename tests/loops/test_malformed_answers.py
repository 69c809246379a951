"""Malformed answers of every kind, in every role: no run is lost by them, and none is passed by them."""

import json
from typing import Any

import pytest

from reflection_app.loops.attempt_effects import AskPerson, AskReviewer, CallTool, Generate, RecordVerdict
from reflection_app.loops.completeness.checks import CompletenessSettings
from reflection_app.loops.effects import AnyEffect
from reflection_app.loops.questions import Choice, PersonsAnswer
from reflection_app.loops.task_spec import Limits, Mode, TaskSpec
from reflection_app.loops.tool_calls import ToolResult, ToolSpec
from reflection_app.loops.verdicts import Outcome, Referee
from tests.loops.malformed import MALFORMED
from tests.loops.playing import NO_AUDIT, Played, noted, play, said
from tests.runs.critiques import critique

MODES = (Mode.ACTOR_CRITIC, Mode.REFLEXION, Mode.REFLECTION_PROTOCOL, Mode.PLANNING)
# What makes no attempt fail and no work pass: every role but the malformed one answers just as it should.
SENSIBLE: dict[str, str] = {
    "approved": critique(45, approved=False),
    "is_satisfactory": json.dumps({"is_satisfactory": False, "issues": ["thin"], "confidence": 0.9}),
    "root_causes": json.dumps({"issues": ["a"], "root_causes": ["b"], "suggestions": ["c"]}),
    "gap": json.dumps({"surface_issue": "too few", "root_cause": "haste"}),
    "repair_steps": json.dumps({"repair_steps": [{"action": "add"}], "remediation": "add"}),
    "is_complete": json.dumps({"is_complete": True, "analysis": "all there", "missing_aspects": [], "supplements": []}),
    "steps": json.dumps({"steps": [{"id": "a", "description": "look", "tool": "look_up", "requires": []}]}),
    "arguments": json.dumps({"tool": "look_up", "arguments": {}}),
    "error_type": json.dumps({"error_type": "parameter_error", "root_cause": "?", "severity": "low", "action": "fix"}),
}
ASKED = tuple(SENSIBLE)


def field_of(effect: Generate) -> str:
    """The field by which the form of a question is known; nothing where no form was asked for."""
    properties = (effect.json_schema or {}).get("properties", {})
    return next((field for field in ASKED if field in properties), "")


def played(spec: TaskSpec, *, bad: str, text: str) -> Played:
    """The loop with every question of the form `bad` answered by `text`."""

    def answer(effect: AnyEffect) -> Any:
        if isinstance(effect, Generate):
            field = field_of(effect)
            return said(text if field == bad else SENSIBLE.get(field, "An answer."))
        if isinstance(effect, CallTool):
            return ToolResult(ok=True, content="found")
        if isinstance(effect, AskPerson):
            return PersonsAnswer(choice=Choice.SKIP)
        assert not isinstance(effect, AskReviewer), "nobody is to be asked in these runs"
        return noted(effect)

    return play(spec, answer)


def spec_of(mode: Mode, **more: Any) -> TaskSpec:
    policy = NO_AUDIT.model_copy(update={"rules": ()})
    tools = (ToolSpec(name="look_up", parameters={"type": "object"}),) if mode is Mode.PLANNING else ()
    limits = Limits(max_iterations=2, token_budget=1_000_000)
    return TaskSpec(
        objective="Find five things.",
        mode=mode,
        tools=tools,
        limits=limits,
        review_policy=policy,
        completeness=CompletenessSettings(),
        **more,
    )


@pytest.mark.parametrize("kind", MALFORMED)
@pytest.mark.parametrize("mode", MODES)
def test_a_judge_that_is_malformed_passes_nothing_and_loses_nothing(mode: Mode, kind: str) -> None:
    bad = "is_satisfactory" if mode is Mode.REFLEXION else "approved"
    ended = played(spec_of(mode), bad=bad, text=MALFORMED[kind])

    assert ended.ended.outcome not in {Outcome.SUCCEEDED, Outcome.FAILED}, ended.ended
    assert ended.ended.best_attempt == 1
    verdicts = [effect.judgement for effect in ended.of(RecordVerdict)]
    assert not [judged for judged in verdicts if judged.passed and judged.referee in {Referee.CRITIC, Referee.SELF}]
