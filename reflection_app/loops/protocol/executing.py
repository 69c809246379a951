"""Step 5, Execute: carry out the repair steps one by one, by the model, a tool or a reviewer.

A failed step does not stop the others. At a checkpoint, the minimum requirements are checked on the draft.
"""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from reflection_app.loops.actor_critic import requirements_of
from reflection_app.loops.answers import Answer, complete_answer
from reflection_app.loops.attempt_effects import AskPerson
from reflection_app.loops.diagnosis.acting import GivenUp, call_with_diagnosis
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.effects import ProposeEntry
from reflection_app.loops.framing import framed
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.protocol.making import first_messages
from reflection_app.loops.protocol.reports import Proposal, ProposalKind
from reflection_app.loops.protocol.rounds import Analysis, Made, SentBack, keep_stage
from reflection_app.loops.protocol.stages import Executed, Planned, RepairKind, RepairStatus, RepairStep
from reflection_app.loops.protocol.verifying import NOTHING_TO_SEE, verified, verified_at_last
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.texts import one_line
from reflection_app.loops.tool_calls import ToolSpec
from reflection_app.loops.tool_tries import task_of
from reflection_app.loops.values import system, user

# Results of repair steps for models and agents: as data, in frames that their content cannot close

LONGEST_OUTPUT = 6_000
LONGEST_OUTPUTS = 24_000
LONGEST_ERROR = 1_000


