"""What the reflector answers when it is asked for a repair plan, read leniently."""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from reflection_app.loops.lenient_values import Lenient
from reflection_app.loops.protocol.class_plans import MOST_STEPS
from reflection_app.loops.protocol.lenient_texts import Said, SaidMany
from reflection_app.loops.protocol.stages import AntiPattern, Effort, Planned, RepairKind, RepairStep

# A model that likes to ask must not hold a run up with one question after the other.
MOST_QUESTIONS = 2


def _one_of[E: StrEnum](kind: type[E], otherwise: E) -> BeforeValidator:
    def read(value: Any) -> E:
        name = str(value).strip().lower()
        return kind(name) if name in kind else otherwise

    return BeforeValidator(read)


class PlannedStep(Lenient):
    action: Said = ""
    kind: Annotated[RepairKind, _one_of(RepairKind, RepairKind.MODEL)] = RepairKind.MODEL
    tool: Said = ""
    expected_outcome: Said = ""
    is_checkpoint: Annotated[bool, BeforeValidator(lambda value: value is True)] = False


class PlannedPattern(Lenient):
    pattern_name: Said = ""
    symptoms: SaidMany = ()
    prevention: Said = ""


def _steps(value: Any) -> Any:
    """Each item that can be a step: models write a sentence where an object was asked for."""
    items = value if isinstance(value, list) else [value]
    steps = [item if isinstance(item, dict) else {"action": item} for item in items if item]
    return [step for step in steps if step.get("action")][:MOST_STEPS]


def _pattern(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


class PlanAnswer(Lenient):
    repair_steps: Annotated[tuple[PlannedStep, ...], BeforeValidator(_steps)] = ()
    resources_needed: SaidMany = ()
    estimated_effort: Annotated[Effort, _one_of(Effort, Effort.MEDIUM)] = Effort.MEDIUM
    remediation: Said = ""
    learning_notes: Said = ""
    anti_pattern: Annotated[PlannedPattern, BeforeValidator(_pattern)] = PlannedPattern()
    instruction: Said = ""
    hint: Said = ""

    @model_validator(mode="after")
    def check_it_plans(self) -> "PlanAnswer":
        if not (self.repair_steps or self.remediation or self.hint):
            raise ValueError("repair_steps and remediation are missing")
        return self


_STEP = {
    "type": "object",
    "additionalProperties": False,
    "required": ["action", "kind", "tool", "expected_outcome", "is_checkpoint"],
    "properties": {
        "action": {"type": "string"},
        "kind": {"type": "string", "enum": [kind.value for kind in RepairKind]},
        "tool": {"type": "string"},
        "expected_outcome": {"type": "string"},
        "is_checkpoint": {"type": "boolean"},
    },
}
_TEXTS = {"type": "array", "items": {"type": "string"}, "maxItems": 5}
_PATTERN = {
    "type": "object",
    "additionalProperties": False,
    "required": ["pattern_name", "symptoms", "prevention"],
    "properties": {"pattern_name": {"type": "string"}, "symptoms": _TEXTS, "prevention": {"type": "string"}},
}
_FIELDS: dict[str, Any] = {
    "repair_steps": {"type": "array", "items": _STEP, "maxItems": MOST_STEPS},
    "resources_needed": _TEXTS,
    "estimated_effort": {"type": "string", "enum": [effort.value for effort in Effort]},
    "remediation": {"type": "string"},
    "learning_notes": {"type": "string"},
    "anti_pattern": _PATTERN,
    "instruction": {"type": "string"},
    "hint": {"type": "string"},
}
ANSWER_SCHEMA: dict[str, Any] = {
    "type": "object",
    "additionalProperties": False,
    "required": list(_FIELDS),
    "properties": _FIELDS,
}


def planned_from(said: PlanAnswer, *, tools: list[str]) -> Planned:
    """The plan that the reflector means. A step by a tool that the task has not is one for the model."""
    steps, questions = list[RepairStep](), 0
    for step in said.repair_steps:
        questions += step.kind is RepairKind.PERSON
        has_tool = step.kind is RepairKind.TOOL and step.tool in tools
        may_ask = step.kind is RepairKind.PERSON and questions <= MOST_QUESTIONS
        kind = step.kind if has_tool or may_ask else RepairKind.MODEL
        tool = step.tool if has_tool else ""
        steps.append(RepairStep(**step.model_dump(exclude={"kind", "tool"}), kind=kind, tool=tool))
    pattern = said.anti_pattern
    return Planned(
        **said.model_dump(exclude={"repair_steps", "anti_pattern"}),
        repair_steps=tuple(steps),
        anti_pattern=AntiPattern(**pattern.model_dump()) if pattern.pattern_name else None,
    )
