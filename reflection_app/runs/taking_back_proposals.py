"""What a run proposed by steps that are taken back: entries of the notebook, and instructions for agents.

Others may have proposed the same. Then theirs stays: an entry loses this run's evidence and one occurrence, and an
instruction stands for the other run that proposed it.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Self

from django.db.models import Q, QuerySet

from notebook_app.public import KeptEntry, counted_on, lock_notebook, proposed_from, take_back_proposal
from notebook_app.public import Proposal as EntryProposal
from reflection_app.loops.effects import ProposeEntry, ProposeInstruction
from reflection_app.loops.protocol.reports import Instruction, Proposal
from reflection_app.repairs.models.completeness import Supplement
from reflection_app.repairs.models.report import AgentInstruction, InstructionState, Report
from reflection_app.repairs.recurring import source_of, withdraw_what_recurred
from reflection_app.repairs.report_rows import entry_proposal
from reflection_app.runs.models.run import Run, Step, StepState


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
        return cls(
            run=run,
            entries=tuple(one for one in _entries(run, gone) if not any(_is_same(one, other) for other in stays)),
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
            _withdraw_instruction(self.run, instruction)
        for source in sorted(by_source):
            withdraw_what_recurred(self.run, by_source[source])


def proposed_entries(run: Run, gone: QuerySet[Step]) -> list[KeptEntry]:
    """The notebook's entries that these steps proposed, or were counted on."""
    proposals = list(_entries(run, gone))
    of_source = proposed_from(run.project_id, sources=[one.source for one in proposals])
    return list({entry.id: entry for entry in (*of_source, *counted_on(run.project_id, proposals))}.values())


def proposed_instructions(run: Run, gone: QuerySet[Step]) -> QuerySet[AgentInstruction]:
    """The instructions that stand because these steps proposed them.

    What a person's correction of a report's class called for is not theirs.
    """
    results = gone.filter(kind=ProposeInstruction.kind, state=StepState.DONE).values_list("result", flat=True)
    told = [Instruction.model_validate(result).text for result in results]
    theirs = Q(report__step__in=gone) | Q(report__run=run, report__corrections=None)
    return AgentInstruction.objects.filter(theirs, project=run.project_id, text__in=told)


def _entries(run: Run, steps: QuerySet[Step]) -> Iterator[EntryProposal]:
    for result in steps.filter(kind=ProposeEntry.kind, state=StepState.DONE).values_list("result", flat=True):
        yield entry_proposal(run, Proposal.model_validate(result))


def _is_same(one: EntryProposal, other: EntryProposal) -> bool:
    """Whether the two were counted as one."""
    said = one.source == other.source or one.fingerprint == other.fingerprint
    return said and one.evidence == other.evidence


def _withdraw_instruction(run: Run, row: AgentInstruction) -> None:
    """Removes it, or leaves it to whoever else proposed the same in the same words."""
    steps = Step.objects.filter(kind=ProposeInstruction.kind, state=StepState.DONE, is_inherited=False)
    same = steps.filter(run__project=run.project_id, result__text=row.text, result__agent__startswith=row.agent)
    other = same.order_by("started_at", "id").first()
    if other is None:
        row.delete()
        return
    named = Instruction.model_validate(other.result).reflection_id
    row.report = Report.objects.filter(run=other.run_id, reflection_id=named).first()
    row.save(update_fields=["report"])
