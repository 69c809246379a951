"""Curating by actions: one change, one version, one row of the trail; of two at once one wins."""

from typing import Any

import pytest

from notebook_app.models import Entry
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, Conflict, EntryMovedOn, InvalidInput, NotYours
from reflection_app.core.models import Project, Role
from reflection_app.notebook.bulk import BulkCuration, BulkDeed, curate_together, undo_together
from reflection_app.notebook.curating import (
    approve_entry,
    edit_entry,
    own_entry,
    reject_entry,
    split_entry,
    undo_curation,
)
from reflection_app.notebook.input import (
    CurationInput,
    EntryEdit,
    EntryInput,
    OwnerInput,
    SplitInput,
    UndoInput,
)
from reflection_app.notebook.proposing import propose_entry
from tests import given
from tests.notebook.at_once import at_once
from tests.notebook.entries import make_entry

pytestmark = pytest.mark.django_db


def curator(project: Project, role: Role = Role.CURATOR) -> Actor:
    return Actor(user=given.member(project, role))


def trail(entry: Entry) -> list[AuditEntry]:
    return list(AuditEntry.objects.filter(target="entry", target_id=entry.pk).order_by("created_at", "id"))


@pytest.mark.django_db(transaction=True)
def test_of_two_curators_at_once_one_wins() -> None:
    project = given.project()
    entry, two = make_entry(project), [curator(project), curator(project)]
    acts = [(approve_entry, two[0]), (reject_entry, two[1])] * 4

    def act(sent: Any) -> str:
        try:
            sent[0](project, entry.pk, CurationInput(expected_version=1), actor=sent[1])
        except EntryMovedOn as error:
            return f"{error.version} {error.by}"
        return ""

    came_second = [name for name in at_once(act, acts, threads=8) if name]
    assert len(came_second) == 7
    entry.refresh_from_db()
    assert set(came_second) == {f"2 {entry.decided_by_label}"}
    assert (entry.version, entry.versions.count(), len(trail(entry))) == (2, 2, 1)


def test_the_trail_tells_what_was_before_and_after_and_of_long_texts_only_which() -> None:
    project = given.project()
    entry, anna = make_entry(project, name="Old"), curator(project)
    edit_entry(project, entry.pk, EntryEdit(name="New", content="Secret words", reason="Clearer"), actor=anna)
    edit_entry(project, entry.pk, EntryEdit(name="New"), actor=anna)
    (row,) = trail(entry)
    assert (row.action, row.actor_label) == ("entry.edited", anna.label)
    assert row.before == {"state": "proposed", "version": 1, "name": "Old"}
    assert row.after == {
        "state": "proposed",
        "version": 2,
        "name": "New",
        "reason": "Clearer",
        "texts": ["content"],
    }


def test_an_owner_is_a_member_of_the_project() -> None:
    project, other = given.project(), given.project()
    entry, anna = make_entry(project), curator(project)
    stranger = given.member(other)
    with pytest.raises(InvalidInput) as refused:
        own_entry(project, entry.pk, OwnerInput(owner=stranger.get_username()), actor=anna)
    assert refused.value.errors[0]["field"] == "owner"
    assert anna.user is not None
    owned = own_entry(project, entry.pk, OwnerInput(owner=anna.label), actor=anna)
    assert owned.owner_id == anna.user.pk
    assert own_entry(project, entry.pk, OwnerInput(owner=None), actor=anna).owner_id is None


def test_a_key_cannot_approve_what_it_proposed() -> None:
    project = given.project()
    mine, others = (Actor(api_key=given.api_key(project, name="the same name")[0]) for _ in range(2))
    entry = propose_entry(project, EntryInput(kind="rule", name="Write dates as 2026-01-31"), actor=mine).entry
    with pytest.raises(InvalidInput):
        approve_entry(project, entry.id, CurationInput(), actor=mine)
    assert approve_entry(project, entry.id, CurationInput(), actor=others).state == "approved"


