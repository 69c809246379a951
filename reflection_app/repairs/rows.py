"""The rows that steps leave behind here: tickets, failed calls, reports, proposals, completeness checks."""

from typing import Any
from uuid import UUID

from django.db.models import QuerySet
from django.utils import timezone

from notebook_app.public import EntryKind, compiled, keep, text_key
from notebook_app.public import Proposal as EntryProposal
from reflection_app.loops.completeness.checks import CheckState, Completeness, SupplementsRun, operation_key
from reflection_app.loops.completeness.supplementing import PART
from reflection_app.loops.diagnosis.diagnoses import FailedCall, FixRecall
from reflection_app.loops.effects import (
    FindSimilarIssues,
    IssueTicket,
    ProposeEntry,
    ProposeInstruction,
    RecallFix,
    RecordCompleteness,
    RecordFixOutcome,
    RecordPlan,
    RecordReport,
    RecordSecondLook,
    RecordStage,
    RecordSupplements,
    RecordToolFailure,
)
from reflection_app.loops.protocol.error_classes import SimilarIssues
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal, ProposalKind
from reflection_app.loops.protocol.reports import Report as ReportValue
from reflection_app.loops.protocol.similarity import bounded, similar_issues
from reflection_app.loops.tickets import Ticket as IssuedTicket
from reflection_app.loops.verdicts import Issue, Outcome
from reflection_app.repairs.failures_by_meaning import judged_remedy
from reflection_app.repairs.fix_pairs import best_fix, keep_outcome
from reflection_app.repairs.issue_vectors import vectors_of
from reflection_app.repairs.models import (
    AgentInstruction,
    CompletenessCheck,
    FixPair,
    Report,
    Supplement,
    Ticket,
    TicketState,
    ToolFailure,
)
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import EventType, add_event, next_event
from reflection_app.runs.following import StepCommit, follows_from, goes_to_notebook
from reflection_app.runs.models import Attempt, Run, Step
from reflection_app.tasks.models import Task

# The rows of rewind tickets: issued, begun, superseded by the next, and ended with their run.
#
# Every transition is guarded by its own UPDATE. A fork issues tickets of its own; those that its copied steps speak of
# are the parent's, and stay as the parent left them.


OPEN_STATES = (TicketState.OPEN, TicketState.IN_PROGRESS)
SUPERSEDE = """
UPDATE reflection_app_ticket SET state = 'superseded', superseded_by_id = %s, ended_at = %s
WHERE run_id = %s AND state IN ('open', 'in_progress') AND id <> %s
"""
END = """
UPDATE reflection_app_ticket SET state = %s, closed_reason = %s, resolved_by_id = %s, ended_at = %s
WHERE id = %s AND state IN ('open', 'in_progress')
"""


@follows_from(IssueTicket)
def write_ticket(_effect: IssueTicket, issued: IssuedTicket, commit: StepCommit) -> None:
    """The row of a ticket; what was open on the run is superseded by it.

    Of a call that failed before its attempt was made there is a ticket without an attempt.
    """
    run, step, batch = commit.run, commit.step, commit.batch
    try:
        attempt = commit.attempt(issued.attempt)
    except Attempt.DoesNotExist:
        attempt = None
    values = issued.model_dump(mode="json", exclude={"attempt", "timestamp"})
    values |= {name: values[name][:120] for name in ("target_agent", "target_phase")}
    row = Ticket(project_id=run.project_id, run=run, attempt=attempt, step=step, created_at=issued.timestamp, **values)
    batch.insert(row)
    batch.add(SUPERSEDE, row.pk, issued.timestamp, run.pk, row.pk)
    batch.insert(next_event(run, EventType.TICKET_ISSUED, ticket=issued.ticket_id, verdict=issued.verdict.value))


@follows_from(RecordStage)
def begin_ticket_of_stage(effect: RecordStage, _value: object, commit: StepCommit) -> None:
    begin_ticket(commit.run, ticket_id=effect.record.ticket_id)


def begin_ticket(run: Run, *, ticket_id: str, by: str = "") -> bool:
    """Marks an open ticket of the run as taken up; False where it is not open, or not the run's own."""
    begun = Ticket.objects.filter(run=run, ticket_id=ticket_id, state=TicketState.OPEN).update(
        state=TicketState.IN_PROGRESS, started_at=timezone.now()
    )
    if begun:
        add_event(run, EventType.TICKET_STARTED, ticket=ticket_id, by=by)
    return bool(begun)