def outputs_text(done: Sequence[Executed]) -> str:
    """Return the output or error of each step, with a limit on their total length."""
    most = min(LONGEST_OUTPUT, LONGEST_OUTPUTS // max(1, len(done)))
    parts = []
    for one in done:
        part = f"{one.number}. {one_line(one.repair.action)} – {one.status.value}"
        if one.status in {RepairStatus.COMPLETED, RepairStatus.WRITTEN}:
            part += f"\n{framed(one.output, name='output', most=most)}"
        elif one.error:
            part += f"\n{framed(one.error, name='failure', most=LONGEST_ERROR)}"
        if one.requirements is not None and not one.requirements.all_met:
            unmet = "; ".join(result.name for result in one.requirements.unmet)
            part += f"\nChecked after this step, these minimum requirements do not hold yet: {unmet}"
        parts.append(part)
    return "\n\n".join(parts) or "(none)"


def plan_text(planned: Planned, done: Sequence[Executed]) -> str:
    """Return the numbered repair plan, with the status of steps already carried out."""
    ended = {one.number: one for one in done}
    lines = [
        f"{number}. {one_line(step.action)}"
        + (f" (expected: {one_line(step.expected_outcome)})" if step.expected_outcome else "")
        + (f" – {ended[number].status.value} already" if number in ended else "")
        for number, step in enumerate(planned.repair_steps, start=1)
    ]
    return "\n".join(lines) or "Nothing has to be repaired first: do it better, by the ticket."


# Repair by a tool: a model chooses the call, and failed calls are repeated as their diagnosis says


@dataclass(frozen=True)
class ToolRepair:
    """Output of `tool`, or the error if there is none."""

    output: str = ""
    error: str = ""
    tool: str = ""


async def call_for(
    run: Progress,
    *,
    tools: tuple[ToolSpec, ...],
    task: str,
    base: str,
    attempt: int,
    fallbacks: tuple[ToolSpec, ...] = (),
    purpose: str = "",
) -> ToolRepair:
    """Call one of `tools` for `task` and return the result. Raise EffectFailed if no call makes sense."""
    tries = await call_with_diagnosis(
        run, task=task, tools=tools, base=base, attempt=attempt, fallbacks=fallbacks, purpose=purpose
    )
    last = tries[-1]
    if not last.result.ok:
        return ToolRepair(error=last.issues[0].description)
    return ToolRepair(output=last.result.content, tool=last.call.tool)


# Missing knowledge: ask the project's knowledge tool first, then a reviewer.
#
# The answer is given to the next attempt as data, and proposed to the notebook as a fact.

LONGEST_ANSWER = 10_000
LONGEST_NAME = 120
LONGEST_LINE = 2_000
# A longer answer has content, even if it contains such a phrase.
LONGEST_NOTHING = 200
NOTHING = re.compile(
    r"\bno\b.{0,20}\b(?:results?|matches|documents?|entries|information|answers?)\b|\bnothing\b.{0,10}\bfound\b"
    r"|\bnot found\b|\b0 results\b|(?:没有|未)(?:找到|查到|搜到|结果|相关)|无(?:结果|相关|匹配)|查无",
    re.IGNORECASE,
)


async def learn(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, *, step: RepairStep) -> Executed:
    """Request the missing knowledge and return the result. If a reviewer skips it, the run goes on without it."""
    tried, base, tool = ToolRepair(), f"attempt-{back.number}/repair-1", spec.knowledge_tool
    if tool is not None:
        task = prompt("protocol_learn", objective=task_of(spec), questions=_questions_text(analysis))
        try:
            purpose = _questions_text(analysis)
            tried = await call_for(run, tools=(tool,), task=task, base=base, attempt=back.number, purpose=purpose)
        except (EffectTimedOut, PriceUnknown, GivenUp):
            raise
        except EffectFailed as failure:
            tried = ToolRepair(error=str(failure))
    if says_something(tried.output):
        await _propose(spec, run, back, analysis, answer=tried.output)
        return _ended(step, RepairStatus.COMPLETED, output=tried.output, why=_answered_by(tried))
    # Do not ask a reviewer for what no later call could use.
    run.check_limits()
    context = [f"Objective: {spec.objective}"]
    if analysis.classified.facts.quote:
        context.append(f"The agent said: {analysis.classified.facts.quote}")
    if tool is not None:
        context.append(f"{tool.name} was asked first: {tried.error or tried.output or 'it said nothing'}")
    question = Question(
        kind=QuestionKind.KNOWLEDGE,
        text=_questions_text(analysis),
        context=tuple(line[:LONGEST_LINE] for line in context),
        choices=(Choice.ANSWER, Choice.SKIP),
    )
    answer = await run.ask_person(AskPerson(key=f"{base}/ask", question=question, attempt=back.number))
    if answer.choice is not Choice.ANSWER or not answer.text.strip():
        return _ended(step, RepairStatus.SKIPPED, error=tried.error)
    await _propose(spec, run, back, analysis, answer=answer.text)
    return _ended(step, RepairStatus.COMPLETED, output=answer.text, why=BY_PERSON)


def says_something(text: str) -> bool:
    """Return True if a search result has content: it is not empty, nor a short "nothing found"."""
    bare = re.sub(r"[\s\[\]{}\"',:]+|null|results?|items|data", "", text)
    return bool(bare) and not (len(text) <= LONGEST_NOTHING and NOTHING.search(text))


def _questions_text(analysis: Analysis) -> str:
    """Return the reflection's open questions; without any, what is missing."""
    reflected = analysis.reflected
    questions = [one_line(question) for question in reflected.questions]
    text = questions[0] if len(questions) == 1 else "\n".join(f"- {question}" for question in questions)
    return text or reflected.gap or reflected.surface_issue or "What does the agent need to know?"


async def _propose(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, *, answer: str) -> None:
    report = analysis.report
    question = " ".join(_questions_text(analysis).split())
    proposal = Proposal(
        kind=ProposalKind.FACT,
        name=question.lstrip("- ")[:LONGEST_NAME],
        description=question[:LONGEST_LINE],
        content=answer[:LONGEST_ANSWER],
        agent=spec.agent,
        category=analysis.classified.type.value,
        source=f"{report.reflection_id}/knowledge",
        reflection_id=report.reflection_id,
    )
    await run.perform(ProposeEntry(key=f"attempt-{back.number}/repair-1/propose-fact", proposal=proposal))


def _ended(step: RepairStep, status: RepairStatus, *, output: str = "", error: str = "", why: str = "") -> Executed:
    return Executed(
        number=1, repair=step, status=status, output=output[:LONGEST_ANSWER], error=error[:LONGEST_LINE], why=why
    )


BY_PERSON = "a person answered"


def _answered_by(tried: ToolRepair) -> str:
    return f"{tried.tool} was called and worked"


LONGEST_DRAFT = 12_000
LONGEST_STEP_OUTPUT = 20_000
LONGEST_STEP_ERROR = 2_000
LONGEST_QUESTION = 4_000


async def execute(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed], *, role: str
) -> None:
    """Record how each step of the plan ended, and add it to `done`."""
    for number, step in enumerate(analysis.planned.repair_steps, start=1):
        if is_question_of_knowledge(analysis, number=number):
            ended = await learn(spec, run, back, analysis, step=step)
        else:
            ended = await _carry_out(spec, run, back, step=step, number=number, role=role, done=done)
        done.append(await keep_repair(run, back, ended))


def is_question_of_knowledge(analysis: Analysis, *, number: int) -> bool:
    """Return True for the step that asks for missing knowledge: the first of that class's plan."""
    return number == 1 and analysis.classified.type is ErrorClass.MISSING_KNOWLEDGE


