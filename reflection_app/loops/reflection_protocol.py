"""The reflection protocol: what goes back with a rewind ticket is explored, reflected on, classified, planned, repaired
and submitted, and then judged again. After the third design seed.

Each of the six steps is recorded with what it was given, and the loop goes on with what is recorded. The parts are in
protocol/, a file a step. With an outside agent the first four steps are ours and it carries out the plan.
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
    """Attempts until one is accepted or rejected, or a limit is reached. Where nothing can judge, there is one."""
    empty: list[int] = []
    try:
        outcome = await _rounds(spec, run, empty)
    except (LimitReached, EffectFailed):
        await prefer_an_answer(run, empty=empty)
        raise
    await prefer_an_answer(run, empty=empty)
    return outcome


async def _rounds(spec: TaskSpec, run: Progress, empty: list[int]) -> Outcome:
    """The run's end. The numbers of attempts that never came to an answer are added to `empty`."""
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
    """The revised output of an attempt that was sent back, as the next attempt."""
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
    """The next attempt. How each repair step behind it ended is added to `done`."""
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
        # It holds from here on in this run.
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
    """The first four steps, with their report."""
    explored = await explore(spec, run, back)
    reflected = await reflect(spec, run, back, explored)
    classified = await classify_error(spec, run, back, explored, reflected)
    planned = await plan_repairs(spec, run, back, reflected, classified)
    return await analysed(spec, run, back, reflected=reflected, classified=classified, planned=planned)


# The ticket and the report of a run that a failed model call ends, in any loop. Code writes both without a model.


async def report_crash(spec: TaskSpec, run: Progress, failure: EffectFailed) -> None:
    """Record a ticket and a report of class 3.3.3 if `failure` is the failed model call that ends the run.

    A call that a loop recovers from, and one whose attempt was sent back already, get none.
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
