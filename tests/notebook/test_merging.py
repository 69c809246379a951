"""Merged entries have the occurrences and evidence of both, and give them back when they are parted."""

from uuid import UUID, uuid4

import pytest

from notebook_app import curation, merging
from notebook_app.kinds import By, Change, ChangedMeanwhile, EntryKind, EntryState, NotPossibleNow, Refused
from notebook_app.models import Entry
from notebook_app.proposing import Proposal, keep
from tests.notebook.at_once import at_once
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db

ANNA = By("anna")


def rule(name: str, run: str = "") -> Proposal:
    return Proposal(kind=EntryKind.RULE, name=name, evidence={"run": run} if run else {})


def found(project_id: UUID, name: str, *runs: str) -> Entry:
    return [keep(project_id, rule(name, run)).entry for run in runs][-1]


def runs_of(entry: Entry) -> set[str]:
    return {one.refs["run"] for one in entry.evidence.all()}


def now(entry: Entry) -> Entry:
    return Entry.objects.get(pk=entry.pk)


def test_merged_entries_count_what_both_rest_on_once() -> None:
    project_id = uuid4()
    gone, into = found(project_id, "A", "1", "2", "3"), found(project_id, "B", "3", "4")
    merged = merging.merge(project_id, gone_id=gone.pk, into_id=into.pk, by=ANNA, content="Both of it")
    assert (merged.occurrences, runs_of(merged), merged.content) == (4, {"1", "2", "3", "4"}, "Both of it")
    assert (now(gone).state, now(gone).merged_into_id, runs_of(gone)) == ("merged", into.pk, {"1", "2", "3"})
    # One change of each is one version of each.
    assert (now(gone).version, merged.version) == (2, 2)


def test_what_is_found_again_is_counted_on_the_entry_that_stays_through_every_merge() -> None:
    project_id = uuid4()
    one, two, three = (found(project_id, name, name) for name in "ABC")
    merging.merge(project_id, gone_id=one.pk, into_id=two.pk, by=ANNA)
    merging.merge(project_id, gone_id=two.pk, into_id=three.pk, by=ANNA)
    again = keep(project_id, rule(" A ", "new"))
    assert (again.entry.pk, again.is_new, again.entry.occurrences) == (three.pk, False, 4)


def test_reopening_takes_from_every_entry_of_the_chain_what_was_lent() -> None:
    project_id = uuid4()
    one, two, three = found(project_id, "A", "1", "2"), found(project_id, "B", "2", "3"), found(project_id, "C", "4")
    merging.merge(project_id, gone_id=one.pk, into_id=two.pk, by=ANNA)
    merging.merge(project_id, gone_id=two.pk, into_id=three.pk, by=ANNA)
    keep(project_id, rule("A", "since"))
    assert runs_of(three) == {"1", "2", "3", "4", "since"}
    merging.reopen(project_id, one.pk, by=ANNA)
    assert (now(one).state, now(one).occurrences, now(one).merged_into_id) == ("proposed", 2, None)
    assert (now(two).occurrences, runs_of(two)) == (2, {"2", "3"})
    assert (now(three).occurrences, runs_of(three)) == (4, {"2", "3", "4", "since"})
    assert three.versions.get(number=now(three).version).change == Change.RELEASED
    assert keep(project_id, rule("A", "later")).entry.pk == one.pk


def test_an_entry_can_be_merged_back_into_the_one_that_came_out_of_it() -> None:
    project_id = uuid4()
    one, two = found(project_id, "A", "1"), found(project_id, "B", "2")
    merging.merge(project_id, gone_id=one.pk, into_id=two.pk, by=ANNA)
    merging.reopen(project_id, one.pk, by=ANNA)
    merging.merge(project_id, gone_id=two.pk, into_id=one.pk, by=ANNA)
    assert (now(one).occurrences, runs_of(one)) == (2, {"1", "2"})
    assert keep(project_id, rule("B", "3")).entry.pk == one.pk


def test_a_superseded_entry_is_counted_by_itself_and_stays_retired() -> None:
    project_id = uuid4()
    tabs, spaces = found(project_id, "Use tabs", "1"), found(project_id, "Use spaces", "2")
    stays = merging.supersede(project_id, gone_id=tabs.pk, by_id=spaces.pk, by=ANNA)
    assert (now(tabs).state, now(tabs).merged_into_id) == ("retired", spaces.pk)
    again = keep(project_id, rule("Use tabs", "3")).entry
    assert (again.pk, again.state, again.occurrences) == (tabs.pk, "retired", 2)
    assert now(stays).occurrences == 1


