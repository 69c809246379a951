"""Approving one side of an open contradiction asks what becomes of the other side, by every way in."""

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from notebook_app.models import Conflict, Entry
from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import ActionError, Contradicts
from reflection_app.core.models import Role, Scope
from reflection_app.notebook.bulk import BulkCuration, BulkDeed, curate_together
from reflection_app.notebook.conflicts import UnsettleInput, unsettle
from reflection_app.notebook.curating import approve_entry, reject_entry, reopen_entry, retire_entry, undo_curation
from reflection_app.notebook.input import ApprovalInput, Contradictions, CurationInput, UndoInput
from tests import given, then
from tests.api.caller import Caller
from tests.notebook.at_once import at_once
from tests.notebook.test_comparing import conflicting

pytestmark = pytest.mark.django_db


@pytest.fixture
def caller() -> Caller:
    return given.caller(scopes=[Scope.NOTEBOOK_READ, Scope.NOTEBOOK_WRITE, Scope.REVIEWS_WRITE])


@pytest.fixture
def conflict(caller: Caller) -> Conflict:
    return conflicting(caller.project.pk)


@pytest.fixture
def curator(caller: Caller) -> Actor:
    return Actor(user=given.member(caller.project, Role.CURATOR))


def states(conflict: Conflict) -> tuple[str, str, str]:
    """The states of the conflict, of its first and of its second entry."""
    conflict.refresh_from_db()
    first, second = Entry.objects.get(pk=conflict.first_id), Entry.objects.get(pk=conflict.second_id)
    return conflict.state, first.state, second.state


def approve(caller: Caller, conflict: Conflict, **body: Any) -> Any:
    return caller.post(f"notebook/entries/{conflict.first_id}/approve", body)


def test_rest_refuses_and_names_the_conflict(caller: Caller, conflict: Conflict) -> None:
    before = states(conflict)
    answer = approve(caller, conflict)
    assert (answer.status, answer.headers["content-type"]) == (409, "application/problem+json")
    assert answer.body["conflicts"] == [str(conflict.pk)]
    assert answer.body["errors"][0]["field"] == "contradictions"
    assert conflict.second.name in answer.body["detail"]
    assert states(conflict) == before


def test_keeping_this_one_retires_the_other_and_undo_brings_both_back(
    caller: Caller, conflict: Conflict, curator: Actor
) -> None:
    before = states(conflict)
    seen = Entry.objects.get(pk=conflict.first_id).version
    data = ApprovalInput(contradictions=Contradictions.SUPERSEDE, expected_version=seen)
    entry = approve_entry(caller.project, conflict.first_id, data, actor=curator)
    assert states(conflict) == ("settled", "approved", "retired")
    actions = AuditEntry.objects.filter(project=caller.project).values_list("action", flat=True)
    assert {"entry.approved", "conflict.settled"} <= set(actions)
    undo_curation(caller.project, entry.id, UndoInput(), actor=curator)
    assert states(conflict) == before


def test_keeping_both_needs_a_reason(caller: Caller, conflict: Conflict) -> None:
    then.refused(approve(caller, conflict, contradictions="keep_both"), 400)
    answer = approve(caller, conflict, contradictions="keep_both", reason="One is for tests.")
    assert (answer.status, answer.body["state"]) == (200, "approved")
    assert states(conflict) == ("settled", "approved", Entry.objects.get(pk=conflict.second_id).state)
    assert conflict.settlement == "kept_both"
    second = caller.post(f"notebook/entries/{conflict.second_id}/approve", {})
    assert second.body["state"] == "approved"


def test_a_bulk_approval_leaves_out_what_is_contradicted(caller: Caller, conflict: Conflict, curator: Actor) -> None:
    told = BulkCuration(entries=(conflict.first_id, conflict.second_id), do=BulkDeed.APPROVE)
    result = curate_together(caller.project, told, actor=curator)
    assert result.done == 0
    assert all("contradicts" in item.why for item in result.items)
    assert states(conflict)[0] == "open"


def test_the_page_asks_and_takes_the_answer(client: Client, caller: Caller, conflict: Conflict) -> None:
    given.logged_in(client, caller.project, Role.CURATOR)
    entry = Entry.objects.get(pk=conflict.first_id)
    address = reverse("curate_entry", args=[caller.project.slug, entry.pk])
    shown = client.get(reverse("entry", args=[caller.project.slug, entry.pk])).text
    assert 'name="contradictions"' in shown
    refused = client.post(address, {"act": "approve", "version": entry.version})
    assert refused.status_code == 409
    sent = {"act": "approve", "version": entry.version, "contradictions": "supersede"}
    assert client.post(address, sent).status_code == 302
    assert states(conflict) == ("settled", "approved", "retired")


@pytest.mark.django_db(transaction=True)
def test_of_two_curators_who_keep_one_side_each_one_wins(caller: Caller, conflict: Conflict) -> None:
    curators = [Actor(user=given.member(caller.project, Role.CURATOR)) for _ in range(2)]
    acts = list(zip((conflict.first_id, conflict.second_id), curators, strict=True)) * 3

    def act(sent: Any) -> bool:
        data = ApprovalInput(contradictions=Contradictions.SUPERSEDE)
        try:
            approve_entry(caller.project, sent[0], data, actor=sent[1])
        except ActionError:
            return False
        return True

    assert sum(at_once(act, acts, threads=6)) == 1
    assert states(conflict) in {("settled", "approved", "retired"), ("settled", "retired", "approved")}


def test_undo_does_not_bring_an_approved_entry_back_beside_its_opposite(
    caller: Caller, conflict: Conflict, curator: Actor
) -> None:
    project = caller.project
    reject_entry(project, conflict.second_id, CurationInput(), actor=curator)
    approve_entry(project, conflict.first_id, CurationInput(), actor=curator)
    retire_entry(project, conflict.first_id, CurationInput(reason="No."), actor=curator)
    reopen_entry(project, conflict.second_id, CurationInput(), actor=curator)
    approve_entry(project, conflict.second_id, CurationInput(), actor=curator)
    with pytest.raises(Contradicts):
        undo_curation(project, conflict.first_id, UndoInput(), actor=curator)
    assert states(conflict)[1:] == ("retired", "approved")


def test_opening_the_conflict_again_does_not_restore_the_other_side(
    caller: Caller, conflict: Conflict, curator: Actor
) -> None:
    project, other = caller.project, Entry.objects.get(pk=conflict.second_id)
    Entry.objects.filter(pk=other.pk).update(state="approved")
    other.versions.update(state="approved")
    data = ApprovalInput(contradictions=Contradictions.SUPERSEDE)
    approve_entry(project, conflict.first_id, data, actor=curator)
    assert states(conflict) == ("settled", "approved", "retired")
    with pytest.raises(Contradicts):
        unsettle(project, conflict.pk, UnsettleInput(), actor=curator)
    assert states(conflict) == ("settled", "approved", "retired")
    undo_curation(project, conflict.first_id, UndoInput(), actor=curator)
    assert states(conflict)[0::2] == ("open", "approved")
