"""Look-alikes that are one matter: the open near-duplicates of a project in clusters, each settled by one decision."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any
from uuid import UUID

from django.db import transaction
from django.utils import timezone
from django.utils.translation import gettext as _

from notebook_app.changing import last_by, lock_notebook, lock_rows
from notebook_app.comparing import text_of
from notebook_app.kinds import By, ChangedMeanwhile, ClusterChanged, ConflictMovedOn, NoSuchConflict, Refused
from notebook_app.meaning import hash_of
from notebook_app.merging import merge
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, Settlement

# Which pairs are one cluster. Pure.

# More than anybody looks through at once, or one transaction should lock.
MOST_ENTRIES = 30
# Two groups are one where at least this share of the pairs between them look alike: of a chain a–b–c–d, whose ends may
# have little in common, three are taken, and the last stays a pair.
LEAST_LINKED = 0.5
MOST_PAIRS_READ = 5_000


@dataclass(frozen=True)
class Link:
    """An open near-duplicate: the conflict, its two entries, and how alike they are."""

    conflict: UUID
    first: UUID
    second: UUID
    likeness: float = 1.0


@dataclass(frozen=True)
class Cluster:
    """Three or more entries and the conflicts between them, both in the order of their ids; the first one leads."""

    conflicts: tuple[UUID, ...]
    entries: tuple[UUID, ...]

    @property
    def leader(self) -> UUID:
        return self.conflicts[0]


def clustered(links: Sequence[Link]) -> list[Cluster]:
    """The clusters of three and more; a pair that is in none stands alone. The likest are joined first."""
    beside = defaultdict[UUID, set[UUID]](set)
    for link in links:
        beside[link.first].add(link.second)
        beside[link.second].add(link.first)
    group = {entry: {entry} for entry in beside}
    in_order = sorted(links, key=lambda link: (-link.likeness, link.conflict))
    has_grown = True
    while has_grown:
        has_grown = False
        for link in in_order:
            one, other = group[link.first], group[link.second]
            if one is other or len(one) + len(other) > MOST_ENTRIES:
                continue
            linked = sum(len(beside[entry] & other) for entry in one)
            if linked >= LEAST_LINKED * len(one) * len(other):
                one |= other
                group.update(dict.fromkeys(other, one))
                has_grown = True
    within = defaultdict[int, list[UUID]](list)
    for link in links:
        if group[link.first] is group[link.second] and len(group[link.first]) > 2:
            within[id(group[link.first])].append(link.conflict)
    groups = {id(entries): entries for entries in group.values()}
    return [Cluster(tuple(sorted(conflicts)), tuple(sorted(groups[key]))) for key, conflicts in within.items()]


def open_clusters(project_id: UUID) -> list[Cluster]:
    """The project's clusters as they are now; beyond MOST_PAIRS_READ, the newest pairs are each their own."""
    rows = Conflict.objects.filter(project_id=project_id, state=ConflictState.OPEN, kind=ConflictKind.DUPLICATE)
    read = rows.order_by("created_at", "pk").values_list("pk", "first", "second", "text_likeness", "meaning_likeness")
    return clustered(
        [Link(pk, one, other, words + (meaning or 0)) for pk, one, other, words, meaning in read[:MOST_PAIRS_READ]]
    )


def cluster_of(project_id: UUID, conflict_id: UUID) -> Cluster | None:
    """The cluster that the open conflict is part of; None where it stands alone."""
    return next((one for one in open_clusters(project_id) if conflict_id in one.conflicts), None)


def followers(clusters: Iterable[Cluster]) -> list[UUID]:
    """The conflicts of the clusters that are not listed by themselves: all but the leading ones."""
    return [conflict for cluster in clusters for conflict in cluster.conflicts[1:]]


# Settling a cluster: some of its entries are merged into one, the others are kept, in one transaction.


@dataclass(frozen=True)
class ClusterSettling:
    """`gone` are merged into `stays`, in these `words` if any; without them all are kept.

    `versions` are those that were seen, of every entry of the cluster: what has joined or left meanwhile is noticed.
    """

    versions: dict[UUID, int]
    stays: UUID | None = None
    gone: frozenset[UUID] = frozenset()
    words: dict[str, Any] = field(default_factory=dict)
    reason: str = ""


