"""Carrying out a plan: each step after those that it requires, by its tool or by the model."""

from reflection_app.loops.answering import Answer, NoAnswer, complete_answer
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.diagnosis.acting import Skipped, call_with_diagnosis
from reflection_app.loops.messages import system, user
from reflection_app.loops.plan_effects import RecordPlanStep
from reflection_app.loops.plan_work import StepRun, Work, told
from reflection_app.loops.plans import Plan, PlanStep, PlanStepOutcome, PlanStepState, in_order
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.structured_answers import NoUsableAnswer
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import NothingNew, task_of

LONGEST_KEPT_ERROR = 2_000


async def carry_out(plan: Plan, *, spec: TaskSpec, run: Progress, work: Work, number: int, part: str = "") -> None:
    """Adds to `work` how each step of `plan` ended. A step that needs one which was not done is skipped.

    Steps are named in the journal by their place in the plan: ids are a model's words.
    """
    places = {step.id: place for place, step in enumerate(plan.steps, start=1)}
    for step in in_order(plan):
        base = f"attempt-{number}{part}/step-{places[step.id]}"
        tokens, cost_usd = run.tokens, run.cost_usd
        missing = tuple(required for required in dict.fromkeys(step.requires or ()) if required not in work.done)
        if missing:
            outcome, result = PlanStepOutcome(step=step.id, state=PlanStepState.SKIPPED, waited_for=missing), ""
        else:
            outcome, result = await _do(step, spec=spec, run=run, work=work, base=base, number=number)
        outcome = await run.perform(RecordPlanStep(key=f"{base}/outcome", outcome=outcome))
        tokens, cost_usd = run.tokens - tokens, run.cost_usd - cost_usd
        work.add(StepRun(step=step, outcome=outcome, result=result, tokens=tokens, cost_usd=cost_usd))


async def _do(
    step: PlanStep, *, spec: TaskSpec, run: Progress, work: Work, base: str, number: int
) -> tuple[PlanStepOutcome, str]:
    """How the step ended, and its result."""
    required = [work.done[name] for name in dict.fromkeys(step.requires or ())]
    task = prompt("plan_step", goal=task_of(spec), step=step.description, results=told(required))
    if step.tool is None:
        return await _think(step, task=task, run=run, base=base)
    tools = tuple(tool for tool in spec.tools if tool.name == step.tool)
    try:
        tries = await call_with_diagnosis(run, task=task, tools=tools, base=base, attempt=number, fallbacks=spec.tools)
    except (NothingNew, NoUsableAnswer, Skipped) as error:
        return _failed(step, str(error)), ""
    tried = tries[-1]
    if tried.result.ok:
        return PlanStepOutcome(step=step.id, state=PlanStepState.DONE), tried.result.content
    return _failed(step, tried.issues[0].description), ""


async def _think(step: PlanStep, *, task: str, run: Progress, base: str) -> tuple[PlanStepOutcome, str]:
    run.check_limits()
    request = Generate(
        key=f"{base}/answer",
        role="actor",
        messages=(system(prompt("write_system")), user(task)),
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
    )
    answer = Answer()
    try:
        await complete_answer(run, request, answer)
    except NoAnswer as none:
        return _failed(step, str(none)), ""
    if not answer.is_whole or not answer.text.strip():
        return _failed(step, "the answer was cut off" if answer.text.strip() else "the model said nothing"), ""
    return PlanStepOutcome(step=step.id, state=PlanStepState.DONE), answer.text


def _failed(step: PlanStep, error: str) -> PlanStepOutcome:
    return PlanStepOutcome(step=step.id, state=PlanStepState.FAILED, error=error[:LONGEST_KEPT_ERROR])
