"""Step 4, Plan: the repair steps and what else the class of the error asks for.

A plan that cannot be used is replaced by the ticket's own; what broke off is resumed by a plan that code writes.
"""

from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.framing import framed_task
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.class_plans import MOST_STEPS, fitted, plan_by_the_ticket, plan_to_resume
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.listed import one_line
from reflection_app.loops.protocol.plan_answers import ANSWER_SCHEMA, PlanAnswer, planned_from
from reflection_app.loops.protocol.reflecting import MOST_REASKS, TEMPERATURE
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.protocol.stages import Classified, Planned, Reflected
from reflection_app.loops.protocol.told_tickets import framed_ticket
from reflection_app.loops.structured_answers import NoUsableAnswer, ask
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import describe, task_of

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
    """The plan, fitted to the class and recorded."""
    if classified.type is ErrorClass.PIPELINE_CRASH and back.made.interruption is not None:
        plan = plan_to_resume(back.made.interruption)
    else:
        asked = await _asked(spec, run, back, reflected, classified)
        plan = fitted(asked, spec=spec, reflected=reflected, classified=classified)
    return await keep_stage(
        run,
        back,
        key="plan-kept",
        output=plan,
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


def question(spec: TaskSpec, back: SentBack, reflected: Reflected, classified: Classified) -> tuple[Message, ...]:
    """What the reflector is asked for a plan: the ticket, the analysis, the class, and the tools there are."""
    asked = prompt(
        "protocol_plan",
        objective=framed_task(task_of(spec)),
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
    return "\n".join(map(one_line, lines))
