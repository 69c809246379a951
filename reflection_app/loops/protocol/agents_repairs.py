"""Step 5 by an outside agent: it carries out the plan that it was given, and says how its steps ended."""

from reflection_app.loops.attempt_effects import HandedInRepair
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.executing import LONGEST_OUTPUT, is_question_of_knowledge, keep_repair
from reflection_app.loops.protocol.learning import learn
from reflection_app.loops.protocol.rounds import Analysis, Made, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairStatus, RepairStep
from reflection_app.loops.task_spec import TaskSpec


async def ask_for_knowledge(
    spec: TaskSpec, run: Progress, back: SentBack, analysis: Analysis, done: list[Executed]
) -> None:
    """Adds to `done` what the agent did not know, asked for in its place and recorded; nothing for other classes."""
    steps = analysis.planned.repair_steps
    if steps and is_question_of_knowledge(analysis, number=1):
        done.append(await keep_repair(run, back, await learn(spec, run, back, analysis, step=steps[0])))


async def keep_the_agents(run: Progress, back: SentBack, analysis: Analysis, made: Made, done: list[Executed]) -> None:
    """Adds to `done` the agent's steps of the plan with what it said of them; pending where it said nothing."""
    handed_in = run.handed_in.get(made.number)
    said = {repair.step: repair for repair in handed_in.repairs} if handed_in else {}
    ours = len(done)
    for number, step in enumerate(analysis.planned.repair_steps[ours:], start=ours + 1):
        done.append(await keep_repair(run, back, _ended(number, step, said.get(number))))


def _ended(number: int, step: RepairStep, said: HandedInRepair | None) -> Executed:
    if said is None:
        return Executed(number=number, repair=step, status=RepairStatus.PENDING)
    return Executed(number=number, repair=step, status=said.status, output=said.output[:LONGEST_OUTPUT])
