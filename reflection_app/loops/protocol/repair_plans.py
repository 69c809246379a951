"""Step 4, Plan: the repair steps, and what else the error class requires.

An unusable plan is replaced by the ticket's own. Code writes the plan to resume an interrupted attempt.
"""

from typing import Annotated, Any

from pydantic import BeforeValidator, model_validator

from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.answer_reading import Lenient, read_as
from reflection_app.loops.answer_schemas import TEXT, YES_OR_NO, closed_object, list_of, one_of, texts
from reflection_app.loops.answers import ask
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import framed_task
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.error_classes import ErrorClass, LenientText, LenientTexts
from reflection_app.loops.protocol.reflecting import MOST_REASKS, TEMPERATURE
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption, SentBack, framed_ticket, keep_stage
from reflection_app.loops.protocol.stages import (
    AntiPattern,
    Classified,
    Effort,
    Planned,
    Reflected,
    RepairKind,
    RepairStep,
)
from reflection_app.loops.requirement_checks import result_name
from reflection_app.loops.requirements import LoweredRequirement
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.texts import one_line
from reflection_app.loops.tickets import Ticket
from reflection_app.loops.tool_tries import describe, task_of
from reflection_app.loops.values import Message, system, user

# Adjustments of a repair plan per error class, from "Error Type Handling" of the design seed

MOST_STEPS = 8
LONGEST_NAME = 120
STRONGER_MODEL = "A stronger model may be able to do it: set LLM_ESCALATION_MODEL."
ESCALATED = "The stronger model carries out the repair."


def plan_by_the_ticket(ticket: Ticket) -> Planned:
    """Return the ticket's own repair plan, with each step done by the model."""
    repairs = ticket.repair_plan or tuple(issue.description for issue in ticket.issues)
    steps = tuple(RepairStep(action=repair) for repair in repairs[:MOST_STEPS])
    return Planned(
        repair_steps=steps or (RepairStep(action="Find out what falls short, and put it right."),),
        remediation="; ".join(repairs[:MOST_STEPS])[:2_000],
        is_fallback=True,
    )


def plan_to_resume(broken: Interruption) -> Planned:
    """Return a plan with one step: repeat or continue what was interrupted."""
    is_cut = broken.by is BrokenBy.CUT_OFF
    action = (
        f"Go on with the answer where {broken.phase} was cut off."
        if is_cut
        else f"Make the step {broken.phase} once more, from the last step that worked."
    )
    return Planned(
        repair_steps=(RepairStep(action=action, expected_outcome="A whole answer, which is then judged."),),
        resources_needed=("the prompt of the step that broke off",),
        estimated_effort=Effort.LOW,
        remediation=f"Resume at {broken.phase}, and judge the answer as usual.",
    )


def fitted(plan: Planned, *, spec: TaskSpec, reflected: Reflected, classified: Classified) -> Planned:
    """Return `plan` with what the error class requires."""
    first: RepairStep | None = None
    changes: dict[str, object] = {}
    match classified.type:
        case ErrorClass.MODEL_CAPABILITY:
            suggestion = ESCALATED if spec.has_escalation else STRONGER_MODEL
            symptoms = tuple(similar.description for similar in classified.facts.similar.found[:5])
            pattern = plan.anti_pattern
            if pattern is None and plan.learning_notes and not reflected.is_fallback:
                pattern = AntiPattern(
                    pattern_name=reflected.surface_issue[:LONGEST_NAME],
                    symptoms=symptoms or (reflected.surface_issue,),
                    prevention=plan.learning_notes,
                )
            # The mistake was repeated, so the expected score is halfway between the REVISE and the PASS threshold.
            changes = {
                "anti_pattern": pattern,
                "expected_score": (spec.thresholds.revise_from + spec.thresholds.pass_from) / 2,
                "lowered": lowered_in(plan, spec),
                "remediation": " ".join(text for text in (plan.remediation, suggestion) if text),
            }
        case ErrorClass.DECISION_ERROR:
            steps = tuple(
                step.model_copy(update={"is_checkpoint": True}) if step.kind is RepairKind.MODEL else step
                for step in plan.repair_steps
            )
            # Text that code wrote about this one task does not belong in an agent's system prompt.
            explained = "" if reflected.is_fallback else f"Avoid this: {reflected.root_cause}"
            instruction = "" if plan.is_fallback else plan.instruction or plan.remediation or explained
            changes = {"repair_steps": steps, "instruction": instruction}
        case ErrorClass.PIPELINE_CRASH:
            # The broken phase is found and resumed first, before the plan's other steps. Interruptions that code
            # detected have their own plan.
            phase = classified.facts.broken_phase.strip()[:LONGEST_NAME]
            broken = f"Put right what broke the phase “{phase}”" if phase else "Find the phase or dependency that broke"
            first = RepairStep(
                action=f"{broken}, and resume there from the last step that worked; keep what was done before.",
                expected_outcome="The whole work, with nothing left out where it broke off.",
            )
        case ErrorClass.MISSING_KNOWLEDGE:
            # Knowledge is requested first: from the configured tool, or from a reviewer if there is none.
            wanted = "; ".join(reflected.questions) or reflected.gap or reflected.surface_issue
            tool = spec.knowledge_tool
            first = RepairStep(
                action=f"Ask {tool.name if tool else 'a person'}: {wanted}"[:4_000],
                kind=RepairKind.TOOL if tool else RepairKind.PERSON,
                tool=tool.name if tool else "",
                expected_outcome="The knowledge that was missing.",
            )
        case ErrorClass.NORMAL_ITERATION:
            changes = {"repair_steps": (), "hint": plan.hint or plan.learning_notes}
    if classified.type is not ErrorClass.MODEL_CAPABILITY:
        changes["lowered"] = ()
    if first is not None:
        changes = {"repair_steps": (first, *plan.repair_steps[: MOST_STEPS - 1])}
    return plan.model_copy(update=changes)


