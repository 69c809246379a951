"""Look-alikes are one cluster with one decision: which pairs join, and settling and undoing all of it at once."""

from dataclasses import replace
from functools import partial
from uuid import UUID, uuid4

import pytest

from notebook_app.clusters import (
    MOST_ENTRIES,
    Cluster,
    ClusterSettling,
    Link,
    cluster_of,
    clustered,
    open_clusters,
    settle_cluster,
)
from notebook_app.comparing import compare
from notebook_app.conflicts import Settling, count_open_conflicts, list_conflicts, settle_conflict, unsettle_conflict
from notebook_app.curation import edit, reject
from notebook_app.kinds import By, ChangedMeanwhile, ClusterChanged, ConflictMovedOn, NoSuchConflict, Refused
from notebook_app.models import Conflict, ConflictKind, ConflictState, Entry, Settlement
from tests.notebook.test_comparing import proposed
from tests.reviews.test_reviews import together

ANN, BEN = By("ann"), By("ben")
TEXTS = (
    "Run the whole test suite before each commit.",
    "The whole test suite is run before each commit.",
    "Run the whole test suite before a commit.",
    "Before each commit, run the whole test suite.",
)


def link(first: int, second: int, likeness: float = 1.0) -> Link:
    return Link(uuid4(), UUID(int=first), UUID(int=second), likeness)


def groups(*links: Link) -> list[list[int]]:
    return sorted([entry.int for entry in one.entries] for one in clustered(links))


def test_look_alikes_are_one_cluster_and_a_pair_is_none() -> None:
    assert groups(link(1, 2), link(2, 3), link(1, 3), link(8, 9)) == [[1, 2, 3]]


def test_a_chain_does_not_go_on_for_ever() -> None:
    found = groups(link(1, 2, 0.9), link(2, 3, 0.8), link(3, 4, 0.7), link(4, 5, 0.6), link(5, 6, 0.5))
    assert max(map(len, found)) <= 3


def test_two_groups_with_one_pair_between_them_stay_two() -> None:
    first = [link(a, b) for a, b in ((1, 2), (1, 3), (2, 3))]
    second = [link(a, b) for a, b in ((7, 8), (7, 9), (8, 9))]
    assert groups(*first, *second, link(3, 7, 0.1)) == [[1, 2, 3], [7, 8, 9]]


def test_a_cluster_has_a_bound() -> None:
    every = [link(a, b) for a in range(1, 41) for b in range(a + 1, 41)]
    assert max(map(len, groups(*every))) <= MOST_ENTRIES


def test_twelve_look_alikes_with_some_pairs_missing_are_one() -> None:
    every = [link(a, b) for a in range(1, 13) for b in range(a + 1, 13) if (a + b) % 7]
    assert groups(*every) == [list(range(1, 13))]


@pytest.fixture
def project() -> UUID:
    return uuid4()


def look_alikes(project: UUID, *, many: int = 4) -> Cluster:
    """The cluster of as many notes that say the same."""
    entries = [proposed(project, text, name=f"{number}: tests") for number, text in enumerate(TEXTS[:many])]
    for number, second in enumerate(entries):
        for first in entries[:number]:
            one, other = sorted((first, second), key=lambda entry: entry.pk)
            Conflict.objects.create(
                project_id=project, first=one, second=other, kind=ConflictKind.DUPLICATE, text_likeness=0.9
            )
    [cluster] = open_clusters(project)
    return cluster


def seen(cluster: Cluster) -> dict[UUID, int]:
    return dict(Entry.objects.filter(pk__in=cluster.entries).values_list("pk", "version"))


def merging(cluster: Cluster, *gone: UUID, **more: object) -> ClusterSettling:
    wanted = ClusterSettling(versions=seen(cluster), stays=cluster.entries[0], gone=frozenset(gone))
    return replace(wanted, **more)  # type: ignore[arg-type]


def states(cluster: Cluster) -> list[str]:
    return list(Entry.objects.filter(pk__in=cluster.entries).order_by("pk").values_list("state", flat=True))


database = pytest.mark.django_db(transaction=True)


@database
def test_a_cluster_counts_and_is_listed_once(project: UUID) -> None:
    cluster = look_alikes(project)
    assert len(cluster.conflicts) == 6
    assert count_open_conflicts(project) == 1
    assert [one.id for one in list_conflicts(project, limit=10)] == [cluster.leader]


@database
def test_comparing_makes_the_pairs_of_a_cluster(project: UUID) -> None:
    entries = [proposed(project, text) for text in TEXTS]
    for entry in entries:
        compare(project, entry.pk)
    [cluster] = open_clusters(project)
    assert set(cluster.entries) == {entry.pk for entry in entries}


@database
def test_all_are_merged_in_one_act_and_taken_back_in_one(project: UUID) -> None:
    cluster = look_alikes(project)
    stays, *gone = cluster.entries
    before = Entry.objects.get(pk=stays)
    settled = settle_cluster(
        project, cluster.leader, merging(cluster, *gone, words={"content": "Run all tests first."}), by=ANN
    )
    assert (settled.state, count_open_conflicts(project)) == (ConflictState.SETTLED, 0)
    now = Entry.objects.get(pk=stays)
    assert (now.occurrences, now.content) == (4, "Run all tests first.")
    assert states(cluster)[1:] == ["merged"] * 3
    merged = Conflict.objects.filter(project_id=project, settlement=Settlement.MERGED)
    assert {UUID(row.why["gone"]) for row in merged} == set(gone)

    unsettle_conflict(project, merged[1].pk, by=BEN)
    back = Entry.objects.get(pk=stays)
    assert (back.occurrences, back.content) == (before.occurrences, before.content)
    assert "merged" not in states(cluster)
    assert open_clusters(project) == [cluster]
    assert count_open_conflicts(project) == 1


