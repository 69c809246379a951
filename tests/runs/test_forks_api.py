"""Forking over REST."""

from typing import Any

import pytest

from reflection_app.core.models import Project, Scope
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.runs.critiques import critique
from tests.runs.scripts import scripted_run

pytestmark = pytest.mark.django_db(transaction=True)


def run_of(project: Project, first: float = 40) -> Run:
    """A text that the critic scored `first` and, if it was sent back, 90 the second time."""
    project.review_policy = {"audit_share": 0}
    project.save(update_fields=["review_policy"])
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(first),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(90, approved=True),
    }
    run = scripted_run(answers, project=project, mode="actor_critic")
    advance(run.pk)
    run.refresh_from_db()
    return run


def test_a_fork_is_a_run_of_the_same_task_that_goes_its_own_way(caller: Caller) -> None:
    parent = run_of(caller.project)
    wanted = {"from_step": 3, "result": {"verdict": "PASS", "score": 80}, "note": "Too strict."}
    answer = caller.post(f"runs/{parent.pk}/fork", wanted)

    assert answer.status == 201, answer.body
    fork = answer.body
    assert (fork["parent_id"], fork["forked_from_step"], fork["fork_note"]) == (str(parent.pk), 3, "Too strict.")
    assert fork["forked_by"] == f"key {caller.key.name}"
    assert (fork["state"], fork["task_id"], fork["forks"]) == ("queued", str(parent.task_id), [])
    advance(Run.objects.get(parent=parent).pk)
    ended = caller.get(f"runs/{fork['id']}").body
    assert (ended["outcome"], ended["attempts"], ended["usage"]["llm_calls"]) == ("succeeded", 1, 0)
    best = {"number": 1, "content": "first", "cut_off": False, "score": 80.0, "referee": "person"} | {
        "passed_lowered": False,
        "edited": False,
        "edited_from": None,
        "edited_by": None,
        "original": None,
    }
    assert ended["best_attempt"] == best
    assert caller.get(f"runs/{parent.pk}").body["forks"] == [fork["id"]]
    assert [run["id"] for run in caller.get("runs", parent=str(parent.pk)).body["results"]] == [fork["id"]]
    steps = caller.get(f"runs/{fork['id']}/steps").body["results"]
    assert [(step["is_inherited"], step["edited_by"]) for step in steps[:3]] == [
        (True, None),
        (True, None),
        (True, f"key {caller.key.name}"),
    ]


def test_a_task_shows_its_newest_run_which_may_be_a_fork(caller: Caller) -> None:
    parent = run_of(caller.project)
    fork = caller.post(f"runs/{parent.pk}/fork", {"from_step": 7}).body
    for task in (caller.get(f"tasks/{parent.task_id}").body, caller.get("tasks").body["results"][0]):
        assert (task["run"]["id"], task["run"]["parent_id"]) == (fork["id"], str(parent.pk))
    assert {run["id"] for run in caller.get("runs", task=str(parent.task_id)).body["results"]} == {
        fork["id"],
        str(parent.pk),
    }


def test_a_fork_sent_again_is_made_once(caller: Caller) -> None:
    parent = run_of(caller.project)
    answers = [caller.post(f"runs/{parent.pk}/fork", {"from_step": 2}, Idempotency_Key="once") for _ in range(2)]
    assert answers[0].body == answers[1].body
    assert Run.objects.filter(parent=parent).count() == 1


@pytest.mark.parametrize(
    ("body", "named"),
    [
        ({}, ["from_step"]),
        ({"from_step": 0}, ["from_step"]),
        ({"from_step": 99}, ["from_step"]),
        ({"from_step": 3, "result": {"verdict": "MAYBE", "score": -1}}, ["result.verdict", "result.score"]),
        ({"from_step": 3, "result": "PASS"}, ["result"]),
        ({"from_step": 1, "messages": []}, ["messages"]),
        ({"from_step": 1, "messages": [{"role": "tool", "content": "x"}]}, ["messages.0.role"]),
        ({"from_step": 1, "messages": [{"role": "user"}]}, ["messages.0.content"]),
        ({"from_step": 1, "result": {}, "messages": [{"role": "user", "content": "x"}]}, [""]),
        ({"from_step": 1, "limits": {"max_iterations": 0}}, ["limits.max_iterations"]),
        ({"from_step": 1, "notes": "x"}, ["notes"]),
        ({"from_step": 3, "messages": [{"role": "user", "content": "x"}]}, ["messages"]),
    ],
)
def test_what_cannot_be_used_is_refused_field_by_field(caller: Caller, body: dict[str, Any], named: list[str]) -> None:
    parent = run_of(caller.project)
    answer = caller.post(f"runs/{parent.pk}/fork", body)
    assert_problem(answer, 400)
    assert fields(answer) == named
    assert not Run.objects.filter(parent=parent).exists()


def test_an_unfinished_step_is_a_conflict(caller: Caller) -> None:
    run_id = run_of(caller.project, first=10).pk
    answer = caller.post(f"runs/{run_id}/fork", {"from_step": 4})
    assert_problem(answer, 409)
    assert "still waiting" in answer.body["detail"]


def test_a_key_that_only_reads_forks_nothing(caller: Caller) -> None:
    parent = run_of(caller.project)
    reader = make_caller(caller.project, [Scope.RUNS_READ])
    assert_problem(reader.post(f"runs/{parent.pk}/fork", {"from_step": 1}), 403)


def test_a_run_tells_what_it_began_with(caller: Caller) -> None:
    run = run_of(caller.project)
    Run.objects.filter(pk=run.pk).update(prompt_versions=run.prompt_versions | {"critic_system": "0" * 12})
    versions = caller.get(f"runs/{run.pk}").body["versions"]
    assert (versions["loop"], versions["changed"]) == (run.loop_version, ["critic_system"])
    assert versions["prompts"]["write_system"] == run.prompt_versions["write_system"]
