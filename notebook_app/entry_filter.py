"""Which of a project's entries are meant, by what anybody may filter by and nothing else."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import Q, QuerySet

from notebook_app.kinds import EntryKind, EntryState
from notebook_app.models import Entry


@dataclass(frozen=True)
class EntryFilter:
    """Entries that meet every condition given; what is empty is no condition. Of `tags` an entry has all."""

    states: tuple[EntryState, ...] = (EntryState.APPROVED,)
    kinds: tuple[EntryKind, ...] = ()
    category: str = ""
    agent: str = ""
    tags: tuple[str, ...] = ()

    def among(self, project_id: UUID) -> QuerySet[Entry]:
        """The rows of the project that are meant."""
        rows = Entry.objects.filter(project_id=project_id)
        if self.states:
            rows = rows.filter(state__in=self.states)
        if self.kinds:
            rows = rows.filter(kind__in=self.kinds)
        if self.category:
            rows = rows.filter(category=self.category)
        if self.agent:
            # What was learned without an agent's name holds for every agent.
            rows = rows.filter(agent__in=("", self.agent))
        return rows.filter(tags__contains=list(self.tags)) if self.tags else rows


def beyond(row: object, order: tuple[str, ...]) -> Q:
    """What comes after `row`: equal in the first fields of the order, and further on in the next."""
    found, equal = Q(), Q()
    for field in order:
        name = field.lstrip("-")
        value: Any = getattr(row, name)
        found |= equal & Q(**{f"{name}__{'lt' if field.startswith('-') else 'gt'}": value})
        equal &= Q(**{name: value})
    return found
