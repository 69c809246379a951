"""What a step has for the project's notebook: written after the step, in a transaction of its own.

Who adds to a notebook waits for all others who do. So the step, with all answers before it, is committed first, and
marked; the run goes on once the notebook has it. Whoever moves the run on after a worker that died in between does what
is marked, and does it once.
"""

from typing import Any

from reflection_app.loops.effects import (
    AnyEffect,
    ProposeEntry,
    RecordCompleteness,
    RecordFindings,
    RecordFixOutcome,
    RecordMemories,
)
from reflection_app.repairs.failure_rows import keep_fix_outcome
from reflection_app.repairs.recurring import propose_what_recurs
from reflection_app.repairs.report_rows import keep_proposal
from reflection_app.runs.journal import Journal
from reflection_app.runs.models.run import Run, Step
from reflection_app.sessions.reflector_rows import keep_what_was_found


def has_for_notebook(effect: AnyEffect, value: Any) -> bool:
    """Whether something of the effect with this result goes to the notebook."""
    if isinstance(effect, RecordCompleteness):
        return bool(value.supplements)
    return isinstance(effect, ProposeEntry | RecordFindings | RecordFixOutcome | RecordMemories)


def write_to_notebook(effect: AnyEffect, *, journal: Journal) -> None:
    """Writes what the present step has for the notebook, where that is not done. Raises what `Journal.commit` does."""
    step = journal.steps[journal.seq]
    if not step.owes_notebook:
        return
    # What is unwritten first: nobody's answer waits for the notebook.
    journal.commit(lambda _run: None)

    def write(run: Run) -> None:
        # This is done again where the answer to the commit was lost.
        if Step.objects.filter(pk=step.pk, owes_notebook=True).update(owes_notebook=False):
            _write(effect, run=run, step=step)

    journal.commit(write)
    step.owes_notebook = False


def _write(effect: AnyEffect, *, run: Run, step: Step) -> None:
    match effect:
        case ProposeEntry(proposal=proposal):
            keep_proposal(run, proposal)
        case RecordCompleteness():
            propose_what_recurs(run, step)
        case RecordFindings() | RecordMemories():
            keep_what_was_found(effect, run=run)
        case RecordFixOutcome(outcome=outcome):
            keep_fix_outcome(run, outcome=outcome)
