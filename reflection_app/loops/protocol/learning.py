"""What an agent does not know is asked for: the project's knowledge tool first, then a person.

The answer is told to the next attempt as data, and proposed to the notebook as a fact.
"""

import re

from reflection_app.loops.diagnosis.acting import GivenUp
from reflection_app.loops.effect import EffectFailed, EffectTimedOut
from reflection_app.loops.progress import PriceUnknown, Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.listed import one_line
from reflection_app.loops.protocol.reports import Proposal, ProposalKind
from reflection_app.loops.protocol.rounds import Analysis, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairStatus, RepairStep
from reflection_app.loops.protocol.tool_repairs import ToolRepair, call_for
from reflection_app.loops.protocol_effects import ProposeEntry
from reflection_app.loops.questions import Choice, Question, QuestionKind
from reflection_app.loops.task_spec import TaskSpec
from reflection_app.loops.tool_tries import task_of
from reflection_app.loops.waiting_effects import AskPerson

LONGEST_ANSWER = 10_000
LONGEST_NAME = 120
LONGEST_LINE = 2_000
# A longer answer says something, whatever words are in it.
LONGEST_NOTHING = 200
NOTHING = re.compile(
    r"\bno\b.{0,20}\b(?:results?|matches|documents?|entries|information|answers?)\b|\bnothing\b.{0,10}\bfound\b"
    r"|\bnot found\b|\b0 results\b|(?:没有|未)(?:找到|查到|搜到|结果|相关)|无(?:结果|相关|匹配)|查无",
    re.IGNORECASE,
)


async def learn(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, *, step: RepairStep) -> Executed:
    """How asking for the knowledge ended. A person who skips the question lets the run go on without it."""
    tried = await _ask_tool(spec, run, back, analysis) if spec.knowledge_tool else ToolRepair()
    if says_something(tried.output):
        await _propose(spec, run, back, analysis, answer=tried.output)
        return _ended(step, RepairStatus.COMPLETED, output=tried.output)
    # Nobody is asked for what no later call could use.
    run.check_limits()
    answer = await run.ask_person(
        AskPerson(
            key=f"attempt-{back.number}/repair-1/ask",
            question=_question(spec, analysis, tried),
            attempt=back.number,
        )
    )
    if answer.choice is not Choice.ANSWER or not answer.text.strip():
        return _ended(step, RepairStatus.SKIPPED, error=tried.error)
    await _propose(spec, run, back, analysis, answer=answer.text)
    return _ended(step, RepairStatus.COMPLETED, output=answer.text)


def says_something(text: str) -> bool:
    """Whether an answer of a search holds anything: no empty value, and no short word that there is nothing."""
    bare = re.sub(r"[\s\[\]{}\"',:]+|null|results?|items|data", "", text)
    return bool(bare) and not (len(text) <= LONGEST_NOTHING and NOTHING.search(text))


async def _ask_tool(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis) -> ToolRepair:
    """What the tool said, or why it could not be asked."""
    assert spec.knowledge_tool is not None
    task = prompt("protocol_learn", objective=task_of(spec), questions=_asked(analysis))
    base = f"attempt-{back.number}/repair-1"
    try:
        return await call_for(run, tools=(spec.knowledge_tool,), task=task, base=base, attempt=back.number)
    except (EffectTimedOut, PriceUnknown, GivenUp):
        raise
    except EffectFailed as failure:
        return ToolRepair(error=str(failure))


def _question(spec: TaskSpec, analysis: Analysis, tried: ToolRepair) -> Question:
    context = [f"Objective: {spec.objective}"]
    if analysis.classified.facts.quote:
        context.append(f"The agent said: {analysis.classified.facts.quote}")
    if spec.knowledge_tool is not None:
        context.append(
            f"{spec.knowledge_tool.name} was asked first: {tried.error or tried.output or 'it said nothing'}"
        )
    return Question(
        kind=QuestionKind.KNOWLEDGE,
        text=_asked(analysis),
        context=tuple(line[:LONGEST_LINE] for line in context),
        choices=(Choice.ANSWER, Choice.SKIP),
    )


def _asked(analysis: Analysis) -> str:
    """The open questions of the reflection; where it has none, what is missing."""
    reflected = analysis.reflected
    questions = [one_line(question) for question in reflected.questions]
    asked = questions[0] if len(questions) == 1 else "\n".join(f"- {question}" for question in questions)
    return asked or reflected.gap or reflected.surface_issue or "What does the agent need to know?"


async def _propose(spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, *, answer: str) -> None:
    report = analysis.report
    asked = " ".join(_asked(analysis).split())
    proposal = Proposal(
        kind=ProposalKind.FACT,
        name=asked.lstrip("- ")[:LONGEST_NAME],
        description=asked[:LONGEST_LINE],
        content=answer[:LONGEST_ANSWER],
        agent=spec.agent,
        category=analysis.classified.type.value,
        source=f"{report.reflection_id}/knowledge",
        reflection_id=report.reflection_id,
    )
    await run.perform(ProposeEntry(key=f"attempt-{back.number}/repair-1/propose-fact", proposal=proposal))


def _ended(step: RepairStep, status: RepairStatus, *, output: str = "", error: str = "") -> Executed:
    return Executed(number=1, repair=step, status=status, output=output[:LONGEST_ANSWER], error=error[:LONGEST_LINE])
