"""What is learned from work that has ended, kept unless it is nothing new: each piece of work speaks for a thing once.

Whoever did the work may have been told of the notebook, and says it back: that is no occurrence, and no entry.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from uuid import UUID

from django.db import transaction
from django.db.models import Q, QuerySet

from notebook_app.changing import lock_notebook, lock_rows
from notebook_app.identity import same_text
from notebook_app.kinds import HOLDING, EntryKind, words_of
from notebook_app.models import Entry, Evidence
from notebook_app.proposing import Proposal, ids_known, keep, refs_key, take_back_where

MEMORY_KINDS = (EntryKind.RULE, EntryKind.FACT, EntryKind.PREFERENCE)
MOST_NAMES = 100
# Shorter texts are the same by chance.
SHORTEST_TELLING = 12


class Became(StrEnum):
    """What became of something that was learned."""

    ADDED = "added"
    COUNTED = "counted"
    REFUSED = "refused"


class WhyRefused(StrEnum):
    """Why something that was learned was neither added nor counted."""

    TOLD = "told"
    COUNTED_BEFORE = "counted_before"
    NAME_TAKEN = "name_taken"


@dataclass(frozen=True)
class Learned:
    """What became of a proposal, on which entry, and why not where it was refused."""

    became: Became
    entry_id: UUID | None = None
    why: WhyRefused | None = None


@transaction.atomic
def keep_learned(
    project_id: UUID, proposals: Sequence[Proposal], *, work: Sequence[Mapping[str, str]], told: Iterable[str]
) -> list[Learned]:
    """What became of each proposal, in their order.

    `work` names what they were learned from, as evidence does, with the work that it goes on from: what was counted for
    any of it is not counted again. `told` are the names under which lessons were drawn for it: what those said is not
    learned from it. A memory of which the name is taken by another is refused.
    """
    lock_notebook(project_id)
    lock_rows(project_id, ids_known(project_id, proposals))
    told_entries = list(
        Entry.objects.filter(
            project_id=project_id, exposures__subject__in=list(told), exposures__is_withheld=False
        ).distinct()
    )
    return [_learned(project_id, one, work=work, told=told_entries) for one in proposals]


def _learned(
    project_id: UUID, proposal: Proposal, *, work: Sequence[Mapping[str, str]], told: Sequence[Entry]
) -> Learned:
    known = ids_known(project_id, [proposal])
    again = next((entry for entry in told if entry.pk in known or _says_the_same(proposal, entry)), None)
    if again is not None:
        return Learned(Became.REFUSED, again.pk, WhyRefused.TOLD)
    # The entry that has evidence of some of this work already from somebody who looked back at it.
    of_work = Q()
    for refs in work:
        of_work |= Q(refs__contains=dict(refs))
    found = Evidence.objects.filter(of_work, entry__in=list(known), refs__has_key="reflector")
    counted = found.values_list("entry_id", flat=True).first() if work else None
    if counted is not None:
        return Learned(Became.REFUSED, counted, WhyRefused.COUNTED_BEFORE)
    if proposal.kind in MEMORY_KINDS:
        same_name = _memories(project_id).filter(name__iexact=same_text(proposal.name))
        holder = same_name.values_list("pk", flat=True).first()
        if holder is not None:
            return Learned(Became.REFUSED, holder, WhyRefused.NAME_TAKEN)
    kept = keep(project_id, proposal)
    if not kept.is_counted:
        return Learned(Became.REFUSED, kept.entry.pk, WhyRefused.COUNTED_BEFORE)
    return Learned(Became.ADDED if kept.is_new else Became.COUNTED, kept.entry.pk)


def _says_the_same(proposal: Proposal, entry: Entry) -> bool:
    """Return True if the entry holds all of the proposal's advice, or its description if it has none.

    Names and summaries are worded anew each time; the same advice under them is an echo.
    """
    said = [proposal.content, *words_of(proposal.details)]
    ours = {same_text(text) for text in (said if any(said) else [proposal.description])} - {""}
    theirs = {same_text(text) for text in entry.texts}
    if not ours:
        return same_text(proposal.name) in theirs
    return ours <= theirs and any(len(text) >= SHORTEST_TELLING for text in ours)


def memory_names(project_id: UUID) -> list[tuple[str, str]]:
    """Name and description of the memories that are held, the newest of them, newest first."""
    return list(_memories(project_id).order_by("-created_at", "-id").values_list("name", "description")[:MOST_NAMES])


def _memories(project_id: UUID) -> QuerySet[Entry]:
    kinds = [kind.value for kind in MEMORY_KINDS]
    return Entry.objects.filter(project_id=project_id, kind__in=kinds, state__in=HOLDING)


@transaction.atomic
def unlearn(project_id: UUID, *, refs: dict[str, Any]) -> None:
    """Takes back all that was proposed with this evidence, as far as nobody has decided on it."""
    lock_notebook(project_id)
    spoken_for = Evidence.objects.filter(project_id=project_id, refs_key=refs_key(refs))
    for entry_id in list(spoken_for.order_by("entry_id").values_list("entry_id", flat=True)):
        take_back_where(project_id, Q(pk=entry_id), refs=refs)
