"""Step 4, Plan: the repair steps and what else the class of the error asks for.

A plan that cannot be used is replaced by the ticket's own; what broke off is resumed by a plan that code writes.
"""

from enum import StrEnum
from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from reflection_app.loops.effects import Generate
from reflection_app.loops.lenient_values import Lenient
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.class_plans import MOST_STEPS, fitted, plan_by_the_ticket, plan_to_resume
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.lenient_texts import Said, SaidMany
from reflection_app.loops.protocol.reflecting import MOST_REASKS, TEMPERATURE
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.protocol.stages import (
    AntiPattern,
    Classified,
    Effort,
    Planned,
    Reflected,
    RepairKind,
    RepairStep,
)
from reflection_app.loops.protocol.told_tickets import framed_ticket
from reflection_app.loops.structured_answers import NoUsableAnswer, ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import describe, task_of

# A model that likes to ask must not hold a run up with one question after the other.
MOST_QUESTIONS = 2
CLASS_PROMPTS = {
    ErrorClass.MODEL_CAPABILITY: "protocol_plan_capability",
    ErrorClass.DECISION_ERROR: "protocol_plan_decision",
    ErrorClass.PIPELINE_CRASH: "protocol_plan_crash",
    ErrorClass.MISSING_KNOWLEDGE: "protocol_plan_knowledge",
    ErrorClass.NORMAL_ITERATION: "protocol_plan_iteration",
}


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


async def plan_repairs(
    spec: TaskSpec, run: Progress, back: SentBack, reflected: Reflected, classified: Classified
) -> Planned:
    """The plan, fitted to the class and recorded."""
    if classified.type is ErrorClass.PIPELINE_CRASH and back.made.interruption is not None:
        plan = plan_to_resume(back.made.interruption)
    else:
        plan = await _asked(spec, run, back, reflected, classified)
    return await keep_stage(
        run,
        back,
        key="plan-kept",
        output=fitted(plan, spec=spec, reflected=reflected, classified=classified),
        type=classified.type.value,
        root_cause=reflected.root_cause,
        repair_plan=[repair[:200] for repair in back.ticket.repair_plan[:20]],
    )


async def _asked(
    spec: TaskSpec, run: Progress, back: SentBack, reflected: Reflected, classified: Classified
) -> Planned:
    run.check_limits()
    request = Generate(
        key=f"attempt-{back.number}/plan",
        role="reflector",
        messages=question(spec, back, reflected, classified),
        temperature=TEMPERATURE,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        json_schema=ANSWER_SCHEMA,
    )
    try:
        said = await ask(run, request, schema=PlanAnswer, most_reasks=MOST_REASKS)
    except NoUsableAnswer:
        return plan_by_the_ticket(back.ticket)
    plan = planned_from(said, tools=[tool.name for tool in spec.tools])
    if plan.repair_steps or classified.type is ErrorClass.NORMAL_ITERATION:
        return plan
    return plan.model_copy(update={"repair_steps": plan_by_the_ticket(back.ticket).repair_steps})


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


def question(spec: TaskSpec, back: SentBack, reflected: Reflected, classified: Classified) -> tuple[Message, ...]:
    """What the reflector is asked for a plan: the ticket, the analysis, the class, and the tools there are."""
    asked = prompt(
        "protocol_plan",
        objective=task_of(spec),
        ticket=framed_ticket(back),
        analysis=told_analysis(reflected),
        error_class=f"{classified.type.value} {classified.description}",
        wanted=prompt(CLASS_PROMPTS[classified.type]),
        tools=describe(spec.tools) or "(none)",
        most=MOST_STEPS,
    )
    return (system(prompt("protocol_system")), user(asked))


def told_analysis(reflected: Reflected) -> str:
    """The analysis as models and agents are shown it."""
    lines = [
        f"Expected: {reflected.expected}",
        f"Actual: {reflected.actual}",
        f"Gap: {reflected.gap}",
        f"What shows: {reflected.surface_issue}",
        *(f"How it came: {step}" for step in reflected.occurrence_process),
        f"Root cause: {reflected.root_cause}",
        *(f"Open question: {question}" for question in reflected.questions),
    ]
    return "\n".join(lines)
