import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.audit import AuditEntry
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def test_a_fork_names_its_parent_which_lists_it(caller: Caller) -> None:
    parent = given.finished_run(caller.project)
    wanted = {"from_step": 3, "result": {"verdict": "PASS", "score": 80}, "note": "Too strict."}
    answer = caller.post(f"runs/{parent.pk}/fork", wanted)
    assert answer.status == 201, answer.body
    fork, by = answer.body, f"key {caller.key.name}"
    assert (fork["parent_id"], fork["forked_from_step"], fork["fork_note"]) == (str(parent.pk), 3, "Too strict.")
    assert (fork["forked_by"], fork["state"], fork["forks"]) == (by, "queued", [])
    assert caller.get(f"runs/{parent.pk}").body["forks"] == [fork["id"]]
    assert [run["id"] for run in caller.get("runs", parent=str(parent.pk)).body["results"]] == [fork["id"]]
    steps = caller.get(f"runs/{fork['id']}/steps").body["results"]
    assert [(step["is_inherited"], step["edited_by"]) for step in steps] == [(True, None), (True, None), (True, by)]


def test_a_run_tells_what_it_began_with(caller: Caller) -> None:
    run = given.finished_run(caller.project)
    Run.objects.filter(pk=run.pk).update(prompt_versions=run.prompt_versions | {"critic_system": "0" * 12})
    versions = caller.get(f"runs/{run.pk}").body["versions"]
    assert (versions["loop"], versions["changed"]) == (run.loop_version, ["critic_system"])
    assert versions["prompts"]["write_system"] == run.prompt_versions["write_system"]


def test_a_list_of_runs_takes_as_many_queries_for_many_as_for_one(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        given.finished_run(caller.project)
    caller.get("runs")
    with django_assert_max_num_queries(4):
        assert len(caller.get("runs").body["results"]) == 3


def test_a_cancelled_run_is_finished_and_keeps_its_best_attempt(caller: Caller) -> None:
    run_id = given.waiting_review(caller.project).run_id
    answer = caller.post(f"runs/{run_id}/cancel")
    assert answer.status == 200
    assert (answer.body["state"], answer.body["outcome"]) == ("finished", "cancelled")
    assert answer.body["best_attempt"]["content"] == "first"
    assert AuditEntry.objects.get(action="run.cancelled").api_key_id == caller.key.pk
