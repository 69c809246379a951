"""Taking a run back to the step at which it waited for a person: what came after is as if it had not been.

Rows of what followed go; counts and merged rows that it added to are set back; what its end had closed is open again.
Events are never removed, and what was spent stays on the run's totals: it was paid. Limits are counted from the steps
that are there, so what was taken back is not counted against them.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Self
from uuid import UUID

from django.db import transaction
from django.db.models import F, Q, QuerySet, Sum
from django.utils import timezone

from notebook_app.public import Entry, counted_on, lock_notebook, proposed_from, take_back_proposal, unlearn
from notebook_app.public import Proposal as EntryProposal
from reflection_app.adapters.live import ring
from reflection_app.loops.attempt_effects import Generate
from reflection_app.loops.completeness.checks import CheckState
from reflection_app.loops.effects import (
    ChooseLoop,
    ProposeEntry,
    ProposeInstruction,
    RecordFixOutcome,
    RecordReport,
    RecordSecondLook,
    RecordSupplements,
    Route,
)
from reflection_app.loops.protocol.reports import Instruction, KeptReport, Proposal
from reflection_app.loops.verdicts import Ended, Outcome
from reflection_app.repairs.completeness import source_of, withdraw_what_recurred
from reflection_app.repairs.fix_pairs import uncount_outcome
from reflection_app.repairs.models import (
    AgentInstruction,
    CompletenessCheck,
    InstructionState,
    Report,
    Supplement,
    Ticket,
    TicketState,
    ToolFailure,
)
from reflection_app.repairs.rows import entry_proposal, report_values
from reflection_app.runs.advance import end_run
from reflection_app.runs.consequences import best_of
from reflection_app.runs.events import Event, EventType, add_event
from reflection_app.runs.lessons import settle_first_attempt
from reflection_app.runs.models import HELD_BY, TROUBLES, Run, RunState, Step, StepState
from reflection_app.sessions.models import LookBackDue, Reflector
from reflection_app.sessions.rows import evidence_of

# What a run proposed by steps that are taken back: entries of the notebook, and instructions for agents.
#
# Others may have proposed the same. Then theirs stays: an entry loses this run's evidence and one occurrence, and an
# instruction stands for the other run that proposed it.


@dataclass(frozen=True)
class Proposals:
    """What goes, found out while the steps are still there; `withdraw` takes it back once they are gone."""

    run: Run
    entries: tuple[EntryProposal, ...]
    instructions: tuple[AgentInstruction, ...]
    supplements: tuple[Supplement, ...]

    @classmethod
    def of(cls, run: Run, *, gone: QuerySet[Step], kept: QuerySet[Step]) -> Self:
        stays = list(_entries(run, kept))
        entries = []
        for one in _entries(run, gone):
            alike = [other for other in stays if other.source == one.source or other.fingerprint == one.fingerprint]
            # Else the two were counted as one.
            if all(other.evidence != one.evidence for other in alike):
                entries.append(one)
        return cls(
            run=run,
            entries=tuple(entries),
            instructions=tuple(proposed_instructions(run, gone).filter(state=InstructionState.PROPOSED)),
            supplements=tuple(Supplement.objects.filter(completeness_check__step__in=gone)),
        )

    def withdraw(self) -> None:
        by_source = {source_of(one.task_kind, one.operation_key): one for one in self.supplements}
        # Whoever else counts who lacked a supplement waits from here on.
        lock_notebook(self.run.project_id)
        for proposal in sorted(self.entries, key=lambda one: one.source):
            take_back_proposal(self.run.project_id, proposal)
        for instruction in self.instructions:
            # Removed, or left to whoever else proposed the same in the same words.
            steps = Step.objects.filter(kind=ProposeInstruction.kind, state=StepState.DONE, is_inherited=False)
            same = steps.filter(
                run__project=self.run.project_id,
                result__text=instruction.text,
                result__agent__startswith=instruction.agent,
            )
            other = same.order_by("started_at", "id").first()
            if other is None:
                instruction.delete()
                continue
            named = Instruction.model_validate(other.result).reflection_id
            instruction.report = Report.objects.filter(run=other.run_id, reflection_id=named).first()
            instruction.save(update_fields=["report"])
        for source in sorted(by_source):
            withdraw_what_recurred(self.run, by_source[source])


def proposed_entries(run: Run, gone: QuerySet[Step]) -> list[Entry]:
    """The notebook's entries that these steps proposed, or were counted on."""
    proposals = list(_entries(run, gone))
    of_source = proposed_from(run.project_id, sources=[one.source for one in proposals])
    return list({entry.id: entry for entry in (*of_source, *counted_on(run.project_id, proposals))}.values())


