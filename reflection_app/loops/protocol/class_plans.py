"""What each class of error makes of a repair plan, by code, after "Error Type Handling" of the design seed."""

from collections.abc import Callable

from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.rounds import BrokenBy, Interruption
from reflection_app.loops.protocol.stages import (
    AntiPattern,
    Classified,
    Effort,
    Planned,
    Reflected,
    RepairKind,
    RepairStep,
)
from reflection_app.loops.task_spec import TaskSpec, Thresholds
from reflection_app.loops.tickets import Ticket

MOST_STEPS = 8
LONGEST_NAME = 120
STRONGER_MODEL = "A stronger model may be able to do it: set LLM_ESCALATION_MODEL."
ESCALATED = "The stronger model carries out the repair."

Fit = Callable[[Planned, TaskSpec, Reflected, Classified], Planned]


def plan_by_the_ticket(ticket: Ticket) -> Planned:
    """The ticket's own repair plan, each point done by the model."""
    repairs = ticket.repair_plan or tuple(issue.description for issue in ticket.issues)
    steps = tuple(RepairStep(action=repair) for repair in repairs[:MOST_STEPS])
    return Planned(
        repair_steps=steps or (RepairStep(action="Find out what falls short, and put it right."),),
        remediation="; ".join(repairs[:MOST_STEPS])[:2_000],
        is_fallback=True,
    )


def plan_to_resume(broken: Interruption) -> Planned:
    """One step: what broke off is made again, or goes on where it stopped."""
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
        learning_notes=f"{broken.phase} broke off: {broken.message}"[:2_000],
    )


def fitted(plan: Planned, *, spec: TaskSpec, reflected: Reflected, classified: Classified) -> Planned:
    """`plan` with what the class asks for."""
    return FITS[classified.type](plan, spec, reflected, classified)


def lowered_expectation(thresholds: Thresholds) -> float:
    """The score that is hoped for where a mistake came again: midway between what is sent back and what passes."""
    return (thresholds.revise_from + thresholds.pass_from) / 2


def _for_capability(plan: Planned, spec: TaskSpec, reflected: Reflected, classified: Classified) -> Planned:
    suggestion = ESCALATED if spec.has_escalation else STRONGER_MODEL
    symptoms = tuple(similar.description for similar in classified.facts.similar.found[:5])
    pattern = plan.anti_pattern or AntiPattern(
        pattern_name=reflected.surface_issue[:LONGEST_NAME] or "The same mistake again",
        symptoms=symptoms or (reflected.surface_issue,),
        prevention=plan.learning_notes or plan.remediation,
    )
    return plan.model_copy(
        update={
            "anti_pattern": pattern,
            "expected_score": lowered_expectation(spec.thresholds),
            "remediation": " ".join(text for text in (plan.remediation, suggestion) if text),
        }
    )


def _for_decision(plan: Planned, _spec: TaskSpec, reflected: Reflected, _classified: Classified) -> Planned:
    steps = tuple(
        step.model_copy(update={"is_checkpoint": True}) if step.kind is RepairKind.MODEL else step
        for step in plan.repair_steps
    )
    instruction = plan.instruction or plan.remediation or f"Avoid this: {reflected.root_cause}"
    return plan.model_copy(update={"repair_steps": steps, "instruction": instruction})


def _for_knowledge(plan: Planned, spec: TaskSpec, reflected: Reflected, _classified: Classified) -> Planned:
    """The knowledge is asked for first: the configured tool, or a person where there is none."""
    asked = "; ".join(reflected.questions) or reflected.gap or reflected.surface_issue
    tool = spec.knowledge_tool
    first = RepairStep(
        action=f"Ask {tool.name if tool else 'a person'}: {asked}"[:4_000],
        kind=RepairKind.TOOL if tool else RepairKind.PERSON,
        tool=tool.name if tool else "",
        expected_outcome="The knowledge that was missing.",
    )
    return plan.model_copy(update={"repair_steps": (first, *plan.repair_steps[: MOST_STEPS - 1])})


def _for_iteration(plan: Planned, _spec: TaskSpec, _reflected: Reflected, _classified: Classified) -> Planned:
    return plan.model_copy(update={"repair_steps": (), "hint": plan.hint or plan.learning_notes})


def _for_crash(plan: Planned, _spec: TaskSpec, _reflected: Reflected, classified: Classified) -> Planned:
    """What broke is found and resumed first, whatever else the plan says. What code saw break has its own plan."""
    phase = classified.facts.broken_phase.strip()[:LONGEST_NAME]
    broken = f"Put right what broke the phase “{phase}”" if phase else "Find the phase or dependency that broke"
    first = RepairStep(
        action=f"{broken}, and resume there from the last step that worked; keep what was done before.",
        expected_outcome="The whole work, with nothing left out where it broke off.",
    )
    return plan.model_copy(update={"repair_steps": (first, *plan.repair_steps[: MOST_STEPS - 1])})


FITS: dict[ErrorClass, Fit] = {
    ErrorClass.MODEL_CAPABILITY: _for_capability,
    ErrorClass.DECISION_ERROR: _for_decision,
    ErrorClass.PIPELINE_CRASH: _for_crash,
    ErrorClass.MISSING_KNOWLEDGE: _for_knowledge,
    ErrorClass.NORMAL_ITERATION: _for_iteration,
}
