"""Step 3, Classify: the facts are gathered, and the tree of the seed names the class. No model is asked."""

from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol.classification import classify, gather_facts
from reflection_app.loops.protocol.keeping import keep_stage
from reflection_app.loops.protocol.rounds import SentBack
from reflection_app.loops.protocol.self_checks import interruption_of, text_of, unknown_of
from reflection_app.loops.protocol.stages import Classified, Explored
from reflection_app.loops.protocol_effects import FindSimilarIssues
from reflection_app.loops.task_spec import TaskSpec


async def classify_error(spec: TaskSpec, run: Progress, back: SentBack, explored: Explored) -> Classified:
    """The class with the facts that it follows from, recorded."""
    number = back.number
    # As the ticket has it: a person may have edited that in a fork.
    issues = back.ticket.issues
    judgement = back.judgement.model_copy(update={"issues": issues, "score": back.ticket.quality_score})
    similar = await run.perform(FindSimilarIssues(key=f"attempt-{number}/similar", attempt=number, issues=issues))
    handed_in = run.handed_in.get(number)
    check = handed_in.self_check if handed_in else None
    broken = back.made.interruption
    facts = gather_facts(
        content=back.made.content,
        judgement=judgement,
        requirements=explored.requirements,
        interruption=broken.message if broken else interruption_of(check),
        broken_phase=broken.phase if broken else text_of(check, "phase"),
        self_check=check,
        similar=similar,
        thresholds=spec.thresholds,
    )
    if (unknown := unknown_of(check)) and not facts.said_unknown:
        facts = facts.model_copy(update={"said_unknown": True, "quote": unknown})
    return await keep_stage(
        run,
        back,
        key="classify",
        output=classify(facts),
        issues=[issue.description[:200] for issue in issues[:20]],
        reports_looked_at=similar.looked_at,
    )
