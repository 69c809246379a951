"""The last change of an entry is taken back with words, labels and state as before, and only the last."""

from collections.abc import Callable
from typing import Any
from uuid import uuid4

import pytest

from notebook_app import curation, merging
from notebook_app.kinds import By, Change, ChangedMeanwhile, Refused
from notebook_app.models import Entry, Exposure
from notebook_app.versions import kept_of, write_version
from tests import given
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db

ANNA = By("anna")
ACTS: dict[str, Callable[[Entry], Any]] = {
    "approve": lambda one: curation.approve(one.project_id, one.pk, by=ANNA, reason="Good"),
    "reject": lambda one: curation.reject(one.project_id, one.pk, by=ANNA, reason="Wrong"),
    "edit": lambda one: curation.edit(one.project_id, one.pk, by=ANNA, name="Other", details={"advice": "x"}),
    "tag": lambda one: curation.tag(one.project_id, one.pk, by=ANNA, tags=["x"]),
    "own": lambda one: curation.own(one.project_id, one.pk, by=ANNA, owner=given.user()),
    "clear": lambda one: curation.clear(one.project_id, one.pk, by=ANNA),
    "supersede": lambda one: merging.supersede(
        one.project_id, gone_id=one.pk, by_id=make_entry(one.project_id).pk, by=ANNA
    ),
}


def now(entry: Entry) -> Entry:
    return Entry.objects.get(pk=entry.pk)


@pytest.mark.parametrize("act", ACTS)
def test_a_change_that_is_taken_back_leaves_the_entry_as_it_was(act: str) -> None:
    entry = make_entry(uuid4(), details={"advice": "before"}, tags=["before"])
    before = kept_of(now(entry)) | {"state": now(entry).state}
    ACTS[act](entry)
    assert kept_of(now(entry)) | {"state": now(entry).state} != before
    merging.undo(entry.project_id, entry.pk, number=2, by=By("bob"))
    assert kept_of(now(entry)) | {"state": now(entry).state} == before
    last = entry.versions.order_by("-number")[0]
    assert (last.number, last.change, last.by_label) == (3, Change.UNDONE, "bob")


def test_retiring_is_taken_back_with_the_approval_that_stood() -> None:
    entry = make_entry(uuid4())
    approved = curation.approve(entry.project_id, entry.pk, by=ANNA, reason="Good")
    curation.retire(entry.project_id, entry.pk, by=By("bob"), reason="Bad")
    merging.undo(entry.project_id, entry.pk, number=3, by=By("bob"))
    after = now(entry)
    assert (after.state, after.reason, after.decided_by_label) == ("approved", "Good", "anna")
    assert after.decided_at == approved.decided_at


def test_an_approval_that_was_told_already_says_how_often() -> None:
    entry = make_entry(uuid4())
    curation.approve(entry.project_id, entry.pk, by=ANNA)
    for number, is_withheld in enumerate((False, False, True)):
        Exposure.objects.create(
            project_id=entry.project_id,
            entry=entry,
            entry_version=2,
            subject=f"run {number}",
            share=0.1,
            draw=0.5,
            is_withheld=is_withheld,
            rank=1,
            score=1.0,
        )
    undone = merging.undo(entry.project_id, entry.pk, number=2, by=ANNA)
    assert (undone.recalled, undone.entry.state) == (2, "proposed")


def test_only_the_last_change_is_taken_back_and_only_once() -> None:
    entry = make_entry(uuid4())
    curation.approve(entry.project_id, entry.pk, by=ANNA)
    curation.tag(entry.project_id, entry.pk, tags=["x"], by=By("bob"))
    with pytest.raises(ChangedMeanwhile) as refused:
        merging.undo(entry.project_id, entry.pk, number=2, by=ANNA)
    assert refused.value.by == "bob"
    merging.undo(entry.project_id, entry.pk, number=3, by=ANNA)
    with pytest.raises(Refused, match="Already undone"):
        merging.undo(entry.project_id, entry.pk, number=4, by=ANNA)
    assert now(entry).version == 4


def test_what_the_desk_screened_meanwhile_keeps_nobody_from_taking_an_edit_back() -> None:
    entry = make_entry(uuid4())
    curation.edit(entry.project_id, entry.pk, content="Other", by=ANNA)
    row = now(entry)
    row.state, row.version = "screened", 3
    row.save()
    write_version(row, Change.SCREENED, by=By("system"))
    merging.undo(entry.project_id, entry.pk, number=2, by=ANNA)
    assert (now(entry).content, now(entry).state) == ("", "screened")


def test_a_proposal_itself_a_split_and_being_merged_into_are_not_taken_back() -> None:
    entry = make_entry(uuid4())
    with pytest.raises(Refused):
        merging.undo(entry.project_id, entry.pk, number=1, by=ANNA)
    merging.merge(entry.project_id, gone_id=make_entry(entry.project_id).pk, into_id=entry.pk, by=ANNA)
    with pytest.raises(Refused, match="Undo this on the entry that was merged"):
        merging.undo(entry.project_id, entry.pk, number=2, by=ANNA)
