"""What people made of findings, as rows: approved, edited, rejected; not what a key did, nor what waits again."""

from typing import Any

import pytest

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Scope
from reflection_app.notebook.curating import approve_entry, edit_entry, reject_entry, reopen_entry
from reflection_app.notebook.input import CurationInput, EntryEdit
from tests.api.caller import Caller, make_caller
from tests.factories import make_api_key, make_member, make_user
from tests.metrics.settled import let_settle
from tests.sessions.looking_back import ended_run, looked_back, watched_project

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def caller() -> Caller:
    """A key of a project whose one run was looked back at: an error and a memory are proposed."""
    project = watched_project()
    looked_back(ended_run(project=project, agent="porter", external_id="job-7", objective="Which colour is the sky?"))
    return make_caller(project, [Scope.RUNS_READ, Scope.NOTEBOOK_READ])


def entry_of(caller: Caller, kind: str) -> Entry:
    return Entry.objects.get(project_id=caller.project.pk, kind=kind)


def rows(caller: Caller, **query: Any) -> list[dict[str, Any]]:
    let_settle()
    answer = caller.get("datasets/findings", scripted="true", **query)
    assert answer.status == 200, answer.body
    return [dict(row) for row in answer.body["results"]]


def test_nothing_is_a_row_before_a_person_has_judged_it(caller: Caller) -> None:
    assert rows(caller) == []
    key, _secret = make_api_key(caller.project, (Scope.NOTEBOOK_WRITE,))
    entry = entry_of(caller, "error_note")
    approve_entry(caller.project, entry.pk, CurationInput(), actor=Actor(api_key=key))
    assert rows(caller) == []


def test_what_was_found_stands_beside_what_became_of_it(caller: Caller) -> None:
    ann = Actor(user=make_member(caller.project))
    found, kept = entry_of(caller, "error_note"), entry_of(caller, "rule")
    reject_entry(caller.project, found.pk, CurationInput(reason="That is how it is done here."), actor=ann)
    edit_entry(caller.project, kept.pk, EntryEdit(content="Always, but for README."), actor=ann)
    approve_entry(caller.project, kept.pk, CurationInput(), actor=ann)
    by_reflector = {row["reflector"]: row for row in rows(caller)}
    error, memory = by_reflector["errors"], by_reflector["memory"]
    assert (error["judgement"], error["edited"], error["reason"]) == ("rejected", False, "That is how it is done here.")
    assert (error["category"], error["cause"], error["suggestion"]) == ("tool_misuse", "No glob.", "Set a glob.")
    assert (error["agent"], error["external_id"], error["objective"]) == ("porter", "job-7", "Which colour is the sky?")
    assert (memory["judgement"], memory["edited"], memory["category"]) == ("approved", True, "rule")
    # What was found stays as it was found; what became of it is as the person left it.
    assert (memory["content"], memory["entry_content"]) == ("The user said: always.", "Always, but for README.")
    assert {error["by"], memory["by"]} == {ann.label}
    assert {row["by"] for row in rows(caller, anonymous="true")}.isdisjoint({ann.label})
    assert rows(caller, agent="another") == []


def test_what_waits_again_is_judged_by_nobody(caller: Caller) -> None:
    ann = Actor(user=make_member(caller.project))
    entry = entry_of(caller, "rule")
    reject_entry(caller.project, entry.pk, CurationInput(), actor=ann)
    assert [row["judgement"] for row in rows(caller)] == ["rejected"]
    reopen_entry(caller.project, entry.pk, CurationInput(reason="Too broad."), actor=ann)
    assert rows(caller) == []


def test_names_with_letters_of_their_own_are_hidden_and_their_likes_break_nothing_off(caller: Caller) -> None:
    ann = Actor(user=make_member(caller.project, user=make_user("Straße")))
    make_member(caller.project, user=make_user("ŞİRİN"))
    make_member(caller.project, user=make_user("Alin"))
    entry = entry_of(caller, "rule")
    reason = "Straße, straße, STRASSE and Şirin say no; Alın, ALİN and Alin as well."
    reject_entry(caller.project, entry.pk, CurationInput(reason=reason), actor=ann)
    [row] = rows(caller, anonymous="true")
    assert not [name for name in ("tra", "TRA", "Alin", "Alın") if name in row["reason"]], row["reason"]


@pytest.mark.parametrize("metadata", ['{"a":1e999}', '{"a":NaN}', '{"a":"\\u0000"}', '{"a":"\\ud800"}', "[" * 3_000])
def test_metadata_that_no_task_can_have_is_refused(caller: Caller, metadata: str) -> None:
    assert caller.get("datasets/runs", metadata=metadata).status == 400