@compiled
def _open_tickets(run_id: UUID) -> QuerySet[Ticket, tuple[UUID, str, int | None]]:
    rows = Ticket.objects.filter(run=run_id, state__in=OPEN_STATES)
    return rows.values_list("pk", "ticket_id", "attempt__number")


def end_tickets(run: Run, batch: Batch, *, outcome: str) -> None:
    """Ends what is open on an ended run: resolved where a later attempt was accepted, else closed with the reason."""
    for ticket_pk, ticket_id, number in _open_tickets(run.pk):
        state, why = TicketState.CLOSED, f"the run ended: {outcome.replace('_', ' ')}"
        if outcome == Outcome.SUCCEEDED:
            # Whether the attempt that is kept came after the one that the ticket sent back.
            is_repaired = run.best_attempt is not None and run.best_attempt.number > (number or 0)
            state = TicketState.RESOLVED if is_repaired else TicketState.CLOSED
            why = "" if is_repaired else "an attempt from before the ticket was accepted"
        resolved_by = run.best_attempt_id if state == TicketState.RESOLVED else None
        batch.add(END, state.value, why, resolved_by, timezone.now(), ticket_pk)
        told = {"ticket": ticket_id, "state": state.value, "outcome": outcome}
        batch.insert(next_event(run, EventType.TICKET_ENDED, **told))


# The rows of failed calls and of their diagnosis. A failure keeps the parameters of its call and goes with its run.


def recall_fix(effect: RecallFix, *, run_id: UUID) -> FixRecall:
    """What the memory of the run's project holds for a failure, and what its error means."""
    run = Run.objects.get(pk=run_id)
    known = best_fix(
        run.project_id, tool=effect.tool, signature=effect.signature, params=effect.params, without=effect.without
    )
    spec = run.get_spec()
    tools = spec.failed_call.tools if spec.failed_call else spec.tools
    failed = FailedCall(tool=effect.tool, params=effect.params, error=effect.error, status=effect.status, tools=tools)
    return FixRecall(known=known, judged=judged_remedy(failed))


@follows_from(RecordToolFailure)
def write_failure(effect: RecordToolFailure, _value: object, commit: StepCommit) -> None:
    """The row of a failed call with its diagnosis; one that was reported is there already and is filled in."""
    commit.batch.write()
    run, step, diagnosed = commit.run, commit.step, effect.failure
    failed, found = diagnosed.failed, diagnosed.diagnosis
    # The remembered pair, unless it was removed since.
    pair = FixPair.objects.filter(project_id=run.project_id, pk=found.fix_pair).first() if found.fix_pair else None
    row = ToolFailure.objects.filter(run=run, place=diagnosed.place).first()
    if row is None:
        row = ToolFailure(
            project_id=run.project_id,
            run=run,
            place=diagnosed.place,
            agent=Run.objects.values_list("task__agent", flat=True).get(pk=run.pk),
            tool=failed.tool,
            params=failed.params,
            error_message=failed.error,
            status=failed.status,
            is_repeated=failed.is_repeated,
        )
    row.step = step
    row.set_diagnosis(found, fix_pair_id=pair.pk if pair else None)
    row.save()
    add_event(
        run,
        EventType.TOOL_FAILURE_DIAGNOSED,
        failure=str(row.pk),
        tool=failed.tool,
        error_type=found.error_type.value,
        remedy=found.action.remedy.value,
    )


@goes_to_notebook(RecordFixOutcome)
def keep_fix_outcome(effect: RecordFixOutcome, run: Run, _step: Step) -> None:
    """How a fix went, kept and counted. Nothing where the failure is not this run's: a fork's outcome of its parent's
    failure would count a second time."""
    outcome = effect.outcome
    failure = ToolFailure.objects.select_for_update().filter(run=run, place=outcome.place).first()
    if failure is None or failure.worked is not None:
        return
    keep_outcome(failure, outcome)
    failure.worked, failure.outcome_at = outcome.worked, timezone.now()
    failure.outcome = outcome.model_dump(mode="json", exclude={"place"})
    failure.save(update_fields=["worked", "outcome", "outcome_at"])