def test_a_split_leaves_both_parts_in_their_words() -> None:
    project = given.project()
    entry, anna = make_entry(project, content="A and B"), curator(project)
    told = SplitInput(
        into=EntryInput(kind="rule", name="B"), stays=EntryEdit(content="A", expected_version=1), expected_version=1
    )
    part = split_entry(project, entry.pk, told, actor=anna)
    entry.refresh_from_db()
    assert (part.name, entry.content, entry.version) == ("B", "A", 3)
    assert [row.action for row in trail(entry)] == ["entry.split", "entry.edited"]


def test_many_are_curated_each_by_itself_and_taken_back_but_for_what_changed_since() -> None:
    project, elsewhere = given.project(), make_entry(given.project())
    anna, bob = curator(project), curator(project)
    good = [make_entry(project) for _ in range(3)]
    retired = make_entry(project, state="retired")
    told = BulkCuration(entries=(*(one.pk for one in good), retired.pk, elsewhere.pk), do=BulkDeed.APPROVE, reason="OK")
    result = curate_together(project, told, actor=anna)
    assert [item.is_done for item in result.items] == [True, True, True, False, False]
    assert "Retired" in result.items[3].why
    assert result.items[4].why == "Entry not found."
    edit_entry(project, good[0].pk, EntryEdit(content="Since"), actor=bob)

    with pytest.raises(NotYours):
        undo_together(project, result.id, actor=bob)
    undone = {item.entry_id: item for item in undo_together(project, result.id, actor=anna).items}
    assert (undone[good[0].pk].is_done, bob.label in undone[good[0].pk].why) == (False, True)
    assert [Entry.objects.get(pk=one.pk).state for one in good] == ["approved", "proposed", "proposed"]
    with pytest.raises(Conflict):
        undo_together(project, result.id, actor=anna)


def test_tags_are_added_to_those_there_are_and_taken_from_them() -> None:
    project = given.project()
    anna, entries = curator(project), [make_entry(project, tags=["a"]), make_entry(project, tags=["b"])]
    ids = tuple(one.pk for one in entries)
    added = curate_together(project, BulkCuration(entries=ids, do=BulkDeed.ADD_TAGS, tags=(" b ",)), actor=anna)
    assert [Entry.objects.get(pk=pk).tags for pk in ids] == [["a", "b"], ["b"]]
    # What had it already was not changed, and undoing leaves it.
    assert [item.version for item in added.items] == [2, None]
    undo_together(project, added.id, actor=anna)
    assert [Entry.objects.get(pk=pk).tags for pk in ids] == [["a"], ["b"]]
    curate_together(project, BulkCuration(entries=ids, do=BulkDeed.REMOVE_TAGS, tags=("b",)), actor=anna)
    assert [Entry.objects.get(pk=pk).tags for pk in ids] == [["a"], []]


@pytest.mark.parametrize(
    ("sent", "field"),
    [({"do": "retire"}, "reason"), ({"do": "add_tags", "tags": [" "]}, "tags"), ({"do": "own", "owner": "x"}, "owner")],
)
def test_a_bulk_that_could_be_done_to_none_is_refused_whole(sent: dict[str, Any], field: str) -> None:
    project = given.project()
    told = BulkCuration.model_validate({"entries": [str(make_entry(project).pk)], **sent})
    with pytest.raises(InvalidInput) as refused:
        curate_together(project, told, actor=curator(project))
    assert refused.value.errors[0]["field"] == field


def test_only_who_changed_it_and_admins_take_it_back() -> None:
    project = given.project()
    entry, anna, bob = make_entry(project), curator(project), curator(project)
    approve_entry(project, entry.pk, CurationInput(), actor=anna)
    with pytest.raises(NotYours):
        undo_curation(project, entry.pk, UndoInput(), actor=bob)
    undone = undo_curation(project, entry.pk, UndoInput(expected_version=2), actor=curator(project, Role.ADMIN))
    assert (undone.entry.state, undone.change) == ("proposed", "approved")
    assert [row.action for row in trail(entry)] == ["entry.approved", "entry.undone"]
    with pytest.raises(ActionError):
        undo_curation(project, entry.pk, UndoInput(), actor=anna)