def proposed_instructions(run: Run, gone: QuerySet[Step]) -> QuerySet[AgentInstruction]:
    """The instructions that stand because these steps proposed them.

    What a person's correction of a report's class called for is not theirs.
    """
    results = gone.filter(kind=ProposeInstruction.kind, state=StepState.DONE).values_list("result", flat=True)
    texts = [Instruction.model_validate(result).text for result in results]
    theirs = Q(report__step__in=gone) | Q(report__run=run, report__corrections=None)
    return AgentInstruction.objects.filter(theirs, project=run.project_id, text__in=texts)


def _entries(run: Run, steps: QuerySet[Step]) -> Iterator[EntryProposal]:
    for result in steps.filter(kind=ProposeEntry.kind, state=StepState.DONE).values_list("result", flat=True):
        yield entry_proposal(run, Proposal.model_validate(result))


# Taking back that a run was looked back at, because its end is taken back: the next end begins anew.


def take_back_reflectors(run: Run) -> None:
    """Takes back what the forks that look back at `run` proposed, as far as nobody decided on it, and their rows.

    The caller's transaction has locked `run`. The forks are cancelled once it is committed: their workers may hold
    them while they wait for this one. One that is not cancelled, or goes on before, finds nothing to keep anything on.
    """
    LookBackDue.objects.filter(run_id=run.pk).delete()
    both = list(Reflector.objects.select_for_update(of=("self",)).filter(run=run).order_by("pk"))
    if not both:
        return
    for reflector in both:
        unlearn(run.project_id, refs=evidence_of(reflector))
    Reflector.objects.filter(pk__in=[reflector.pk for reflector in both]).delete()
    forks = [reflector.fork_id for reflector in both]
    transaction.on_commit(lambda: cancel_forks(forks), robust=True)


def cancel_forks(forks: list[UUID]) -> None:
    """Ends those of the forks that have not ended as cancelled, each by itself."""
    for fork_id in forks:
        with transaction.atomic():
            fork = Run.objects.select_for_update(of=("self",)).get(pk=fork_id)
            if not fork.is_finished:
                end_run(fork, Ended(outcome=Outcome.CANCELLED))
        ring(fork.pk, project_id=fork.project_id)


# Rows that outlive the steps which are taken back, as they were before those steps wrote to them.

ENDED = (TicketState.RESOLVED, TicketState.CLOSED)


def uncount_fixes(run: Run, gone: QuerySet[Step]) -> None:
    """Takes what the run's fixes counted for out of the memory of fixes again."""
    recorded = gone.filter(kind=RecordFixOutcome.kind, state=StepState.DONE)
    places = list(recorded.values_list("result__place", flat=True))
    failures = ToolFailure.objects.select_for_update().filter(run=run, place__in=places, worked__isnull=False)
    for failure in failures.order_by("pk"):
        uncount_outcome(failure)
    failures.update(worked=None, outcome=None, outcome_at=None)


def unmake_supplements(run: Run, gone: QuerySet[Step]) -> None:
    """Forgets how supplements went that an earlier check had asked for, and what a second look at them found."""
    kinds = {RecordSupplements.kind, RecordSecondLook.kind}
    recorded = gone.filter(kind__in=kinds, state=StepState.DONE)
    told = set(recorded.values_list("kind", "result__attempt"))
    checks = CompletenessCheck.objects.filter(run=run).exclude(step__in=gone)
    undone = checks.filter(attempt_number__in=[number for kind, number in told if kind == RecordSupplements.kind])
    Supplement.objects.filter(completeness_check__in=undone).update(
        attempted=None, succeeded=None, error="", tokens=0, cost_usd=0, cost_known=True, seconds=None, left_out=""
    )
    seen_once = checks.filter(attempt_number__in=[number for _kind, number in told])
    seen_once.filter(state=CheckState.SUPPLEMENTED).update(state=CheckState.INCOMPLETE)
    seen_once.update(second_look=None, second_tokens=0, second_cost_usd=0)
    undone.update(used=None, attempted=None, succeeded=None)


def restore_reports(run: Run, *, gone: QuerySet[Step], kept: QuerySet[Step]) -> None:
    """Puts reports that were kept again since into the words that they had before."""
    recorded = {"kind": RecordReport.kind, "state": StepState.DONE}
    changed = set(gone.filter(**recorded).values_list("result__reflection_id", flat=True))
    last: dict[str, Step] = {}
    for step in kept.filter(**recorded, result__reflection_id__in=changed).order_by("seq"):
        last[KeptReport.model_validate(step.result).reflection_id] = step
    for reflection_id, step in last.items():
        effect = RecordReport.model_validate({"key": step.key, **step.request})
        values = report_values(run, report=effect.report, kept=KeptReport.model_validate(step.result))
        Report.objects.filter(run=run, reflection_id=reflection_id).update(**values)


def superseded_by(gone: QuerySet[Step]) -> list[UUID]:
    """The tickets that were open until one took their place that goes now."""
    return list(Ticket.objects.filter(superseded_by__step__in=gone).values_list("pk", flat=True))