# The rows of error trace reports, and what they are looked up by.

MOST_REPORTS = 20
LOOKED_AT = ("reflection_id", "issues", "created_at")


def is_ours(reflection_id: str, *, run_id: UUID) -> bool:
    """Whether the report is this run's own: a fork that inherits the beginning of one keeps another."""
    return Report.objects.filter(run=run_id, reflection_id=reflection_id).exists()


def find_similar_issues(effect: FindSimilarIssues, *, run_id: UUID) -> SimilarIssues:
    """What is like these issues in the newest reports on the run's agent, and on this run; without an agent, here only.

    Reports of the run's own attempt are no earlier mistakes, nor are those of other runs of its task: they share its
    beginning.
    """
    run = Run.objects.defer("spec").select_related("task").get(pk=run_id)
    known = _of_this_run(run, effect.attempt)
    if agent := run.task.agent:
        others = Report.objects.filter(project=run.project_id, agent=agent[:120]).exclude(run__task=run.task_id)
        known += others.order_by("-created_at", "-id").only(*LOOKED_AT)[:MOST_REPORTS]
    newest = sorted({row.pk: row for row in known}.values(), key=lambda row: (row.created_at, row.pk), reverse=True)
    earlier = [(row.reflection_id, Issue.model_validate(issue)) for row in newest for issue in row.issues]
    first, compared = bounded(effect.issues, earlier)
    texts = [issue.description for issue in (*first, *(issue for _, issue in compared))]
    vectors = vectors_of(texts) if compared else None
    return similar_issues(effect.issues, earlier, looked_at=len(newest), vectors=vectors)


def _of_this_run(run: Run, attempt: int) -> list[Report]:
    """Reports on earlier attempts of the run, with those on attempts that it has from the run it was forked from."""
    found = list(Report.objects.filter(run=run, attempt__number__lt=attempt).only(*LOOKED_AT))
    parent, before = run.parent, run.forked_from_step
    while parent is not None and before is not None:
        found += Report.objects.filter(run=parent, step__seq__lt=before, attempt__number__lt=attempt).only(*LOOKED_AT)
        before = min(before, parent.forked_from_step) if parent.forked_from_step is not None else before
        parent = parent.parent
    return found


@follows_from(RecordReport)
def write_report(effect: RecordReport, kept: KeptReport, commit: StepCommit) -> None:
    """The row of a report, new or in the place of its earlier state."""
    commit.batch.write()
    run, step, report = commit.run, commit.step, effect.report
    values = report_values(run, report=report, kept=kept)
    known = Report.objects.filter(run=run, reflection_id=kept.reflection_id)
    if not known.update(**values):
        Report.objects.create(
            project_id=run.project_id,
            run=run,
            step=step,
            reflection_id=kept.reflection_id,
            created_at=kept.timestamp,
            **values,
        )
    add_event(run, EventType.REPORT_KEPT, report=kept.reflection_id, type=report.type.value)


def report_values(run: Run, *, report: ReportValue, kept: KeptReport) -> dict[str, Any]:
    """The columns of the report's row that change when it is kept again."""
    content = report.model_copy(update={"reflection_id": kept.reflection_id}).model_dump(mode="json")
    numbers = [number for number in (report.attempt, report.revised_attempt) if number]
    attempts = {row.number: row for row in Attempt.objects.filter(run=run, number__in=numbers)}
    return {
        "ticket": Ticket.objects.filter(run=run, ticket_id=report.ticket_id).first(),
        "attempt": attempts.get(report.attempt),
        "revised_attempt": attempts.get(report.revised_attempt) if report.revised_attempt else None,
        "agent": report.agent[:120],
        "trigger": report.trigger.value,
        "error_type": report.type.value,
        "surface_issue": report.surface_issue,
        "issues": content["issues"],
        "content": content,
        "updated_at": kept.timestamp,
    }


@goes_to_notebook(ProposeEntry)
def keep_proposed_entry(effect: ProposeEntry, run: Run, _step: Step) -> None:
    keep_proposal(run, effect.proposal)


