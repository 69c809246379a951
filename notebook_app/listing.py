"""Lists of a project's entries: what somebody wants to see of them, in which order, page by page."""

from dataclasses import dataclass, field
from datetime import datetime
from functools import reduce
from operator import or_
from typing import Any
from uuid import UUID

from django.db import models
from django.db.models import Exists, Func, OuterRef, Q, QuerySet, TextField
from django.db.models.functions import Coalesce
from django.utils.translation import gettext_lazy as _

from notebook_app.entry_filter import EntryFilter, beyond
from notebook_app.identity import nfc
from notebook_app.kinds import WAITING, EntryState
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, EntryVersion, Evidence

# Nobody needs more than "999+", and counting further costs time.
MOST_COUNTED = 1_000
# What a form of filters offers is what the newest entries have.
LOOKED_AT = 2_000
MOST_OFFERED = 50
FLAGGED = ~Q(flags=[]) & Q(is_cleared=False)
# In no prompt until a curator has decided.
EXCLUDED = FLAGGED & Q(is_used_while_flagged=False)

SEARCHED = ("name", "description", "content")


class Composed(Func):
    """A text in NFC: descriptions and contents are stored as they were written."""

    template = "normalize(%(expressions)s, NFC)"
    output_field = TextField()


class EntryOrder(models.TextChoices):
    FREQUENT = "frequent", _("Most frequent first")
    NEWEST = "newest", _("Newest first")
    OLDEST = "oldest", _("Oldest first")
    SEEN = "seen", _("Recently seen first")
    RECALLED = "recalled", _("Most injected first")
    NAME = "name", _("By name")


ORDERS: dict[EntryOrder, tuple[str, ...]] = {
    EntryOrder.FREQUENT: ("-occurrences", "-recalled", "-id"),
    EntryOrder.NEWEST: ("-created_at", "-id"),
    EntryOrder.OLDEST: ("created_at", "id"),
    EntryOrder.SEEN: ("-last_seen_at", "-id"),
    EntryOrder.RECALLED: ("-recalled", "-id"),
    EntryOrder.NAME: ("name", "id"),
}


@dataclass(frozen=True)
class Listing:
    """Which entries, in which order. `words` stand in them as they are, or `ids` were found by these otherwise.

    `agent` is the entry's own agent, or one that it was seen at. An EntryFilter also lets through what applies to all.
    """

    among: EntryFilter = field(default_factory=lambda: EntryFilter(states=()))
    order: EntryOrder = EntryOrder.NEWEST
    words: str = ""
    ids: tuple[UUID, ...] = ()
    agent: str = ""
    owner_id: int | None = None
    is_unowned: bool = False
    is_flagged: bool = False
    # Proposals, and approved entries that screening has flagged.
    is_to_decide: bool = False
    is_in_conflict: bool = False
    # Entries with evidence that holds all of one of these, such as {"run": …}.
    resting_on: tuple[dict[str, str], ...] = ()
    # Approved before then, and given to nobody since.
    unused_since: datetime | None = None

    def rows(self, project_id: UUID) -> QuerySet[Entry]:
        """The entries that are meant, in no order."""
        rows = self.among.among(project_id)
        if self.words:
            # All of the words, each somewhere in what the entry says.
            every = Q()
            for word in nfc(self.words).split():
                every &= reduce(or_, (Q(**{f"{name}_nfc__icontains": word}) for name in SEARCHED))
            rows = rows.alias(**{f"{name}_nfc": Composed(name) for name in SEARCHED})
            rows = rows.filter(every | Q(pk__in=self.ids))
        if self.agent:
            agent = nfc(self.agent)
            rows = rows.filter(Q(agent=agent) | Q(agents__contains=[agent]))
        if self.owner_id is not None or self.is_unowned:
            rows = rows.filter(owner=self.owner_id)
        if self.is_to_decide:
            rows = rows.filter(Q(state__in=WAITING) | Q(state=EntryState.APPROVED) & FLAGGED)
        if self.is_flagged:
            rows = rows.filter(FLAGGED)
        if self.is_in_conflict:
            this = Q(first=OuterRef("pk")) | Q(second=OuterRef("pk"))
            open_conflicts = Q(
                Exists(Conflict.objects.filter(this, state=ConflictState.OPEN).exclude(kind=ConflictKind.REFINEMENT))
            )
            rows = rows.filter(open_conflicts)
        if self.resting_on:
            wanted = reduce(or_, (Q(refs__contains=refs) for refs in self.resting_on))
            rows = rows.filter(pk__in=Evidence.objects.filter(wanted, project_id=project_id).values("entry"))
        if self.unused_since is not None:
            unused = Q(last_recalled_at=None) | Q(last_recalled_at__lt=self.unused_since)
            rows = rows.filter(unused, state=EntryState.APPROVED, decided_at__lt=self.unused_since)
        return rows


