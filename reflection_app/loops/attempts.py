"""Making an attempt: by a model of ours or by the outside agent, in the same place of every loop."""

from reflection_app.loops.answering import Answer, complete_answer
from reflection_app.loops.attempt_effects import AwaitAttempt, Generate, KeepAttempt
from reflection_app.loops.chain_of_thought import asking_for_parts
from reflection_app.loops.effect import EffectFailed
from reflection_app.loops.lessons import Lessons, with_lessons
from reflection_app.loops.messages import Message, assistant, user
from reflection_app.loops.progress import LimitReached, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.recalling import lessons_for
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.ticketing import send_back
from reflection_app.loops.tool_frames import framed
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee, Severity, Verdict

LONGEST_REDONE = 24_000
LONGEST_HINTS = 4_000


async def make_attempt(
    spec: TaskSpec, run: Progress, *, number: int, messages: tuple[Message, ...], role: str = "actor"
) -> str:
    """The text of attempt `number`, made from `messages` by the model of `role` or handed in by the outside agent.

    The attempt before it is sent back first. One that could not be brought to its end is among `run.unfinished`, and
    nobody is to judge it. Raises LimitReached where there is no room for another attempt, and NoAnswer where the model
    sends nothing that is one.
    """
    run.check_limits()
    if number > 1:
        await send_back(spec, run, number=number - 1)
    key = f"attempt-{number}/answer"
    lessons = await lessons_for(spec, run) if number == 1 else None
    messages = told(spec, messages, number=number, lessons=lessons)
    if spec.execution is Execution.EXTERNAL:
        handed_in = await run.perform(AwaitAttempt(key=key, attempt=number, messages=messages))
        run.handed_in[number] = handed_in
        run.attempts.append(number)
        return handed_in.content
    request = Generate(
        key=key,
        role=role,
        messages=messages,
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
        attempt=number,
    )
    answer = Answer()
    try:
        await complete_answer(run, request, answer)
    except (LimitReached, EffectFailed):
        await _keep(run, answer, number=number)
        raise
    await _keep(run, answer, number=number)
    return answer.text


async def _keep(run: Progress, answer: Answer, *, number: int) -> None:
    """Keeps what there is of the answer as the attempt: one that came whole from one call is kept with that call."""
    if not answer.parts:
        return
    is_cut_off = not answer.is_whole
    if answer.parts > 1 or is_cut_off:
        kept = KeepAttempt(key=f"attempt-{number}/kept", attempt=number, content=answer.text, cut_off=is_cut_off)
        await run.perform(kept)
    run.attempts.append(number)
    if is_cut_off:
        run.unfinished.add(number)
    elif answer.reached_length:
        run.cut_off.add(number)


def unfinished(number: int) -> Judgement:
    """What the next attempt is told of one that never came to its end. It is not recorded: nobody judged anything."""
    issue = Issue(
        category=IssueCategory.COMPLETENESS,
        severity=Severity.CRITICAL,
        description="It was cut off before its end, so nobody judged it.",
        suggested_fix="Answer again, whole and shorter",
    )
    return Judgement(attempt=number, referee=Referee.TOOL, verdict=Verdict.REVISE, score=0, issues=(issue,))


def told(
    spec: TaskSpec, messages: tuple[Message, ...], *, number: int, lessons: Lessons | None = None
) -> tuple[Message, ...]:
    """The messages with what holds in every loop: accepted instructions, and for the first attempt a person's order.

    The first attempt is told lessons as well and, where its work was not ordered again, what earlier runs noted for a
    better start.
    """
    messages = with_lessons(messages, lessons)
    if spec.instructions and messages and messages[0].role == "system":
        listed = "\n".join(f"- {text}" for text in spec.instructions)
        first = messages[0].model_copy(
            update={"content": prompt("agent_instructions", system=messages[0].content, instructions=listed)}
        )
        messages = (first, *messages[1:])
    if spec.redo is not None and number == 1:
        again = prompt("redo_order", instructions=spec.redo.instructions)
        messages = (*messages, assistant(spec.redo.content[:LONGEST_REDONE]), user(again))
    elif spec.hints and number == 1 and messages:
        listed = framed("\n".join(f"- {hint}" for hint in spec.hints), name="notes", most=LONGEST_HINTS)
        task = prompt("start_hints", task=messages[-1].content, hints=listed)
        messages = (*messages[:-1], messages[-1].model_copy(update={"content": task}))
    return asking_for_parts(messages) if spec.chain_of_thought else messages