def keep_proposal(run: Run, proposal: Proposal) -> None:
    """Proposes it to the notebook with the run and the report as its evidence; made twice, it counts once."""
    keep(run.project_id, entry_proposal(run, proposal))


def entry_proposal(run: Run, proposal: Proposal) -> EntryProposal:
    """Return the proposal as the notebook gets it, and as it is taken back."""
    return EntryProposal(
        kind=EntryKind(proposal.kind.value),
        name=proposal.name,
        source=_source_of(proposal),
        description=proposal.description,
        content=proposal.content,
        details=proposal.details,
        agent=proposal.agent,
        category=proposal.category,
        evidence={"run": str(run.pk)} | ({"report": proposal.reflection_id} if proposal.reflection_id else {}),
    )


def _source_of(proposal: Proposal) -> str:
    """Return what is equal for the same lesson of any agent's report, by its text alone.

    The description tells of one case, and an anti-pattern's content names the class of that error. The source in the
    journal tells agents apart, and takes patterns of one name for the same whatever their prevention says.
    """
    if proposal.kind is ProposalKind.FACT:
        return proposal.source
    content = "" if proposal.kind is ProposalKind.ANTI_PATTERN else proposal.content
    said = {"kind": proposal.kind.value, "name": proposal.name, "description": "", "content": content}
    return f"protocol/{proposal.kind.value}/{text_key(said | {'details': proposal.details})}"


@follows_from(ProposeInstruction)
def write_instruction(effect: ProposeInstruction, _value: object, commit: StepCommit) -> None:
    commit.batch.write()
    keep_instruction(commit.run, effect.instruction)


def keep_instruction(run: Run, instruction: Instruction) -> None:
    """Proposes it to people, unless it was proposed to the agent in these words before."""
    AgentInstruction.objects.get_or_create(
        project_id=run.project_id,
        agent=instruction.agent[:120],
        text=instruction.text,
        defaults={"report": Report.objects.filter(run=run, reflection_id=instruction.reflection_id).first()},
    )


# The rows of completeness checks, and the events that tell of them: three with the fields of the second design seed,
# and one of the second look.
#
# A fork has no row of a check that it copied from its parent: it was made, and paid for, there. What the fork's own
# supplements come to is told by its events and its steps.

IS_COMPLETE = {
    CheckState.COMPLETE: True,
    CheckState.SUPPLEMENTED: True,
    CheckState.INCOMPLETE: False,
    CheckState.UNCHECKED: None,
}
# What rows take over from the values that steps recorded.
OF_CHECK = {"state", "analysis", "missing_aspects", "dropped", "steps_ok", "error", "tokens", "cost_known"}
OF_RESULT = {"attempted", "succeeded", "error", "tokens", "cost_usd", "cost_known", "seconds"}


@follows_from(RecordCompleteness)
def write_check(effect: RecordCompleteness, _value: object, commit: StepCommit) -> None:
    """The row of a check with those of its supplements, and the event."""
    run, step, batch, found = commit.run, commit.step, commit.batch, effect.found
    kind = Task.objects.values_list("kind", flat=True).get(runs=run.pk)
    check = CompletenessCheck(
        project_id=run.project_id,
        run=run,
        step=step,
        attempt_number=found.attempt,
        task_kind=kind,
        cost_usd=found.cost_usd,
        **found.model_dump(mode="json", include=OF_CHECK),
    )
    batch.insert(check)
    for number, one in enumerate(found.supplements, start=1):
        row = Supplement(
            project_id=check.project_id,
            completeness_check=check,
            number=number,
            task_kind=kind,
            operation_key=operation_key(one.operation),
            **one.model_dump(mode="json", include={"operation", "reason", "suggested_tools"}),
        )
        batch.insert(row)
    event = next_event(
        run,
        EventType.REFLECTION,
        isComplete=IS_COMPLETE[found.state],
        analysis=found.analysis,
        missingsCount=len(found.missing_aspects),
        supplementsCount=len(found.supplements),
        **_files_told(found),
    )
    batch.insert(event)
    if found.state is CheckState.INCOMPLETE:
        said = {"attempt": found.attempt, "missing": len(found.missing_aspects), "supplements": len(found.supplements)}
        batch.insert(next_event(run, EventType.FOUND_INCOMPLETE, **said))