def test_an_entry_cannot_be_merged_into_itself_or_into_what_no_longer_holds() -> None:
    project_id = uuid4()
    one, two, three = (make_entry(project_id) for _ in range(3))
    with pytest.raises(Refused):
        merging.merge(project_id, gone_id=one.pk, into_id=one.pk, by=ANNA)
    merging.merge(project_id, gone_id=two.pk, into_id=three.pk, by=ANNA)
    with pytest.raises(NotPossibleNow):
        merging.merge(project_id, gone_id=one.pk, into_id=two.pk, by=ANNA)
    assert now(one).state == EntryState.PROPOSED


def test_a_part_rests_on_the_evidence_that_is_chosen() -> None:
    project_id = uuid4()
    entry = found(project_id, "A and B", "1", "2", "3")
    chosen = list(entry.evidence.filter(refs__run__in=["1", "3"]).values_list("pk", flat=True))
    part = merging.split(project_id, entry.pk, into=rule("B"), by=ANNA, evidence_ids=chosen)
    assert (part.occurrences, runs_of(part)) == (2, {"1", "3"})
    assert (now(entry).occurrences, now(entry).version) == (3, 2)
    whole = merging.split(project_id, entry.pk, into=rule("C", "1"), by=ANNA)
    assert (whole.occurrences, runs_of(whole)) == (3, {"1", "2", "3"})


def test_a_part_that_is_known_already_or_rests_on_others_evidence_is_refused_whole() -> None:
    project_id = uuid4()
    entry, other = found(project_id, "A and B", "1"), found(project_id, "B", "2")
    with pytest.raises(Refused) as refused:
        merging.split(project_id, entry.pk, into=rule("B", "9"), by=ANNA)
    assert (refused.value.field, now(other).occurrences, now(entry).version) == ("name", 1, 1)
    strange = other.evidence.get().pk
    with pytest.raises(Refused) as refused:
        merging.split(project_id, entry.pk, into=rule("C"), by=ANNA, evidence_ids=[strange])
    assert refused.value.field == "evidence_ids"
    assert Entry.objects.filter(project_id=project_id).count() == 2


@pytest.mark.django_db(transaction=True)
def test_two_entries_merged_into_each_other_at_once_are_merged_once() -> None:
    project_id = uuid4()
    pairs = [(make_entry(project_id), make_entry(project_id)) for _ in range(8)]

    def merge(given: tuple[UUID, UUID]) -> bool:
        try:
            merging.merge(project_id, gone_id=given[0], into_id=given[1], by=ANNA)
        except NotPossibleNow:
            return False
        return True

    both_ways = [way for one, two in pairs for way in ((one.pk, two.pk), (two.pk, one.pk))]
    merged = at_once(merge, both_ways, threads=8)
    assert sum(merged) == 8
    for one, two in pairs:
        assert {now(one).state, now(two).state} == {"merged", "proposed"}


def test_a_merge_is_undone_with_words_counts_and_evidence_as_before() -> None:
    project_id = uuid4()
    gone, into = found(project_id, "A", "1", "2"), found(project_id, "B", "2", "3")
    merging.merge(project_id, gone_id=gone.pk, into_id=into.pk, by=ANNA, name="A and B", content="Both")
    undone = merging.undo(project_id, gone.pk, number=2, by=ANNA)
    assert (undone.change, undone.entry.state, undone.entry.merged_into_id) == (Change.MERGED, "proposed", None)
    after = now(into)
    assert (after.name, after.content, after.occurrences, runs_of(after)) == ("B", "", 2, {"2", "3"})


def test_a_merge_into_what_was_edited_since_is_not_undone() -> None:
    project_id = uuid4()
    gone, into = found(project_id, "A", "1"), found(project_id, "B", "2")
    merging.merge(project_id, gone_id=gone.pk, into_id=into.pk, by=ANNA)
    curation.edit(project_id, into.pk, content="Mine", by=By("bob"))
    with pytest.raises(ChangedMeanwhile) as refused:
        merging.undo(project_id, gone.pk, number=2, by=ANNA)
    assert refused.value.by == "bob"
    assert now(gone).state == EntryState.MERGED
