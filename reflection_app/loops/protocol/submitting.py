"""Step 6, Submit: the revised output as the next attempt, and whether it is ready to be judged again.

What misses a minimum requirement is not: it goes round again with what remains.
"""

from collections.abc import Sequence

from reflection_app.loops.actor_critic import actor_messages
from reflection_app.loops.messages import Message
from reflection_app.loops.progress import Progress
from reflection_app.loops.prompts import prompt
from reflection_app.loops.protocol.exploring import requirements_of
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.listed import one_line
from reflection_app.loops.protocol.making import first_messages
from reflection_app.loops.protocol.planning_repairs import told_analysis
from reflection_app.loops.protocol.rounds import Analysis, Made, SentBack
from reflection_app.loops.protocol.stages import Executed, RepairStatus, SubmitStatus, Submitted
from reflection_app.loops.protocol.told_repairs import told_outputs, told_plan
from reflection_app.loops.protocol.told_tickets import told_ticket
from reflection_app.loops.requirement_checks import requirement_issues
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.tool_frames import framed

LONGEST_DRAFT = 24_000


def revision_messages(
    spec: TaskSpec, back: SentBack, analysis: Analysis, *, done: Sequence[Executed]
) -> tuple[Message, ...]:
    """What the actor is asked for the revised output, or the outside agent for its next attempt."""
    task = first_messages(spec)[-1].content
    name = "protocol_agent" if spec.execution is Execution.EXTERNAL else "protocol_revise"
    classified, planned = analysis.classified, analysis.planned
    asked = prompt(
        name,
        objective=task,
        draft=framed(back.made.content or "(empty)", name="draft", most=LONGEST_DRAFT),
        ticket=told_ticket(back),
        analysis=told_analysis(analysis.reflected),
        error_class=f"{classified.type.value} {classified.description}",
        plan=told_plan(planned, done),
        outputs=told_outputs(done),
        hint="\n".join(one_line(text) for text in (planned.remediation, planned.hint) if text) or "(none)",
    )
    return actor_messages(asked, [])


async def submit(spec: TaskSpec, run: Progress, back: SentBack, made: Made, *, done: Sequence[Executed]) -> Submitted:
    """How the revised output stands, recorded."""
    requirements = requirements_of(spec, made.content)
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
