from typing import Any
from uuid import UUID

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.runs.models import Run
from reflection_app.tasks.models import Task
from reflection_app.teams.models import Tool
from tests import given, then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db

CODE = {
    "objective": "Write add(a, b).",
    "kind": "code_generation",
    "agent": "builder",
    "external_id": "job-1",
    "tests": {"entry_point": "add", "cases": [{"args": [1, 2], "expected": 3}]},
    "limits": {"max_iterations": 5, "cost_budget_usd": "0.10"},
    "metadata": {"ticket": 12345678901234567890123, "tags": ["数学", None, True, 1.5]},
}


def test_a_task_is_answered_with_its_queued_run(caller: Caller) -> None:
    answer = caller.post("tasks", CODE)

    assert answer.status == 201
    task, run = answer.body, answer.body["run"]
    assert UUID(task["id"]).version == 7
    known = CODE.keys() - {"tests", "limits"}
    assert {name: task[name] for name in known} == {name: CODE[name] for name in known}
    assert (task["mode"], task["execution"]) == ("adaptive", "managed")
    assert task["limits"] == {
        "max_iterations": 5,
        "token_budget": 10_000,
        "time_budget_s": 30.0,
        "cost_budget_usd": "0.10000000",
    }
    assert run["task_id"] == task["id"]
    assert (run["mode"], run["state"], run["outcome"], run["best_attempt"]) == ("external_loop", "queued", None, None)
    assert (run["usage"]["cost_usd"], run["usage"]["cached_tokens"]) == ("0.00000000", None)
    assert caller.get(f"tasks/{task['id']}").body == task
    told = caller.get(f"runs/{run['id']}").body
    assert {name: told[name] for name in run} == run


def test_a_task_is_answered_with_all_that_came_with_it(caller: Caller) -> None:
    Tool.objects.create(project=caller.project, name="read_file", kind="builtin")
    call = {"tool": "read_file", "arguments": {"path": "a.txt"}}
    files = [{"path": "b/c.txt", "content": "c"}, {"path": "a.txt", "content": "a"}]
    wanted = {"counts": [{"name": "关键论文", "path": "papers", "where": {"关键": True}, "min": 3}]}
    task = caller.post("tasks", {"objective": "x", "tool_call": call, "files": files, "chain_of_thought": True}).body
    assert (task["tool_call"], task["files"], task["chain_of_thought"]) == (call, ["a.txt", "b/c.txt"], True)
    data = caller.post("tasks", {"objective": "x", "output_schema": {"type": "array"}}).body
    assert (data["output_schema"], data["tools"], data["run"]["mode"]) == ({"type": "array"}, [], "external_loop")
    assert caller.get(f"tasks/{task['id']}").body["files"] == ["a.txt", "b/c.txt"]
    papers = caller.post("tasks", {"objective": "x", "requirements": wanted, "phase": "Phase 1.2"}).body
    assert (papers["requirements"], papers["phase"], task["requirements"]) == (wanted, "Phase 1.2", None)


def test_a_project_without_a_critic_has_no_actor_critic(caller: Caller) -> None:
    caller.project.models_by_role = {"critic": "None"}
    caller.project.save()
    assert then.named_fields(caller.post("tasks", {"objective": "x", "mode": "actor_critic"})) == ["mode"]
    task = caller.post("tasks", {"objective": "x", "kind": "creative_writing"}).body
    assert task["run"]["mode"] == "reflexion"


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({}, "objective"),
        ({"objective": "x", "limits": {"max_iterations": 10**400}}, "limits.max_iterations"),
        ({"objective": "x", "tests": {"script": " "}}, "tests"),
        ({"objective": "x", "tests": {"cases": [{"expected": 1}]}}, "tests"),
        ({"objective": "x", "mode": "external_loop"}, "mode"),
        ({"objective": "x", "mode": "planning"}, "tools"),
        ({"objective": "x", "mode": "reflexion", "output_schema": {}}, "output_schema"),
        ({"objective": "x", "mode": "actor_critic", "tests": {"script": "assert 1"}}, "tests"),
        ({"objective": "x", "output_schema": {}, "tests": {"script": "assert 1"}}, "output_schema"),
        ({"objective": "x", "output_schema": {"type": "strin"}}, "output_schema"),
        ({"objective": "x", "tools": ["nothing"]}, "tools"),
    ],
)
def test_a_task_that_cannot_be_used_is_refused_with_the_field(caller: Caller, body: Any, field: str) -> None:
    answer = caller.post("tasks", body)
    then.refused(answer, 400)
    assert field in then.named_fields(answer)
    assert not Task.objects.exists()


def test_a_batch_is_stored_in_its_order(caller: Caller) -> None:
    answer = caller.post("tasks/batch", {"tasks": [{"objective": f"task {number}"} for number in range(3)]})
    assert answer.status == 201
    assert [task["objective"] for task in answer.body["results"]] == ["task 0", "task 1", "task 2"]
    assert all(task["run"]["state"] == "queued" for task in answer.body["results"])
    assert Run.objects.count() == 3


def test_a_batch_with_bad_tasks_names_each_and_stores_none(caller: Caller) -> None:
    answer = caller.post(
        "tasks/batch", {"tasks": [{"objective": "good"}, {"objective": ""}, 7, {"objective": 1, "x": 2}]}
    )
    then.refused(answer, 400)
    named = {(error["index"], error["field"]) for error in answer.body["errors"]}
    assert named == {(1, "objective"), (2, ""), (3, "objective"), (3, "x")}
    assert not Task.objects.exists()


@pytest.mark.django_db
def test_a_list_of_tasks_takes_as_many_queries_for_many_as_for_one(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        given.finished_run(caller.project)
    caller.get("tasks")
    with django_assert_max_num_queries(6):
        tasks = caller.get("tasks").body["results"]
    assert [task["run"]["best_attempt"]["content"] for task in tasks] == ["second"] * 3