@transaction.atomic
def settle_cluster(project_id: UUID, conflict_id: UUID, settling: ClusterSettling, *, by: By) -> Conflict:
    """The settled conflict that led there. All of its cluster is settled with it, and is taken back with it.

    Raises NoSuchConflict, ConflictMovedOn, ClusterChanged, ChangedMeanwhile with who changed an entry, or Refused.
    """
    lock_notebook(project_id)
    asked = Conflict.objects.filter(project_id=project_id, pk=conflict_id).first()
    if asked is None:
        raise NoSuchConflict(conflict_id)
    if asked.state != ConflictState.OPEN:
        raise ConflictMovedOn(state=asked.state, by=asked.settled_by_label)
    cluster = cluster_of(project_id, conflict_id)
    if cluster is None or set(cluster.entries) != settling.versions.keys():
        raise ClusterChanged(conflict_id)
    entries = lock_rows(project_id, cluster.entries)
    for entry_id, version in settling.versions.items():
        if entry_id not in entries or entries[entry_id].version != version:
            seen = entries.get(entry_id)
            raise ChangedMeanwhile(version=seen.version if seen else version, by=last_by(seen) if seen else "")
    if settling.gone and settling.stays not in set(cluster.entries) - settling.gone:
        raise Refused(_("one of the entries of the cluster that is not merged itself"), field="stays")
    if not settling.gone <= set(cluster.entries):
        raise Refused(_("entries of the cluster"), field="gone")
    if settling.words and not settling.gone:
        raise Refused(_("only a merge is put into other words"), field="words")
    rows = Conflict.objects.select_for_update(of=("self",)).filter(pk__in=cluster.conflicts).order_by("pk")
    _settle(list(rows), entries, settling, by=by)
    asked.refresh_from_db()
    return asked


def _settle(rows: list[Conflict], entries: dict[UUID, Entry], settling: ClusterSettling, *, by: By) -> None:
    """Merges and notes on each conflict what became of it: `act` is shared by all, `gone` is undone by that row."""
    act, now = str(rows[0].pk), timezone.now()
    hashes = {entry_id: hash_of(text_of(entry)) for entry_id, entry in entries.items()}
    told_by = _rows_of_gone(rows, settling)
    for place, (entry_id, row) in enumerate(told_by.items(), 1):
        assert settling.stays is not None
        words = settling.words if place == len(told_by) else {}
        merge(row.project_id, gone_id=entry_id, into_id=settling.stays, by=by, reason=settling.reason, **words)
    gone_by_row = {row.pk: (place, entry_id) for place, (entry_id, row) in enumerate(told_by.items())}
    for row in rows:
        row.why |= {"act": act, "hashes": [hashes[row.first_id], hashes[row.second_id]]}
        if row.pk in gone_by_row:
            place, entry_id = gone_by_row[row.pk]
            row.why |= {"gone": str(entry_id), "place": place}
            row.settlement = Settlement.MERGED
        elif not {row.first_id, row.second_id} & settling.gone:
            row.settlement = Settlement.KEPT_BOTH
        else:
            # One of the two is gone by another row.
            row.state = ConflictState.MOOT
            row.save()
            continue
        row.state, row.reason, row.settled_at = ConflictState.SETTLED, settling.reason, now
        row.settled_by_label = by.label[:200]
        row.save()


def _rows_of_gone(rows: list[Conflict], settling: ClusterSettling) -> dict[UUID, Conflict]:
    """For each entry that is merged a conflict of its own that tells so: the tree of the pairs, from who stays."""
    reached, found = {settling.stays} if settling.gone else set(), dict[UUID, Conflict]()
    waiting = list(rows) if settling.gone else []
    while waiting:
        row = next((row for row in waiting if (row.first_id in reached) != (row.second_id in reached)), None)
        if row is None:
            break
        waiting.remove(row)
        entry_id = row.second_id if row.first_id in reached else row.first_id
        reached.add(entry_id)
        if entry_id in settling.gone:
            found[entry_id] = row
    return found
