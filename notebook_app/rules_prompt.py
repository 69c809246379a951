"""What of the notebook goes into a system prompt: the entries that were seen and used most, inside the boundary."""

from collections.abc import Iterable
from dataclasses import dataclass
from uuid import UUID

from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from notebook_app.boundary import LONGEST_BLOCK, bounded, fitting, new_boundary
from notebook_app.entry_filter import EntryFilter
from notebook_app.kinds import EntryKind
from notebook_app.listing import FLAGGED
from notebook_app.models import Entry, Exposure
from notebook_app.ranking import Use, by_use, lift_of, use_rank
from notebook_app.shown import KeptEntry, shown
from notebook_app.telling import told_of

MOST_TOLD = 100
# Ranked among themselves: those that were seen most, and the newest, whose rank is for being new.
MOST_SEEN_RANKED = 400
NEWEST_RANKED = 100
MOST_FLAGGED_SHOWN = 50


@dataclass(frozen=True)
class RulesPrompt:
    """`text` is the block, empty where there is nothing to tell; `entries` are those in it, the first told first.

    `flagged` are approved entries that are left out until a curator has looked at what screening found, `flagged_count`
    how many there are; `too_long` is how many did not fit.
    """

    text: str
    boundary: str
    entries: tuple[KeptEntry, ...]
    flagged: tuple[KeptEntry, ...]
    flagged_count: int
    too_long: int


def rules_prompt(
    project_id: UUID,
    *,
    most: int = 10,
    least_occurrences: int = 1,
    kinds: tuple[EntryKind, ...] = (),
    agent: str = "",
    longest: int = LONGEST_BLOCK,
) -> RulesPrompt:
    """The approved entries that were seen at least so often, ranked by use, at most `most` of them."""
    meant = EntryFilter(kinds=kinds, agent=agent).among(project_id).filter(occurrences__gte=least_occurrences)
    chosen = [shown(row) for row in _ranked(meant.exclude(FLAGGED))[: min(most, MOST_TOLD)]]
    boundary = new_boundary()
    told = [told_of(entry, times=entry.occurrences) for entry in chosen]
    room = len(fitting(told, boundary=boundary, most=longest))
    flagged = meant.filter(FLAGGED)
    return RulesPrompt(
        text=bounded(told[:room], boundary=boundary, most=longest),
        boundary=boundary,
        entries=tuple(chosen[:room]),
        flagged=tuple(shown(row) for row in flagged.order_by("-occurrences", "-id")[:MOST_FLAGGED_SHOWN]),
        flagged_count=flagged.count(),
        too_long=len(chosen) - room,
    )


def has_approved(project_id: UUID) -> bool:
    """Whether the project's notebook has anything that a run could be told."""
    return EntryFilter().among(project_id).exclude(FLAGGED).exists()


def _ranked(rows: QuerySet[Entry]) -> list[Entry]:
    seen_most = list(rows.order_by("-occurrences", "-recalled", "-id")[:MOST_SEEN_RANKED])
    newest = rows.order_by("-created_at", "-id")[:NEWEST_RANKED] if len(seen_most) == MOST_SEEN_RANKED else []
    entries = list({row.pk: row for row in [*seen_most, *newest]}.values())
    lifts = _lifts(row.pk for row in entries)
    now = timezone.now()

    def rank(row: Entry) -> float:
        use = Use(occurrences=row.occurrences, recalled=row.recalled, lift=lifts.get(row.pk, 0.0))
        return use_rank(use, age_days=(now - row.last_seen_at).total_seconds() / 86_400)

    return by_use([(row, rank(row)) for row in entries])


def _lifts(entry_ids: Iterable[UUID]) -> dict[UUID, float]:
    """What is known of the difference that each makes to first attempts."""
    rows = (
        Exposure.objects.filter(entry__in=list(entry_ids), is_counted=True, succeeded__isnull=False)
        .values("entry_id")
        .annotate(
            given=Count("pk", filter=Q(is_withheld=False)),
            helped=Count("pk", filter=Q(is_withheld=False, succeeded=True)),
            withheld=Count("pk", filter=Q(is_withheld=True)),
            succeeded_without=Count("pk", filter=Q(is_withheld=True, succeeded=True)),
        )
    )
    return {
        row["entry_id"]: lift_of(
            given=row["given"],
            helped=row["helped"],
            withheld=row["withheld"],
            succeeded_without=row["succeeded_without"],
        )
        for row in rows
    }
