"""Reflection protocol: explore, reflect, classify, plan, execute and submit, then evaluate again.

An attempt enters it with a rewind ticket. Source: the third design seed.

Each of the six steps is recorded with its input, and the loop continues with the recorded value. The steps are in
protocol/, one file each. With an external agent, the first four steps run here and the agent carries out the plan.
"""

from dataclasses import replace

from reflection_app.loops.attempts import end_by, issue_ticket
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.progress import LimitReached, Progress
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.executing import ask_for_knowledge, execute, keep_the_agents, look_again
from reflection_app.loops.protocol.judging import broken_off, judge
from reflection_app.loops.protocol.making import LONGEST_MESSAGE, first_attempt, has_room, make, prefer_an_answer
from reflection_app.loops.protocol.reflecting import classify_error, explore, reflect
from reflection_app.loops.protocol.repair_plans import plan_repairs
from reflection_app.loops.protocol.reporting import analysed, keep_report
from reflection_app.loops.protocol.rounds import (
    Analysis,
    BrokenBy,
    Interruption,
    Made,
    SentBack,
    checkpoint_for,
    lowered_by,
)
from reflection_app.loops.protocol.stages import Executed
from reflection_app.loops.protocol.submitting import resume, revision_messages, submit
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.tickets import Trigger
from reflection_app.loops.verdicts import Outcome, Referee


async def reflection_protocol(spec: TaskSpec, run: Progress) -> Outcome:
    """Make attempts until one is accepted or rejected, or a limit is reached.

    If nothing can judge the first attempt, the run ends as unverified.
    """
    empty: list[int] = []
    try:
        outcome = await _rounds(spec, run, empty)
    except (LimitReached, EffectFailed):
        await prefer_an_answer(run, empty=empty)
        raise
    await prefer_an_answer(run, empty=empty)
    return outcome


async def _rounds(spec: TaskSpec, run: Progress, empty: list[int]) -> Outcome:
    """Return the run's outcome. Numbers of attempts without an answer are added to `empty`."""
    made = await first_attempt(spec, run)
    while True:
        if made.is_empty:
            empty.append(made.number)
        judged = await judge(spec, run, made)
        if judged is None:
            return Outcome.UNVERIFIED
        if (end := end_by(judged.judgement, run, counted=Referee.CRITIC)) is not None:
            return end
        if not has_room(spec, after=made.number):
            return Outcome.EXHAUSTED
        ticket = await issue_ticket(spec, run, judged.judgement, trigger=judged.trigger)
        made = await six_steps(spec, run, SentBack(made, judged.judgement, ticket))


async def six_steps(spec: TaskSpec, run: Progress, back: SentBack) -> Made:
    """Return the revised output of an attempt that was sent back, as the next attempt."""
    analysis = await analyse(spec, run, back)
    done: list[Executed] = []
    try:
        made = await _repair(spec, run, back, analysis, done)
    except (LimitReached, EffectFailed):
        if done:
            await keep_report(run, back, analysis, key="report-cut-off", done=done)
        raise
    await look_again(spec, run, back, analysis, made, done=done)
    submitted = await submit(spec, run, back, made, done=done)
    await keep_report(run, back, analysis, key="report-revised", done=done, submitted=submitted)
    return replace(made, submitted=submitted)


async def _repair(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed]) -> Made:
    """Return the next attempt. The result of each of its repair steps is added to `done`."""
    error_class = analysis.classified.type
    if error_class is ErrorClass.PIPELINE_CRASH and back.made.interruption is not None:
        return await resume(spec, run, back, analysis, done)
    is_external = spec.execution is Execution.EXTERNAL
    role = "escalation" if error_class is ErrorClass.MODEL_CAPABILITY and spec.has_escalation else "actor"
    if is_external:
        await ask_for_knowledge(spec, run, back, analysis, done)
    else:
        await execute(spec, run, back, analysis, done, role=role)
    instructions = back.made.instructions
    if error_class is ErrorClass.DECISION_ERROR and analysis.planned.instruction:
        # The instruction applies to the rest of this run.
        instructions = tuple(dict.fromkeys((*instructions, analysis.planned.instruction)))
    wanted = Made(
        back.number + 1,
        "",
        revision_messages(spec, back, analysis, done=done),
        role=role,
        checkpoint=checkpoint_for(analysis),
        instructions=instructions,
        lowered=lowered_by(analysis),
    )
    last_good_step = f"attempt-{back.number}/" + (f"repair-{len(done)}/kept" if done else "plan-kept")
    made = await make(spec, run, wanted, last_good_step=last_good_step)
    if is_external:
        await keep_the_agents(spec, run, back, analysis, made, done=done)
    return made


async def analyse(spec: TaskSpec, run: Progress, back: SentBack) -> Analysis:
    """Perform the first four steps and return the analysis with its report."""
    explored = await explore(spec, run, back)
    reflected = await reflect(spec, run, back, explored)
    classified = await classify_error(spec, run, back, explored, reflected)
    planned = await plan_repairs(spec, run, back, reflected, classified)
    return await analysed(spec, run, back, reflected=reflected, classified=classified, planned=planned)


# Ticket and report of a run that a failed model call ends, in any loop; code writes both without a model.


async def report_crash(spec: TaskSpec, run: Progress, failure: EffectFailed) -> None:
    """Record a ticket and a report of class 3.3.3 if `failure` is the failed model call that ends the run.

    Nothing is recorded for a call that the loop recovered from, or whose attempt was already sent back.
    """
    call = run.failed_call
    if call is None or call.failure is not failure:
        return
    number = call.attempt or max(run.attempts, default=0) or 1
    if number in run.tickets:
        return
    message = str(failure)[:LONGEST_MESSAGE] or "the call failed"
    broken = Interruption(BrokenBy.FAILED_CALL, call.key, message, call.last_good_step)
    made = Made(number, run.contents.get(number, ""), (), interruption=broken)
    judgement = broken_off(made.number, broken)
    ticket = await issue_ticket(spec, run, judgement, trigger=Trigger.INTERRUPTION)
    await analyse(spec, run, SentBack(made, judgement, ticket))
