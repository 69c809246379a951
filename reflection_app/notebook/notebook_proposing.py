"""Proposing entries: whatever is proposed again is counted on the entry that is there."""

from dataclasses import dataclass

from django.db import transaction

from notebook_app import public
from notebook_app.public import KeptEntry, Proposal, own_evidence
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.notebook.notebook_input import EntryInput
from reflection_app.notebook.notebook_refusals import refusals_told
from reflection_app.notebook.notebook_trail import by_of, note, ring_notebook


@dataclass(frozen=True)
class ProposedEntry:
    """The entry that a proposal is kept as; whether it is new, and else whether it was counted as found again."""

    entry: KeptEntry
    is_new: bool
    is_counted: bool


def propose_entry(project: Project, told: EntryInput, *, actor: Actor) -> ProposedEntry:
    """The entry that this is kept as. Raises InvalidInput, which names the field."""
    with refusals_told(), transaction.atomic():
        kept = public.keep(project.pk, proposal_of(told), by=by_of(actor))
        entry = public.shown(kept.entry)
        if kept.is_new:
            note(entry, "entry.proposed", actor=actor)
        else:
            ring_notebook(project.pk)
        return ProposedEntry(entry, is_new=kept.is_new, is_counted=kept.is_counted)


def proposal_of(told: EntryInput) -> Proposal:
    """The proposal; what rests on nothing is an occurrence of its own."""
    return Proposal(
        kind=told.kind,
        name=told.name,
        description=told.description,
        content=told.content,
        details=told.details,
        agent=told.agent,
        category=told.category,
        tags=told.tags,
        source=told.source,
        evidence=dict(told.evidence) or own_evidence(),
    )