def reopen_tickets(run: Run, *, superseded: Sequence[UUID], since: int) -> None:
    """Opens what was superseded or ended since event `since`; what was begun since is not begun.

    A ticket that a person closed stays closed.
    """
    events = Event.objects.filter(run=run, seq__gt=since)
    ended = events.filter(type=EventType.TICKET_ENDED).values_list("payload__ticket", flat=True)
    begun = events.filter(type=EventType.TICKET_STARTED).values_list("payload__ticket", flat=True)
    tickets = Ticket.objects.filter(run=run)
    closed_by_end = tickets.filter(ticket_id__in=list(ended), state__in=ENDED, ended_by_label="")
    reopened = tickets.filter(pk__in=[*superseded, *closed_by_end.values_list("pk", flat=True)])
    tickets.filter(ticket_id__in=list(begun)).update(started_at=None)
    as_open = {"superseded_by": None, "resolved_by": None, "closed_reason": "", "ended_at": None}
    open_again = tickets.filter(pk__in=list(reopened.values_list("pk", flat=True)))
    open_again.update(state=TicketState.OPEN, **as_open)
    tickets.filter(state=TicketState.OPEN, started_at__isnull=False).update(state=TicketState.IN_PROGRESS)
    tickets.filter(state=TicketState.IN_PROGRESS, started_at__isnull=True).update(state=TicketState.OPEN)


RUN_FIELDS = (
    *("state", "waiting_for", "outcome", "error", "finished_at", "not_before", "enqueued_at", *HELD_BY, *TROUBLES),
    *("mode", "attempts_made", "best_attempt", "last_event_seq"),
)


@dataclass(frozen=True)
class TakenBack:
    """What a run did since, and what that had cost."""

    steps: int = 0
    calls: int = 0
    tokens: int = 0
    cost_usd: Decimal = Decimal(0)


def take_back_steps(run: Run, after: Step, *, since: int) -> TakenBack:
    """Sets the run back to waiting at `after`, whose result it forgets; the caller's transaction has locked `run`.

    `since` is the number of the event after which everything is taken back. A worker in the middle of a step finds its
    lease gone at its next write. Nothing is checked here: what must not be taken back is the caller's to refuse.
    """
    taken = _forget(run, after=after.seq, since=since)
    after.state, after.result, after.finished_at = StepState.WAITING, None, None
    run.state, run.waiting_for = RunState.WAITING_REVIEW, str(after.request["reason"])
    run.outcome, run.error, run.finished_at = None, "", None
    add_event(run, EventType.RUN_WAITING, step=after.seq, key=after.key, waiting_for=run.waiting_for)
    after.last_event_seq = run.last_event_seq
    after.save(update_fields=["state", "result", "finished_at", "last_event_seq"])
    _settle(run)
    return taken


def take_back_run(run: Run, *, why: str) -> TakenBack:
    """Ends a run that should not have begun as cancelled, without anything that followed from it."""
    taken = _forget(run, after=0, since=0)
    run.state, run.waiting_for = RunState.FINISHED, ""
    run.outcome, run.error, run.finished_at = Outcome.CANCELLED.value, why, timezone.now()
    add_event(run, EventType.RUN_FINISHED, outcome=run.outcome, best_attempt=None)
    _settle(run)
    return taken


def _forget(run: Run, *, after: int, since: int) -> TakenBack:
    take_back_reflectors(run)
    gone = Step.objects.filter(run=run, seq__gt=after)
    own = gone.filter(is_inherited=False)
    sums = own.aggregate(tokens=Sum(F("prompt_tokens") + F("completion_tokens")), cost_usd=Sum("cost_usd"))
    taken = TakenBack(
        steps=own.count(),
        calls=own.filter(kind=Generate.kind, finished_at__isnull=False).count(),
        tokens=sums["tokens"] or 0,
        cost_usd=sums["cost_usd"] or Decimal(0),
    )
    kept = Step.objects.filter(run=run, seq__lte=after)
    proposals = Proposals.of(run, gone=gone, kept=kept)
    uncount_fixes(run, gone)
    unmake_supplements(run, gone)
    restore_reports(run, gone=gone, kept=kept)
    superseded = superseded_by(gone)
    gone.delete()
    reopen_tickets(run, superseded=superseded, since=since)
    proposals.withdraw()
    return taken


def _settle(run: Run) -> None:
    """Saves the run with its counts as the rows have them, held by nobody."""
    run.let_go()
    run.not_before = run.enqueued_at = None
    run.attempts_made = run.attempts.count()
    run.best_attempt_id = best_of(run).id
    chosen = Step.objects.filter(run=run, kind=ChooseLoop.kind, state=StepState.DONE).last()
    run.mode = Route.model_validate(chosen.result).mode.value if chosen else run.spec["mode"]
    run.save(update_fields=RUN_FIELDS)
    settle_first_attempt(run)
