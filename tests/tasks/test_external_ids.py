"""External ids that a project wants once: refused with what there is, also at once, and beside doubles."""

import json

import pytest
from django.test import Client

from reflection_app.core.audit import AuditEntry
from reflection_app.core.models import Project
from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from tests import given
from tests.api.caller import Answer, Caller
from tests.reviews.test_reviews import together
from tests.teams.test_settings import TYPED

pytestmark = pytest.mark.django_db


@pytest.fixture
def strict() -> Caller:
    return given.caller(given.project("strict", unique_external_ids=True))


def hand_in(caller: Caller, external_id: str | None = "job-1", **more: object) -> Answer:
    return caller.post("tasks", {"objective": "x", "kind": "creative_writing", "external_id": external_id} | more)


def test_a_second_task_of_the_same_name_is_refused_and_the_first_named(strict: Caller) -> None:
    first = hand_in(strict).body
    refused = hand_in(strict)
    assert (refused.status, refused.body["type"]) == (409, "urn:reflection-desk:external-id-taken")
    assert (refused.body["task_id"], refused.body["run_id"]) == (first["id"], first["run"]["id"])
    assert [error["field"] for error in refused.body["errors"]] == ["external_id"]
    assert Task.objects.count() == Run.objects.count() == 1
    assert [hand_in(strict, None).status, hand_in(strict, None).status, hand_in(strict, "job-2").status] == [201] * 3


def test_another_project_and_a_project_that_does_not_mind_have_the_same_name(strict: Caller) -> None:
    hand_in(strict)
    other = given.caller(given.project("strict-too", unique_external_ids=True))
    assert hand_in(other).status == 201
    easy = given.caller(given.project("easy"))
    assert [hand_in(easy).status, hand_in(easy).status] == [201, 201]


@pytest.mark.django_db(transaction=True)
def test_of_many_at_once_one_is_taken_and_the_others_are_told_which(strict: Caller) -> None:
    answers = [one for one in together(*[lambda: hand_in(strict)] * 6) if isinstance(one, Answer)]
    taken = [one.body["id"] for one in answers if one.status == 201]
    refused = {one.body["task_id"] for one in answers if one.status == 409}
    assert (len(taken), len(answers), refused) == (1, 6, set(taken))
    assert Task.objects.count() == 1


def test_a_batch_with_a_taken_name_is_refused_whole_and_says_where(strict: Caller) -> None:
    first = hand_in(strict).body
    tasks = [{"objective": "a", "external_id": "new"}, {"objective": "b", "external_id": "job-1"}]
    refused = strict.post("tasks/batch", {"tasks": tasks})
    assert (refused.status, refused.body["task_id"], refused.body["errors"][0]["index"]) == (409, first["id"], 1)
    doubled = strict.post("tasks/batch", {"tasks": [{"objective": "a", "external_id": "new"}] * 2})
    assert (doubled.status, doubled.body["errors"][0]["index"]) == (400, 1)
    assert "task 0 of this batch" in doubled.body["errors"][0]["message"]
    assert Task.objects.count() == 1


def test_a_name_is_free_again_once_its_task_is_renamed_or_gone(strict: Caller) -> None:
    first = hand_in(strict).body
    second = hand_in(strict, "job-2").body

    def rename(task_id: str, name: str | None) -> Answer:
        return strict.call("PATCH", f"tasks/{task_id}", data=json.dumps({"external_id": name}))

    refused = rename(second["id"], "job-1")
    assert (refused.status, refused.body["task_id"]) == (409, first["id"])
    assert rename(first["id"], "job-1").status == 200
    assert rename(first["id"], None).status == 200
    assert rename(second["id"], "job-1").status == 200
    assert hand_in(strict, "job-2").status == 201
    Task.objects.filter(pk=second["id"]).delete()
    assert hand_in(strict).status == 201


def test_the_rule_is_switched_on_where_nothing_is_doubled_and_off_again(client: Client) -> None:
    project = given.project("set")
    admin, caller = given.logged_in(client, project), given.caller(project)
    first, second = (hand_in(caller).body["id"] for _ in range(2))
    page = admin.post("/p/set/settings/", TYPED | {"unique_external_ids": "on"})
    assert page.status_code == 400
    assert "Several tasks share an external id: job-1 (2)." in page.text
    assert not Project.objects.get(slug="set").unique_external_ids
    Task.objects.filter(pk=second).delete()
    assert admin.post("/p/set/settings/", TYPED | {"unique_external_ids": "on"}).status_code == 302
    assert hand_in(caller).body["task_id"] == first
    entry = AuditEntry.objects.filter(action="settings.changed").latest("created_at")
    assert (entry.before["unique_external_ids"], entry.after["unique_external_ids"]) == (False, True)
    admin.post("/p/set/settings/", TYPED)
    assert hand_in(caller).status == 201


@pytest.mark.django_db(transaction=True)
def test_a_task_that_comes_while_the_rule_is_switched_on_is_under_it_or_before_it(client: Client) -> None:
    project = given.project("set")
    admin, caller = given.logged_in(client, project), given.caller(project)
    for number in range(5):
        external_id = f"job-{number}"
        together(
            lambda: admin.post("/p/set/settings/", TYPED | {"unique_external_ids": "on"}),
            lambda name=external_id: hand_in(caller, name),
        )
        assert Project.objects.get(slug="set").unique_external_ids
        assert hand_in(caller, external_id).status == 409
        admin.post("/p/set/settings/", TYPED)