@dataclass(frozen=True)
class EntryPage:
    """The entries of one page; `has_more` after the last of them."""

    entries: list[Entry]
    has_more: bool

    @property
    def last(self) -> UUID | None:
        return self.entries[-1].id if self.has_more else None


def page_of_entries(project_id: UUID, wanted: Listing, *, limit: int, after: UUID | None = None) -> EntryPage:
    """The page that begins after the entry `after`, whatever became of that one; else the first."""
    rows = wanted.rows(project_id).order_by(*ORDERS[wanted.order]).defer("search")
    if after is not None:
        begun = Entry.objects.filter(project_id=project_id, pk=after).defer("search").first()
        rows = rows.filter(beyond(begun, ORDERS[wanted.order])) if begun else rows
    found = list(rows[: limit + 1])
    return EntryPage(found[:limit], has_more=len(found) > limit)


def count_entries(project_id: UUID, wanted: Listing) -> int:
    """How many there are, none counted past the first that is too many to tell."""
    return wanted.rows(project_id).values("pk")[:MOST_COUNTED].count()


def count_by_state(project_id: UUID) -> dict[EntryState, int]:
    """How many entries each state has, none counted past the first that is too many to tell."""
    return {
        state: Entry.objects.filter(project_id=project_id, state=state).values("pk")[:MOST_COUNTED].count()
        for state in EntryState
    }


def in_open_conflict(entry_ids: list[UUID]) -> frozenset[UUID]:
    """Those of the entries that have a conflict which nobody has settled."""
    either = Q(first__in=entry_ids) | Q(second__in=entry_ids)
    rows = Conflict.objects.filter(either, state=ConflictState.OPEN).exclude(kind=ConflictKind.REFINEMENT)
    return frozenset(one for pair in rows.values_list("first_id", "second_id") for one in pair) & frozenset(entry_ids)


@dataclass(frozen=True)
class Offered:
    """What the newest entries are labelled with, for a form of filters."""

    agents: list[str]
    categories: list[str]
    tags: list[str]


def labels_in_use(project_id: UUID) -> Offered:
    """The agents, categories and tags of the newest entries, in alphabetical order."""
    newest = Entry.objects.filter(project_id=project_id).order_by("-created_at", "-id")[:LOOKED_AT]
    rows = list(newest.values_list("agents", "agent", "category", "tags"))
    return Offered(
        agents=_first({agent for agents, own, _, _ in rows for agent in (*agents, own)}),
        categories=_first({category for _, _, category, _ in rows}),
        tags=_first({tag for _, _, _, tags in rows for tag in tags}),
    )


def _first(words: set[str]) -> list[str]:
    return sorted(words - {""})[:MOST_OFFERED]


# Rows of the notebook for whoever shows lists page by page in an order of their own; to be read, not changed.


def entry_rows(project_id: UUID, wanted: Listing) -> QuerySet[Any]:
    """The entries that are meant, in no order."""
    return wanted.rows(project_id).defer("search")


def stale_rows(project_id: UUID, wanted: Listing) -> QuerySet[Any]:
    """Those of them that are approved, each with `unused_since`: when it was last told anybody, or else approved."""
    rows = entry_rows(project_id, wanted).filter(state=EntryState.APPROVED)
    annotated: QuerySet[Any] = rows.annotate(unused_since=Coalesce("last_recalled_at", "decided_at", "created_at"))
    return annotated


def version_rows(project_id: UUID, entry_id: UUID) -> QuerySet[Any]:
    """The versions of the project's entry."""
    return EntryVersion.objects.filter(entry=entry_id, entry__project_id=project_id)


def evidence_rows(project_id: UUID, entry_id: UUID) -> QuerySet[Any]:
    """The evidence of the project's entry, with `refs` and `created_at`."""
    return Evidence.objects.filter(entry=entry_id, project_id=project_id)


def owners() -> set[tuple[UUID, int]]:
    """Return the project and user id of everybody who owns an entry."""
    owned = Entry.objects.filter(owner__isnull=False).order_by()
    return set(owned.values_list("project_id", "owner_id").distinct())
