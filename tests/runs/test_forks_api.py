"""Forking over REST."""

import pytest

from reflection_app.core.models import Project
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller
from tests.runs.critiques import critique

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
    run = given.scripted_run(answers, project=project, mode="actor_critic")
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


def test_a_run_tells_what_it_began_with(caller: Caller) -> None:
    run = run_of(caller.project)
    Run.objects.filter(pk=run.pk).update(prompt_versions=run.prompt_versions | {"critic_system": "0" * 12})
    versions = caller.get(f"runs/{run.pk}").body["versions"]
    assert (versions["loop"], versions["changed"]) == (run.loop_version, ["critic_system"])
    assert versions["prompts"]["write_system"] == run.prompt_versions["write_system"]
