"""Which of a project's entries are meant, by what anybody may filter by and nothing else."""

from dataclasses import dataclass
from typing import Any
from uuid import UUID

from django.db.models import F, Q, QuerySet

from notebook_app.identity import nfc
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
            rows = rows.filter(category=nfc(self.category))
        if self.agent:
            rows = rows.filter(covering(self.agent))
        return rows.filter(tags__contains=[nfc(tag) for tag in self.tags]) if self.tags else rows


def covering(agent: str) -> Q:
    """Return the condition that an entry's scope covers `agent`; an empty name is an agent without one.

    What was learned without an agent's name applies to every agent. What several were seen to need applies to all of
    these, unless a curator has set an agent that is none of them.
    """
    agent = nfc(agent)
    return Q(agent__in=("", agent)) | Q(agents__overlap=["", agent], agents__contains=[F("agent")])


def beyond(row: object, order: tuple[str, ...]) -> Q:
    """What comes after `row`: equal in the first fields of the order, and further on in the next."""
    found, equal = Q(), Q()
    for field in order:
        name = field.lstrip("-")
        value: Any = getattr(row, name)
        found |= equal & Q(**{f"{name}__{'lt' if field.startswith('-') else 'gt'}": value})
        equal &= Q(**{name: value})
    return found
