"""Step 1, Explore: a snapshot of the present outputs and of where the run stands, made by code."""

import json

from reflection_app.loops.attempt_effects import HandedIn
from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.protocol.self_checks import text_of
from reflection_app.loops.protocol.stages import Explored
from reflection_app.loops.requirement_checks import check_requirements
from reflection_app.loops.requirements import RequirementsReport
from reflection_app.loops.task_spec import TaskSpec

LONGEST_EXCERPT = 2_000
LONGEST_NAME = 200
MOST_NAMED = 100


async def explore(spec: TaskSpec, run: Progress, back: SentBack) -> Explored:
    """The snapshot, recorded."""
    handed_in = run.handed_in.get(back.number)
    content = back.made.content
    snapshot = Explored(
        characters=len(content),
        excerpt=content[:LONGEST_EXCERPT],
        artifacts=_artifacts(handed_in),
        files=spec.file_names[:MOST_NAMED],
        requirements=requirements_of(spec, content),
        earlier_tickets=tuple(ticket.ticket_id for number, ticket in run.tickets.items() if number < back.number),
        last_good_step=_last_good_step(back, handed_in),
    )
    ticket = back.ticket
    return await keep_stage(
        run,
        back,
        key="explore",
        output=snapshot,
        ticket=ticket.ticket_id,
        trigger=ticket.trigger.value,
        verdict=ticket.verdict.value,
        score=ticket.quality_score,
    )


def requirements_of(spec: TaskSpec, content: str) -> RequirementsReport | None:
    """How `content` stands against the minimum requirements; None where the task has none."""
    if spec.requirements is None:
        return None
    return check_requirements(spec.requirements, content, chain_of_thought=spec.chain_of_thought)


def _artifacts(handed_in: HandedIn | None) -> tuple[str, ...]:
    """The names of what came with the attempt."""
    if handed_in is None:
        return ()
    return tuple(
        str(artifact.get("path") or artifact.get("name") or json.dumps(artifact, ensure_ascii=False))[:LONGEST_NAME]
        for artifact in handed_in.artifacts[:MOST_NAMED]
    )


def _last_good_step(back: SentBack, handed_in: HandedIn | None) -> str:
    if back.made.interruption is not None:
        return back.made.interruption.last_good_step
    return text_of(handed_in.self_check, "last_good_step") if handed_in else ""
