"""Every change from every state: made where the life of an entry allows it, refused with nothing changed elsewhere."""

from collections.abc import Callable
from typing import Any
from uuid import UUID, uuid4

import pytest

from notebook_app import curation, merging
from notebook_app.kinds import EVERY, By, ChangedMeanwhile, EntryKind, EntryState, NoSuchEntry, NotPossibleNow, Refused
from notebook_app.models import Entry
from notebook_app.proposing import Proposal
from tests.notebook.entries import entry_in, make_entry

pytestmark = pytest.mark.django_db

ANNA = By("anna")
P, S, A, RT, RJ, M = (
    EntryState.PROPOSED,
    EntryState.SCREENED,
    EntryState.APPROVED,
    EntryState.RETIRED,
    EntryState.REJECTED,
    EntryState.MERGED,
)
# Of each act the states from which it is possible, and the state that it leads to; None leaves it.
TABLE: dict[str, tuple[set[EntryState], EntryState | None]] = {
    "approve": ({P, S}, A),
    "reject": ({P, S}, RJ),
    "retire": ({A}, RT),
    "reopen": ({RT, RJ, M}, P),
    "edit": ({P, S, A}, None),
    "restore": ({P, S, A}, None),
    "clear": ({P, S, A}, None),
    "split": ({P, S, A}, None),
    "merge": ({P, S, A}, M),
    "absorb": ({P, S, A}, None),
    "supersede": ({P, S, A}, RT),
    "tag": (set(EVERY), None),
    "own": (set(EVERY), None),
}


def acts(project_id: UUID, entry_id: UUID, **guard: Any) -> dict[str, Callable[[], Any]]:
    def other() -> UUID:
        return make_entry(project_id).pk

    versions = {"expected_versions": {entry_id: guard["expected_version"]}} if guard else {}
    part = Proposal(kind=EntryKind.RULE, name=f"A part {uuid4()}")
    one: dict[str, Any] = {"by": ANNA, **guard}
    two: dict[str, Any] = {"by": ANNA, **versions}
    return {
        "approve": lambda: curation.approve(project_id, entry_id, **one),
        "reject": lambda: curation.reject(project_id, entry_id, **one),
        "retire": lambda: curation.retire(project_id, entry_id, reason="Not so.", **one),
        "reopen": lambda: merging.reopen(project_id, entry_id, **one),
        "edit": lambda: curation.edit(project_id, entry_id, content="Otherwise", **one),
        "restore": lambda: curation.restore(project_id, entry_id, number=1, **one),
        "clear": lambda: curation.clear(project_id, entry_id, **one),
        "split": lambda: merging.split(project_id, entry_id, into=part, **one),
        "merge": lambda: merging.merge(project_id, gone_id=entry_id, into_id=other(), **two),
        "absorb": lambda: merging.merge(project_id, gone_id=other(), into_id=entry_id, **two),
        "supersede": lambda: merging.supersede(project_id, gone_id=entry_id, by_id=other(), **two),
        "tag": lambda: curation.tag(project_id, entry_id, tags=["x"], **one),
        "own": lambda: curation.own(project_id, entry_id, owner=None, **one),
    }


@pytest.mark.parametrize("state", EVERY)
@pytest.mark.parametrize("act", TABLE)
def test_a_change_is_made_from_the_states_that_allow_it_and_from_no_other(act: str, state: EntryState) -> None:
    entry = entry_in(state, uuid4())
    if act == "restore":
        Entry.objects.filter(pk=entry.pk).update(content="Since then otherwise")
    allowed, leads_to = TABLE[act]
    if state in allowed:
        acts(entry.project_id, entry.pk)[act]()
        entry.refresh_from_db()
        assert entry.state == (leads_to or state)
        assert entry.version == entry.versions.count() == 2
        last = entry.versions.first()
        assert last is not None
        assert (last.number, last.state, last.by_label) == (2, entry.state, "anna")
        return
    with pytest.raises(NotPossibleNow) as refused:
        acts(entry.project_id, entry.pk)[act]()
    assert (refused.value.state, refused.value.version, refused.value.by) == (state, 1, "somebody")
    entry.refresh_from_db()
    assert (entry.state, entry.version, entry.versions.count()) == (state, 1, 1)


@pytest.mark.parametrize("act", TABLE)
def test_what_was_changed_since_it_was_seen_is_left_as_it_is(act: str) -> None:
    state = next(iter(TABLE[act][0] - {M}))
    entry = make_entry(uuid4(), state=state.value)
    curation.tag(entry.project_id, entry.pk, tags=["by bob"], by=By("bob"))
    with pytest.raises(ChangedMeanwhile) as refused:
        acts(entry.project_id, entry.pk, expected_version=1)[act]()
    assert (refused.value.version, refused.value.by) == (2, "bob")
    assert Entry.objects.get(pk=entry.pk).version == 2


@pytest.mark.parametrize("act", TABLE)
def test_an_entry_of_another_project_is_none(act: str) -> None:
    entry = make_entry(uuid4(), state=next(iter(TABLE[act][0] - {M})).value)
    with pytest.raises(NoSuchEntry):
        acts(uuid4(), entry.pk)[act]()


def test_what_screening_found_keeps_an_entry_from_being_approved_until_somebody_looked() -> None:
    entry = make_entry(uuid4())
    Entry.objects.filter(pk=entry.pk).update(flags=[{"rule": "orders", "quote": "ignore all"}])
    with pytest.raises(Refused) as refused:
        curation.approve(entry.project_id, entry.pk, by=ANNA)
    assert refused.value.field == "flags"
    assert Entry.objects.get(pk=entry.pk).version == 1
    curation.clear(entry.project_id, entry.pk, by=ANNA)
    # Labels are no words: what was looked at stays looked at.
    curation.edit(entry.project_id, entry.pk, category="x", by=ANNA)
    assert curation.approve(entry.project_id, entry.pk, by=ANNA).state == A


def test_an_edit_that_changes_nothing_is_no_version() -> None:
    entry = make_entry(uuid4(), content="As it is")
    assert curation.edit(entry.project_id, entry.pk, by=ANNA, content="As it is").version == 1
    assert curation.restore(entry.project_id, entry.pk, number=1, by=ANNA).version == 1


@pytest.mark.parametrize(
    ("columns", "field"),
    [
        ({"name": " "}, "name"),
        ({"name": "x" * 201}, "name"),
        ({"description": "x" * 20_001}, "description"),
        ({"category": "x" * 121}, "category"),
        ({"details": {"cause": "of a lesson"}}, "details.cause"),
        ({"kind": "poem"}, "kind"),
        ({"tags": [f"tag {number}" for number in range(21)]}, "tags"),
        ({"tags": ["x" * 61]}, "tags"),
        ({"state": "approved"}, "state"),
    ],
)
def test_an_edit_out_of_bounds_names_the_field(columns: dict[str, Any], field: str) -> None:
    entry = make_entry(uuid4())
    with pytest.raises(Refused) as refused:
        curation.edit(entry.project_id, entry.pk, by=ANNA, **columns)
    assert refused.value.field == field
    assert Entry.objects.get(pk=entry.pk).version == 1


def test_retiring_needs_a_reason() -> None:
    entry = make_entry(uuid4(), state=A.value)
    with pytest.raises(Refused) as refused:
        curation.retire(entry.project_id, entry.pk, by=ANNA, reason="  ")
    assert refused.value.field == "reason"