def lowered_in(plan: Planned, spec: TaskSpec) -> tuple[LoweredRequirement, ...]:
    """Return the lowered requirements in the plan that the task has: optional fields and smaller minimums.

    A minimum is lowered by at most half, so that what passes is still most of the work. The schema is never lowered.
    """
    if spec.requirements is None:
        return ()
    counts = {result_name(count): count.min for count in spec.requirements.counts}
    kept: dict[str, LoweredRequirement] = {}
    for one in plan.lowered:
        least = counts.get(one.requirement)
        if one.requirement in spec.requirements.required_fields and one.min is None:
            kept[one.requirement] = one
        elif least and one.min is not None and one.min < least:
            kept[one.requirement] = one.model_copy(update={"min": max(one.min, (least + 1) // 2)})
    return tuple(kept.values())


# The reflector's answer to a request for a repair plan, parsed leniently

# A model that likes to ask must not delay a run with one question after another.
MOST_QUESTIONS = 2


class PlannedStep(Lenient):
    action: LenientText = ""
    kind: Annotated[RepairKind, read_as(RepairKind, otherwise=RepairKind.MODEL)] = RepairKind.MODEL
    tool: LenientText = ""
    expected_outcome: LenientText = ""
    is_checkpoint: Annotated[bool, BeforeValidator(lambda value: value is True)] = False
    mends: LenientTexts = ()


def _whole_number(value: Any) -> int | None:
    """Return a whole number of at least 1, or None for anything else."""
    is_number = isinstance(value, int) and not isinstance(value, bool)
    return value if is_number and value >= 1 else None


class PlannedPattern(Lenient):
    pattern_name: LenientText = ""
    symptoms: LenientTexts = ()
    prevention: LenientText = ""


def _steps(value: Any) -> Any:
    """Return the items that can be steps. A plain sentence becomes a step's action."""
    items = value if isinstance(value, list) else [value]
    steps = [item if isinstance(item, dict) else {"action": item} for item in items if item]
    return [step for step in steps if step.get("action")][:MOST_STEPS]


def _pattern(value: Any) -> Any:
    return value if isinstance(value, dict) else {}


class PlannedLowering(Lenient):
    requirement: LenientText = ""
    min: Annotated[int | None, BeforeValidator(_whole_number)] = None


def _lowerings(value: Any) -> Any:
    """Return the items that name a requirement."""
    items = value if isinstance(value, list) else []
    return [item for item in items if isinstance(item, dict) and item.get("requirement")][:MOST_STEPS]


class PlanAnswer(Lenient):
    repair_steps: Annotated[tuple[PlannedStep, ...], BeforeValidator(_steps)] = ()
    resources_needed: LenientTexts = ()
    estimated_effort: Annotated[Effort, read_as(Effort, otherwise=Effort.MEDIUM)] = Effort.MEDIUM
    remediation: LenientText = ""
    learning_notes: LenientText = ""
    anti_pattern: Annotated[PlannedPattern, BeforeValidator(_pattern)] = PlannedPattern()
    instruction: LenientText = ""
    hint: LenientText = ""
    lowered: Annotated[tuple[PlannedLowering, ...], BeforeValidator(_lowerings)] = ()

    @model_validator(mode="after")
    def check_it_plans(self) -> "PlanAnswer":
        if not (self.repair_steps or self.remediation or self.hint):
            raise ValueError("repair_steps and remediation are missing")
        return self


_STEP = closed_object(
    action=TEXT,
    kind=one_of(RepairKind),
    tool=TEXT,
    expected_outcome=TEXT,
    is_checkpoint=YES_OR_NO,
    mends=texts(5),
)
ANSWER_SCHEMA = closed_object(
    repair_steps={"type": "array", "items": _STEP, "maxItems": MOST_STEPS},
    resources_needed=texts(5),
    estimated_effort=one_of(Effort),
    remediation=TEXT,
    learning_notes=TEXT,
    anti_pattern=closed_object(pattern_name=TEXT, symptoms=texts(5), prevention=TEXT),
    instruction=TEXT,
    hint=TEXT,
    lowered=list_of(closed_object(requirement=TEXT, min={"type": ["integer", "null"]}), most=MOST_STEPS),
)


def planned_from(answer: PlanAnswer, *, tools: list[str]) -> Planned:
    """Return the reflector's plan. A step with an unknown tool becomes a step for the model.

    At most MOST_QUESTIONS steps ask a reviewer; further ones become steps for the model.
    """
    steps, questions = list[RepairStep](), 0
    for step in answer.repair_steps:
        questions += step.kind is RepairKind.PERSON
        has_tool = step.kind is RepairKind.TOOL and step.tool in tools
        may_ask = step.kind is RepairKind.PERSON and questions <= MOST_QUESTIONS
        kind = step.kind if has_tool or may_ask else RepairKind.MODEL
        tool = step.tool if has_tool else ""
        steps.append(RepairStep(**step.model_dump(exclude={"kind", "tool"}), kind=kind, tool=tool))
    pattern = answer.anti_pattern
    return Planned(
        **answer.model_dump(exclude={"repair_steps", "anti_pattern", "lowered"}),
        lowered=tuple(LoweredRequirement(**one.model_dump()) for one in answer.lowered),
        repair_steps=tuple(steps),
        anti_pattern=AntiPattern(**pattern.model_dump()) if pattern.pattern_name else None,
    )


CLASS_PROMPTS = {
    ErrorClass.MODEL_CAPABILITY: "protocol_plan_capability",
    ErrorClass.DECISION_ERROR: "protocol_plan_decision",
    ErrorClass.PIPELINE_CRASH: "protocol_plan_crash",
    ErrorClass.MISSING_KNOWLEDGE: "protocol_plan_knowledge",
    ErrorClass.NORMAL_ITERATION: "protocol_plan_iteration",
}


async def plan_repairs(
    spec: TaskSpec, run: Progress, back: SentBack, reflected: Reflected, classified: Classified
) -> Planned:
    """Record and return the plan, adjusted to the error class."""
    if classified.type is ErrorClass.PIPELINE_CRASH and back.made.interruption is not None:
        plan = plan_to_resume(back.made.interruption)
    else:
        run.check_limits()
        request = run.model_call(
            key=f"attempt-{back.number}/plan",
            role="reflector",
            messages=question(spec, back, reflected, classified),
            temperature=TEMPERATURE,
            json_schema=ANSWER_SCHEMA,
        )
        try:
            answer = await ask(run, request, schema=PlanAnswer, most_reasks=MOST_REASKS)
            plan = planned_from(answer, tools=[tool.name for tool in spec.tools])
            if not plan.repair_steps and classified.type is not ErrorClass.NORMAL_ITERATION:
                plan = plan.model_copy(update={"repair_steps": plan_by_the_ticket(back.ticket).repair_steps})
        except (EffectTimedOut, PriceUnknown):
            raise
        except EffectFailed:
            plan = plan_by_the_ticket(back.ticket)
        plan = fitted(plan, spec=spec, reflected=reflected, classified=classified)
    return await keep_stage(
        run,
        back,
        key="plan-kept",
        output=plan,
        type=classified.type.value,
        root_cause=reflected.root_cause,
        repair_plan=[repair[:200] for repair in back.ticket.repair_plan[:20]],
    )


def question(spec: TaskSpec, back: SentBack, reflected: Reflected, classified: Classified) -> tuple[Message, ...]:
    """Return the messages that request a plan: ticket, analysis, error class and available tools."""
    text = prompt(
        "protocol_plan",
        objective=framed_task(task_of(spec)),
        ticket=framed_ticket(back),
        analysis=analysis_text(reflected),
        error_class=f"{classified.type.value} {classified.description}",
        wanted=prompt(CLASS_PROMPTS[classified.type]),
        tools=describe(spec.tools) or "(none)",
        unmet=_unmet(spec, back),
        most=MOST_STEPS,
    )
    return (system(prompt("protocol_system")), user(text))


def _unmet(spec: TaskSpec, back: SentBack) -> str:
    """Return the names of unmet minimum requirements, which steps may list in `mends`."""
    report = requirements_of(spec, back.made.content)
    if spec.requirements is not None and spec.requirements.files and back.judgement.requirements is not None:
        report = back.judgement.requirements
    return "\n".join(f"- {one_line(result.name)}" for result in report.unmet) if report and report.unmet else "(none)"


def analysis_text(reflected: Reflected) -> str:
    """Return the analysis as text for models and agents."""
    lines = [
        f"Expected: {reflected.expected}",
        f"Actual: {reflected.actual}",
        f"Gap: {reflected.gap}",
        f"What shows: {reflected.surface_issue}",
        *(f"How it came: {step}" for step in reflected.occurrence_process),
        f"Root cause: {reflected.root_cause}",
        *(f"Open question: {question}" for question in reflected.questions),
    ]
    return "\n".join(map(one_line, lines))
