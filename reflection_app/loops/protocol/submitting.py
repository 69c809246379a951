"""Step 6, Submit: the revised output as the next attempt, and whether it is ready to be evaluated again.

Output that misses a minimum requirement is not ready; it needs another iteration.
"""

from collections.abc import Sequence

from reflection_app.loops.actor_critic import actor_messages, requirements_of
from reflection_app.loops.answers import Answer, complete_answer, joined
from reflection_app.loops.attempts import attempt_messages, keep_attempt, look_at_files
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.executing import keep_repair, outputs_text, plan_text
from reflection_app.loops.protocol.making import BROKE_OFF, first_messages, messages_of
from reflection_app.loops.protocol.repair_plans import analysis_text
from reflection_app.loops.protocol.rounds import (
    Analysis,
    BrokenBy,
    Interruption,
    Made,
    SentBack,
    keep_stage,
    lowered_by,
    ticket_text,
)
from reflection_app.loops.protocol.stages import Executed, RepairStatus, RepairStep, SubmitStatus, Submitted
from reflection_app.loops.requirement_checks import requirement_issues
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.texts import one_line
from reflection_app.loops.values import Message, assistant, user

LONGEST_DRAFT = 24_000


def revision_messages(
    spec: TaskSpec, back: SentBack, analysis: Analysis, *, done: Sequence[Executed]
) -> tuple[Message, ...]:
    """Return the messages for the actor's revised output or the external agent's next attempt."""
    task = first_messages(spec)[-1].content
    name = "protocol_agent" if spec.execution is Execution.EXTERNAL else "protocol_revise"
    classified, planned, lowered = analysis.classified, analysis.planned, lowered_by(analysis)
    besides = [planned.remediation, planned.hint]
    if lowered is not None:
        besides.append(f"Less is accepted this time: {'; '.join(lowered.in_words)}. Do all that you can.")
    text = prompt(
        name,
        objective=task,
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        ticket=ticket_text(back),
        analysis=analysis_text(analysis.reflected),
        error_class=f"{classified.type.value} {classified.description}",
        plan=plan_text(planned, done),
        outputs=outputs_text(done),
        hint="\n".join(one_line(text) for text in besides if text) or "(none)",
    )
    return actor_messages(text, [])


async def submit(spec: TaskSpec, run: Progress, back: SentBack, made: Made, *, done: Sequence[Executed]) -> Submitted:
    """Record and return how the revised output meets the requirements."""
    files = run.files.get(made.number)
    requirements = requirements_of(spec, made.content, lowered=made.lowered, files=files)
    remaining = requirement_issues(requirements) if requirements is not None else ()
    submitted = Submitted(
        attempt=made.number,
        requirements=requirements,
        status=SubmitStatus.of(is_ready=not remaining),
        ready_for_re_evaluation=not remaining,
        remaining_issues=tuple(issue.description for issue in remaining),
    )
    return await keep_stage(
        run,
        back,
        key="submit",
        output=submitted,
        characters=len(made.content),
        repairs_completed=sum(one.status is RepairStatus.COMPLETED for one in done),
        repairs=len(done),
    )


# Resume an interruption: repeat a failed call, or continue a truncated answer

LONGEST_OUTPUT = 20_000


async def resume(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed]) -> Made:
    """Return the attempt after the interrupted one. Its repair step is added to `done`.

    Raise EffectFailed if the call fails again, after recording that.
    """
    step = (*analysis.planned.repair_steps, RepairStep(action=analysis.planned.remediation))[0]
    run.check_limits()
    request = run.model_call(
        key=f"attempt-{back.number}/repair-1/resume", role=back.made.role, messages=messages_to_resume(spec, back.made)
    )
    answer = Answer()
    try:
        await complete_answer(run, request, answer)
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        failed = Executed(number=1, repair=step, status=RepairStatus.FAILED, error=str(failure)[:LONGEST_OUTPUT])
        done.append(await keep_repair(run, back, failed))
        raise
    # An answer truncated again is a failure: the step was to produce a complete one.
    ended = Executed(
        number=1,
        repair=step,
        status=RepairStatus.COMPLETED if answer.is_whole else RepairStatus.FAILED,
        output=answer.text[:LONGEST_OUTPUT],
        error="" if answer.is_whole else BROKE_OFF,
        why="the call was made again, and its answer came whole" if answer.is_whole else "",
    )
    done.append(await keep_repair(run, back, ended))
    number = back.number + 1
    made, content = back.made, joined(back.made.content, answer.text)
    await keep_attempt(run, number=number, content=content, cut_off=not answer.is_whole)
    if answer.is_whole:
        await look_at_files(spec, run, number=number, content=content)
    broken = None if answer.is_whole else Interruption(BrokenBy.CUT_OFF, request.key, BROKE_OFF, request.key)
    return Made(
        number,
        content,
        made.messages,
        made.role,
        interruption=broken,
        checkpoint=made.checkpoint,
        instructions=made.instructions,
        lowered=made.lowered,
    )


def messages_to_resume(spec: TaskSpec, made: Made) -> tuple[Message, ...]:
    """Return the interrupted prompt; for a partial answer, add its text and the request to continue."""
    messages = attempt_messages(spec, messages_of(made), number=made.number)
    is_cut = made.interruption is not None and made.interruption.by is BrokenBy.CUT_OFF
    if not is_cut or not made.content.strip():
        return messages
    return (*messages, assistant(made.content), user(prompt("protocol_continue")))
