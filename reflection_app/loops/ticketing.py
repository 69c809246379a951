"""When an attempt goes back with a rewind ticket, and what stands on the ticket."""

from collections.abc import Sequence

from reflection_app.loops.progress import Progress
from reflection_app.loops.protocol_effects import IssueTicket
from reflection_app.loops.task_spec import Execution, TaskSpec
from reflection_app.loops.tickets import Ticket, TicketDraft, Trigger
from reflection_app.loops.verdicts import Issue, IssueCategory, Judgement, Referee

# Who says most about what is wrong, first: a person, then who read the attempt, then what only measured it.
TELLING = (Referee.PERSON, Referee.CRITIC, Referee.SELF, Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS)
MEASURED = frozenset({Referee.TESTS, Referee.TOOL, Referee.GENERATED_TESTS})
TRIGGERS = {
    Referee.PERSON: Trigger.PERSONS_REVIEW,
    Referee.CRITIC: Trigger.CRITIC_EVALUATION,
    Referee.SELF: Trigger.SELF_CHECK,
}
# What to do about an issue that names no fix of its own; after "create_repair_plan" of the design seed.
USUAL_REPAIRS = {
    IssueCategory.COMPLETENESS: "Find out what is missing and add it",
    IssueCategory.CORRECTNESS: "Check it against its source and put it right",
    IssueCategory.FORMAT: "Bring it into the form that was asked for",
    IssueCategory.QUALITY: "Rework the part that falls short",
    IssueCategory.OTHER: "Look into it and put it right",
}


async def issue_ticket(spec: TaskSpec, run: Progress, judgement: Judgement, *, trigger: Trigger) -> Ticket:
    """The ticket that sends the judged attempt back; the one that it has, where it has one."""
    number = judgement.attempt
    if number not in run.tickets:
        draft = TicketDraft(
            attempt=number,
            trigger=trigger,
            target_agent=spec.agent,
            target_phase=spec.phase or "attempt",
            verdict=judgement.verdict,
            quality_score=judgement.score,
            issues=judgement.issues,
            repair_plan=repairs_of(judgement),
            context_needed=context_for(spec, judgement),
        )
        run.tickets[number] = await run.perform(IssueTicket(key=f"attempt-{number}/ticket", draft=draft))
    return run.tickets[number]


async def send_back(spec: TaskSpec, run: Progress, *, number: int) -> Ticket | None:
    """The ticket with which attempt `number` went back, or None where another follows without one.

    What a test or a tool measured of a model's own attempt is repaired within the loop, and nobody is sent a ticket.
    """
    judgement = telling_judgement(run.judgements, attempt=number)
    if judgement is None:
        return None
    if spec.execution is Execution.MANAGED and judgement.referee in MEASURED:
        return None
    trigger = TRIGGERS.get(judgement.referee, Trigger.FAILED_CHECK)
    return await issue_ticket(spec, run, judgement, trigger=trigger)


def telling_judgement(judgements: Sequence[Judgement], *, attempt: int) -> Judgement | None:
    """The judgement that says most about why an attempt was sent back; of one referee's, the last."""
    sent_back = [judged for judged in reversed(judgements) if judged.attempt == attempt and not judged.passed]
    return min(sent_back, key=lambda judged: TELLING.index(judged.referee), default=None)


def repairs_of(judgement: Judgement) -> tuple[str, ...]:
    """What is to be done, in order: a person's words, each issue's fix, and what usually helps where none is named."""
    steps = [*judgement.feedback.suggestions] if judgement.referee is Referee.PERSON else []
    steps += [_repair(issue) for issue in judgement.issues]
    if judgement.referee is not Referee.PERSON:
        steps += judgement.feedback.suggestions
    return tuple(dict.fromkeys(step for step in steps if step.strip()))


def _repair(issue: Issue) -> str:
    return issue.suggested_fix.strip() or f"{USUAL_REPAIRS[issue.category]}: {issue.description}"


def context_for(spec: TaskSpec, judgement: Judgement) -> tuple[str, ...]:
    """What whoever repairs it has to have before them."""
    needed = ["objective", f"attempt {judgement.attempt}"]
    if judgement.requirements is not None:
        needed += [f"requirement: {result.name}" for result in judgement.requirements.unmet]
    if judgement.tests is not None:
        needed += [f"test: {result.name}" for result in judgement.tests.failed[:20]]
    return (*needed, *(f"file: {name}" for name in spec.file_names[:20]))