def _files_told(found: Completeness) -> dict[str, int]:
    """How many files were opened, and how many faults of them count; nothing where nothing was looked at."""
    if found.files is None:
        return {}
    return {"filesCount": len(found.files.files), "fileFaultsCount": len(found.faulty_files)}


@follows_from(RecordPlan)
def write_plan(effect: RecordPlan, _value: object, commit: StepCommit) -> None:
    """The event that tells of a supplementary plan that can be carried out; nothing for any other plan."""
    run, step, batch, plan = commit.run, commit.step, commit.batch, effect.plan
    if plan.issues or not step.key.startswith(f"attempt-{step.attempt_number}{PART}/"):
        return
    batch.write()
    tools = dict.fromkeys(one.tool for one in plan.plan.steps if one.tool)
    # The check as the journal has it, where a fork may have copied it from its parent.
    checks = Step.objects.filter(run=run, kind=RecordCompleteness.kind, attempt_number=step.attempt_number)
    check = checks.last()
    event = next_event(
        run,
        EventType.REFLECTION_PLAN,
        plan={
            "manifest": [{"name": name} for name in tools],
            "steps": [one.model_dump(mode="json") for one in plan.plan.steps],
        },
        supplementsCount=len(check.result["supplements"]) if check and isinstance(check.result, dict) else 0,
    )
    batch.insert(event)


@follows_from(RecordSupplements)
def write_supplements(effect: RecordSupplements, _value: object, commit: StepCommit) -> None:
    """How each supplement went, the statistics of the run, and the event that tells them."""
    run, batch, done = commit.run, commit.batch, effect.done
    batch.write()
    check = CompletenessCheck.objects.filter(run=run, attempt_number=done.attempt).last()
    if check is not None:
        check.used, check.attempted, check.succeeded = done.used, done.attempted, done.succeeded
        if done.completes and not done.looks_again and check.state == CheckState.INCOMPLETE:
            check.state = CheckState.SUPPLEMENTED.value
        check.save(update_fields=["state", "used", "attempted", "succeeded"])
    for number, result in enumerate(done.results, start=1):
        Supplement.objects.filter(completeness_check=check, number=number).update(
            left_out=result.left_out.value if result.left_out else "",
            **result.model_dump(include=OF_RESULT),
        )
    event = next_event(
        run,
        EventType.REFLECTION_EXEC,
        exec={
            "used": done.used,
            "attempted": done.attempted,
            "succeeded": done.succeeded,
            "successRate": round(done.success_rate, 4),
        },
    )
    batch.insert(event)
    if done.completes and not done.looks_again:
        batch.insert(next_event(run, EventType.COMPLETED, attempt=done.attempt, supplements=len(done.results)))


@follows_from(RecordSecondLook)
def write_second_look(effect: RecordSecondLook, _value: object, commit: StepCommit) -> None:
    """What the second look found, with the check's state by its word, and the event."""
    run, step, batch, found = commit.run, commit.step, commit.batch, effect.found
    batch.write()
    check = CompletenessCheck.objects.filter(run=run, attempt_number=found.attempt).last()
    if check is not None:
        check.second_look = found.model_dump(mode="json")
        check.second_tokens, check.second_cost_usd = found.tokens, found.cost_usd
        check.cost_known = check.cost_known and found.cost_known
        if found.state is CheckState.COMPLETE and check.state == CheckState.INCOMPLETE:
            check.state = CheckState.SUPPLEMENTED.value
        check.save(update_fields=["state", "second_look", "second_tokens", "second_cost_usd", "cost_known"])
    event = next_event(
        run,
        EventType.REFLECTION_AGAIN,
        isComplete=IS_COMPLETE[found.state],
        analysis=found.analysis,
        missingsCount=len(found.missing_aspects),
    )
    batch.insert(event)
    if found.state is CheckState.COMPLETE:
        # By the journal, which a fork has from its parent, too.
        steps = Step.objects.filter(run=run, kind=RecordSupplements.kind, attempt_number=step.attempt_number)
        done = SupplementsRun.model_validate(steps.values_list("result", flat=True).latest("seq"))
        batch.insert(next_event(run, EventType.COMPLETED, attempt=found.attempt, supplements=len(done.results)))