async def keep_repair(run: Progress, back: SentBack, ended: Executed, *, key: str = "kept") -> Executed:
    step = ended.repair
    return await keep_stage(
        run,
        back,
        key=f"repair-{ended.number}/{key}",
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
    """Return the result of the step. Raise only what stops the run: a limit, an unknown price, or GivenUp."""
    base = f"attempt-{back.number}/repair-{number}"
    try:
        if step.kind is RepairKind.PERSON:
            return await _by_person(spec, run, back, step=step, number=number, base=base)
        task = repair_task(spec, back, step=step, done=done)
        if step.kind is RepairKind.TOOL:
            tools = tuple(one for one in spec.tools if one.name == step.tool)
            if not tools:
                return _step_ended(step, number, error=f"The task has no tool named {step.tool!r}.")
            tried = await call_for(
                run,
                tools=tools,
                task=task,
                base=base,
                attempt=back.number,
                fallbacks=spec.tools,
                purpose=step.action,
            )
            if tried.error:
                return _step_ended(step, number, error=tried.error)
            return _step_ended(step, number, output=tried.output, why=_answered_by(tried))
        run.check_limits()
        messages = (system(prompt("protocol_work_system")), user(task))
        answer = Answer()
        await complete_answer(run, run.model_call(key=f"{base}/work", role=role, messages=messages), answer)
    except (EffectTimedOut, PriceUnknown, GivenUp):
        raise
    except EffectFailed as failure:
        return _step_ended(step, number, error=str(failure) or "it failed")
    if not answer.is_whole:
        return _step_ended(step, number, error="the answer was cut off before its end")
    text = answer.text
    run.note_result(text)
    ended = _step_ended(step, number, output=text, error="" if text.strip() else "the model said nothing")
    if not step.is_checkpoint or ended.status is RepairStatus.FAILED:
        return ended
    return ended.model_copy(update={"requirements": requirements_of(spec, text)})


def _step_ended(step: RepairStep, number: int, *, output: str = "", error: str = "", why: str = "") -> Executed:
    """Return the result of the step; `why` is the evidence that it is completed."""
    done = RepairStatus.COMPLETED if why else RepairStatus.WRITTEN
    return Executed(
        number=number,
        repair=step,
        status=RepairStatus.FAILED if error else done,
        output=output[:LONGEST_STEP_OUTPUT],
        error=error[:LONGEST_STEP_ERROR],
        why=why or ("" if error else NOTHING_TO_SEE),
    )


async def _by_person(
    spec: TaskSpec, run: Progress, back: SentBack, *, step: RepairStep, number: int, base: str
) -> Executed:
    # Do not ask a reviewer for what no later call could use.
    run.check_limits()
    context = [f"Objective: {spec.objective}", *(f"Issue: {issue.in_words}" for issue in back.ticket.issues)]
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
    return _step_ended(step, number, output=answer.text, why=BY_PERSON)


def repair_task(spec: TaskSpec, back: SentBack, *, step: RepairStep, done: Sequence[Executed]) -> str:
    return prompt(
        "protocol_repair",
        objective=first_messages(spec)[-1].content,
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        outputs=outputs_text(done),
        step=one_line(step.action),
        expected=one_line(step.expected_outcome) or "The step is done.",
    )


# Step 5 by an external agent: it carries out the plan it received, and reports how its steps ended


async def ask_for_knowledge(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed]
) -> None:
    """Request knowledge that the agent lacks on its behalf; record it and add it to `done`.

    Nothing is done for other error classes.
    """
    steps = analysis.planned.repair_steps
    if steps and is_question_of_knowledge(analysis, number=1):
        done.append(await keep_repair(run, back, await learn(spec, run, back, analysis, step=steps[0])))


async def keep_the_agents(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, made: Made, *, done: list[Executed]
) -> None:
    """Record the agent's plan steps with the reported results, and add them to `done`.

    Steps without a report are pending. A reported completion counts only if the agent's work shows it.
    """
    handed_in = run.handed_in.get(made.number)
    by_step = {repair.step: repair for repair in handed_in.repairs} if handed_in else {}
    steps, ours = analysis.planned.repair_steps, len(done)
    before, after = requirements_of(spec, back.made.content), requirements_of(spec, made.content)
    for number, step in enumerate(steps[ours:], start=ours + 1):
        ended = Executed(number=number, repair=step, status=RepairStatus.PENDING)
        if repair := by_step.get(number):
            status, why = repair.status, ""
            if status in {RepairStatus.COMPLETED, RepairStatus.WRITTEN}:
                status, why = verified(step, before=before, after=after, is_only=len(steps) == 1)
                why = f"the agent says that it is done; {why}" if status is not RepairStatus.COMPLETED else why
            output = repair.output[:LONGEST_STEP_OUTPUT]
            ended = Executed(number=number, repair=step, status=status, output=output, why=why)
        done.append(await keep_repair(run, back, ended))


async def look_again(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, made: Made, *, done: list[Executed]
) -> None:
    """Verify written steps against the revised output, update `done`, and record the changes."""
    if made.is_empty or spec.execution is Execution.EXTERNAL:
        return
    changed = verified_at_last(
        done,
        before=requirements_of(spec, back.made.content),
        after=requirements_of(spec, made.content),
        planned=len(analysis.planned.repair_steps),
    )
    for one in changed:
        done[one.number - 1] = await keep_repair(run, back, one, key="verified")
