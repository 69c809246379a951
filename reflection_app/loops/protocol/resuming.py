"""Resuming what broke off: a failed call is made once more, an answer that was cut off goes on where it stopped."""

from reflection_app.loops.answering import Answer, complete_answer, joined
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.attempts import told
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.messages import Message, assistant, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.executing import keep_repair
from reflection_app.loops.protocol.making import TOO_LONG, keep, messages_of
from reflection_app.loops.protocol.rounds import Analysis, BrokenBy, Interruption, Made, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairStatus, RepairStep
from reflection_app.loops.task_spec import TaskSpec

LONGEST_OUTPUT = 20_000


async def resume(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed]) -> Made:
    """The attempt after the one that broke off. The repair step that made it is added to `done`.

    Raises EffectFailed where the call fails again; that is recorded first.
    """
    step = (*analysis.planned.repair_steps, RepairStep(action=analysis.planned.remediation))[0]
    run.check_limits()
    request = Generate(
        key=f"attempt-{back.number}/repair-1/resume",
        role=back.made.role,
        messages=messages_to_resume(spec, back.made),
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
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
    ended = Executed(number=1, repair=step, status=RepairStatus.COMPLETED, output=answer.text[:LONGEST_OUTPUT])
    done.append(await keep_repair(run, back, ended))
    number = back.number + 1
    made, content = back.made, joined(back.made.content, answer.text)
    await keep(run, number=number, content=content, cut_off=not answer.is_whole)
    broken = None if answer.is_whole else Interruption(BrokenBy.CUT_OFF, request.key, TOO_LONG, request.key)
    return Made(
        number,
        content,
        made.messages,
        made.role,
        interruption=broken,
        checkpoint=made.checkpoint,
        instructions=made.instructions,
    )


def messages_to_resume(spec: TaskSpec, made: Made) -> tuple[Message, ...]:
    """The prompt of what broke off and, where an answer had begun, its text with the order to go on."""
    messages = told(spec, messages_of(made), number=made.number)
    is_cut = made.interruption is not None and made.interruption.by is BrokenBy.CUT_OFF
    if not is_cut or not made.content.strip():
        return messages
    return (*messages, assistant(made.content), user(prompt("protocol_continue")))
