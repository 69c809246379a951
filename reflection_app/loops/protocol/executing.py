"""Step 5, Execute: the repair steps one by one, each by the model, by a tool, or by a person.

A step that fails does not stop the others. At a checkpoint the minimum requirements are checked on the draft.
"""

from collections.abc import Sequence

from reflection_app.loops.answering import Answer, complete_answer
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.diagnosis.acting import GivenUp
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.messages import Message, system, user
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.exploring import requirements_of
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.learning import learn
from reflection_app.loops.protocol.listed import one_line
from reflection_app.loops.protocol.making import first_messages
from reflection_app.loops.protocol.rounds import Analysis, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairKind, RepairStatus, RepairStep
from reflection_app.loops.protocol.told_repairs import told_outputs
from reflection_app.loops.protocol.tool_repairs import repair_by_tool
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_frames import framed
from reflection_app.loops.waiting_effects import AskPerson

LONGEST_DRAFT = 12_000
LONGEST_OUTPUT = 20_000
LONGEST_ERROR = 2_000
LONGEST_QUESTION = 4_000


async def execute(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed], *, role: str
) -> None:
    """Adds to `done` how each step of the plan ended, as it is recorded."""
    for number, step in enumerate(analysis.planned.repair_steps, start=1):
        if is_question_of_knowledge(analysis, number=number):
            ended = await learn(spec, run, back, analysis, step=step)
        else:
            ended = await _carry_out(spec, run, back, step=step, number=number, role=role, done=done)
        done.append(await keep_repair(run, back, ended))


def is_question_of_knowledge(analysis: Analysis, *, number: int) -> bool:
    """Whether the step is the one that asks for what was not known: the first of that class's plan."""
    return number == 1 and analysis.classified.type is ErrorClass.MISSING_KNOWLEDGE


async def keep_repair(run: Progress, back: SentBack, ended: Executed) -> Executed:
    step = ended.repair
    return await keep_stage(
        run,
        back,
        key=f"repair-{ended.number}/kept",
        output=ended,
        action=step.action,
        kind=step.kind.value,
        tool=step.tool,
    )


async def _carry_out(
    spec: TaskSpec,
    run: Progress,
    back: SentBack,
    *,
    step: RepairStep,
    number: int,
    role: str,
    done: Sequence[Executed],
) -> Executed:
    """How the step ended. Raised is only what stops the whole run: a limit, an unknown price, a person's word."""
    base = f"attempt-{back.number}/repair-{number}"
    try:
        if step.kind is RepairKind.PERSON:
            return await _by_person(spec, run, back, step=step, number=number, base=base)
        if step.kind is RepairKind.TOOL:
            task = repair_task(spec, back, step=step, done=done)
            tried = await repair_by_tool(spec, run, tool=step.tool, task=task, base=base, attempt=back.number)
            return _ended(step, number, output=tried.output, error=tried.error)
        text = await _by_model(spec, run, back, step=step, base=base, role=role, done=done)
    except (EffectTimedOut, PriceUnknown, GivenUp):
        raise
    except EffectFailed as failure:
        return _ended(step, number, error=str(failure) or "it failed")
    ended = _ended(step, number, output=text, error="" if text.strip() else "the model said nothing")
    if not step.is_checkpoint or ended.status is not RepairStatus.COMPLETED:
        return ended
    return ended.model_copy(update={"requirements": requirements_of(spec, text)})


def _ended(step: RepairStep, number: int, *, output: str = "", error: str = "") -> Executed:
    return Executed(
        number=number,
        repair=step,
        status=RepairStatus.FAILED if error else RepairStatus.COMPLETED,
        output=output[:LONGEST_OUTPUT],
        error=error[:LONGEST_ERROR],
    )


async def _by_model(
    spec: TaskSpec, run: Progress, back: SentBack, *, step: RepairStep, base: str, role: str, done: Sequence[Executed]
) -> str:
    run.check_limits()
    request = Generate(
        key=f"{base}/work",
        role=role,
        messages=work_messages(spec, back, step=step, done=done),
        max_tokens=run.tokens_left,
        timeout_s=run.time_left_s(),
    )
    answer = Answer()
    await complete_answer(run, request, answer)
    if not answer.is_whole:
        raise EffectFailed("the answer was cut off before its end")
    return answer.text


async def _by_person(
    spec: TaskSpec, run: Progress, back: SentBack, *, step: RepairStep, number: int, base: str
) -> Executed:
    # Nobody is asked for what no later call could use.
    run.check_limits()
    context = [f"Objective: {spec.objective}", *(f"Issue: {issue.description}" for issue in back.ticket.issues)]
    if step.expected_outcome:
        context.append(f"Expected: {step.expected_outcome}")
    question = Question(
        kind=QuestionKind.REPAIR,
        text=step.action[:LONGEST_QUESTION],
        context=tuple(line[:LONGEST_QUESTION] for line in context[:10]),
        choices=(Choice.ANSWER, Choice.SKIP),
    )
    answer = await run.ask_person(AskPerson(key=f"{base}/ask", question=question, attempt=back.number))
    if answer.choice is not Choice.ANSWER or not answer.text.strip():
        return Executed(number=number, repair=step, status=RepairStatus.SKIPPED)
    return _ended(step, number, output=answer.text)


def work_messages(spec: TaskSpec, back: SentBack, *, step: RepairStep, done: Sequence[Executed]) -> tuple[Message, ...]:
    """What the model is asked for one repair step."""
    return (system(prompt("protocol_work_system")), user(repair_task(spec, back, step=step, done=done)))


def repair_task(spec: TaskSpec, back: SentBack, *, step: RepairStep, done: Sequence[Executed]) -> str:
    return prompt(
        "protocol_repair",
        objective=first_messages(spec)[-1].content,
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        outputs=told_outputs(done),
        step=one_line(step.action),
        expected=one_line(step.expected_outcome) or "The step is done.",
    )