@database
def test_some_are_merged_and_the_others_kept(project: UUID) -> None:
    cluster = look_alikes(project)
    stays, gone, *kept = cluster.entries
    settle_cluster(project, cluster.leader, merging(cluster, gone, reason="two teams"), by=ANN)
    assert count_open_conflicts(project) == 0
    both = Conflict.objects.filter(project_id=project, settlement=Settlement.KEPT_BOTH)
    assert {frozenset((row.first_id, row.second_id)) for row in both} == {
        frozenset(pair) for pair in ((stays, kept[0]), (stays, kept[1]), (kept[0], kept[1]))
    }
    for entry_id in kept:
        assert compare(project, entry_id) == []


@database
def test_all_can_be_kept(project: UUID) -> None:
    cluster = look_alikes(project)
    settle_cluster(project, cluster.leader, ClusterSettling(versions=seen(cluster), reason="why not"), by=ANN)
    assert count_open_conflicts(project) == 0
    assert "merged" not in states(cluster)
    unsettle_conflict(project, cluster.conflicts[-1], by=ANN)
    assert open_clusters(project) == [cluster]


@database
def test_settled_again_after_an_undo_it_can_be_undone_again(project: UUID) -> None:
    cluster = look_alikes(project, many=3)
    for _ in range(2):
        settle_cluster(project, cluster.leader, merging(cluster, *cluster.entries[1:]), by=ANN)
        merged = Conflict.objects.filter(project_id=project, settlement=Settlement.MERGED).first()
        assert merged is not None
        unsettle_conflict(project, merged.pk, by=ANN)
    assert "merged" not in states(cluster)
    assert Entry.objects.get(pk=cluster.entries[0]).occurrences == 1


@database
def test_of_two_curators_at_once_one_settles(project: UUID) -> None:
    cluster = look_alikes(project)
    wanted = [merging(cluster, *cluster.entries[1:]), merging(cluster, cluster.entries[1])]
    failed: list[type[Exception]] = []

    def settle(settling: ClusterSettling) -> None:
        try:
            settle_cluster(project, cluster.leader, settling, by=ANN)
        except (ConflictMovedOn, ClusterChanged, ChangedMeanwhile) as error:
            failed.append(type(error))

    together(*[partial(settle, one) for one in wanted])
    assert len(failed) == 1
    assert Conflict.objects.filter(project_id=project, state=ConflictState.OPEN).count() == 0


@database
def test_an_entry_that_changed_meanwhile_stops_all_of_it(project: UUID) -> None:
    cluster = look_alikes(project)
    wanted = merging(cluster, *cluster.entries[1:])
    edit(project, cluster.entries[2], by=BEN, tags=["other"])
    with pytest.raises(ChangedMeanwhile) as refused:
        settle_cluster(project, cluster.leader, wanted, by=ANN)
    assert refused.value.by == "ben"
    assert "merged" not in states(cluster)
    assert count_open_conflicts(project) == 1


@database
def test_an_entry_that_left_the_cluster_meanwhile_stops_it(project: UUID) -> None:
    cluster = look_alikes(project)
    wanted = merging(cluster, *cluster.entries[1:])
    reject(project, cluster.entries[3], by=BEN)
    # The conflict that led may be moot with it.
    still_open = Conflict.objects.filter(project_id=project, state=ConflictState.OPEN).first()
    assert still_open is not None
    with pytest.raises(ClusterChanged):
        settle_cluster(project, still_open.pk, wanted, by=ANN)
    assert states(cluster).count("rejected") == 1
    assert "merged" not in states(cluster)


@database
def test_entries_of_another_project_are_out_of_reach(project: UUID) -> None:
    cluster, elsewhere = look_alikes(project), look_alikes(uuid4())
    with pytest.raises(NoSuchConflict):
        settle_cluster(uuid4(), cluster.leader, merging(cluster, *cluster.entries[1:]), by=ANN)
    with pytest.raises(Refused):
        settle_cluster(project, cluster.leader, merging(cluster, elsewhere.entries[0]), by=ANN)
    stranger = merging(cluster, cluster.entries[1], stays=elsewhere.entries[0])
    with pytest.raises(Refused):
        settle_cluster(project, cluster.leader, stranger, by=ANN)
    more = merging(cluster, cluster.entries[1], versions=seen(cluster) | seen(elsewhere))
    with pytest.raises(ClusterChanged):
        settle_cluster(project, cluster.leader, more, by=ANN)
    assert "merged" not in states(cluster) + states(elsewhere)


@database
def test_a_pair_of_a_cluster_that_is_settled_alone_leaves_the_rest(project: UUID) -> None:
    cluster = look_alikes(project)
    settle_conflict(project, cluster.conflicts[0], Settling(Settlement.KEPT_BOTH, reason="r"), by=ANN)
    assert cluster_of(project, cluster.conflicts[0]) is None
    assert count_open_conflicts(project) >= 1
