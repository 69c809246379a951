"""Resuming what broke off: a failed call is made once more, an answer that was cut off goes on where it stopped."""

from reflection_app.loops.attempts import told
from reflection_app.loops.effects import EffectFailed, EffectTimedOut, Generate
from reflection_app.loops.messages import Message, assistant, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.executing import keep_repair
from reflection_app.loops.protocol.making import keep, messages_of
from reflection_app.loops.protocol.rounds import Analysis, BrokenBy, Made, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairStatus, RepairStep
from reflection_app.loops.task_spec import TaskSpec

LONGEST_OVERLAP = 400
SHORTEST_OVERLAP = 12
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
    try:
        text = (await run.perform(request)).text
    except (EffectTimedOut, PriceUnknown):
        raise
    except EffectFailed as failure:
        failed = Executed(number=1, repair=step, status=RepairStatus.FAILED, error=str(failure)[:LONGEST_OUTPUT])
        done.append(await keep_repair(run, back, failed))
        raise
    ended = Executed(number=1, repair=step, status=RepairStatus.COMPLETED, output=text[:LONGEST_OUTPUT])
    done.append(await keep_repair(run, back, ended))
    number = back.number + 1
    content = joined(back.made.content, text)
    await keep(run, number=number, content=content)
    made = back.made
    return Made(number, content, made.messages, made.role, checkpoint=made.checkpoint, instructions=made.instructions)


def messages_to_resume(spec: TaskSpec, made: Made) -> tuple[Message, ...]:
    """The prompt of what broke off and, where an answer had begun, its text with the order to go on."""
    messages = told(spec, messages_of(made), number=made.number)
    is_cut = made.interruption is not None and made.interruption.by is BrokenBy.CUT_OFF
    if not is_cut or not made.content.strip():
        return messages
    return (*messages, assistant(made.content), user(prompt("protocol_continue")))


def joined(begun: str, rest: str) -> str:
    """Both parts as one text. What the second says again of the end of the first is there once."""
    for length in range(min(len(begun), len(rest), LONGEST_OVERLAP), SHORTEST_OVERLAP - 1, -1):
        if begun.endswith(rest[:length]):
            return begun + rest[length:]
    return begun + rest
