from unittest.mock import ANY
from uuid import uuid4

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.audit import AuditEntry
from tests.api.caller import Caller, assert_problem, fields
from tests.api.stories import finished_run, waiting_review
from tests.factories import submit

pytestmark = pytest.mark.django_db(transaction=True)


def test_a_finished_run_tells_outcome_best_attempt_and_usage(caller: Caller) -> None:
    run = caller.get(f"runs/{finished_run(caller.project).pk}").body

    assert (run["state"], run["outcome"], run["error"], run["waiting_for"]) == ("finished", "succeeded", None, None)
    assert run["best_attempt"] == {
        "number": 2,
        "content": "second",
        "cut_off": False,
        "score": 90.0,
        "referee": "critic",
        "passed_lowered": False,
        "edited": False,
        "edited_from": None,
        "edited_by": None,
        "original": None,
    }
    assert run["attempts"] == 2
    assert run["usage"]["llm_calls"] == 4
    assert run["usage"]["prompt_tokens"] > 0
    assert (run["parent_id"], run["forked_from_step"]) == (None, None)
    assert run["created_at"] <= run["started_at"] <= run["finished_at"]
    assert run["finished_at"].endswith("Z")


def test_a_run_that_waits_for_a_reviewer_says_so(caller: Caller) -> None:
    run = caller.get(f"runs/{waiting_review(caller.project).run_id}").body
    assert (run["state"], run["waiting_for"], run["outcome"]) == ("waiting_review", "rejected", None)


def test_runs_are_found_by_state_outcome_mode_agent_and_task(caller: Caller) -> None:
    done, queued = finished_run(caller.project), submit(caller.project, agent="a", tests={"script": "assert True"})
    for query, run in (
        ({"agent": "a"}, queued),
        ({"state": "finished"}, done),
        ({"outcome": "succeeded"}, done),
        ({"mode": "external_loop"}, queued),
        ({"task": str(queued.task_id)}, queued),
        ({"state": "queued", "mode": "external_loop"}, queued),
    ):
        assert [found["id"] for found in caller.get("runs", **query).body["results"]] == [str(run.pk)], query


@pytest.mark.parametrize("query", [{"task": "1"}, {"state": "lost"}, {"outcome": ""}, {"mode": "a,b"}, {"limit": "-1"}])
def test_a_filter_that_makes_no_sense_is_refused(caller: Caller, query: dict[str, str]) -> None:
    answer = caller.get("runs", **query)
    assert_problem(answer, 400)
    assert fields(answer) == list(query)


def test_another_projects_task_finds_no_runs(caller: Caller) -> None:
    assert caller.get("runs", task=uuid4()).body["results"] == []


def test_a_list_of_runs_takes_as_many_queries_for_many_as_for_one(
    caller: Caller, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    for _ in range(3):
        finished_run(caller.project)
    caller.get("runs")
    with django_assert_max_num_queries(4):
        assert len(caller.get("runs").body["results"]) == 3


def test_a_cancelled_run_is_finished_and_keeps_its_best_attempt(caller: Caller) -> None:
    run_id = waiting_review(caller.project).run_id
    answer = caller.post(f"runs/{run_id}/cancel")

    assert answer.status == 200
    assert (answer.body["state"], answer.body["outcome"]) == ("finished", "cancelled")
    assert answer.body["best_attempt"]["content"] == "first"
    assert caller.get(f"runs/{run_id}").body == answer.body | {
        "next": None,
        "completeness": None,
        "completeness_lots": None,
        "tool_permissions": [],
        "versions": ANY,
        "models": ANY,
    }
    assert AuditEntry.objects.get(action="run.cancelled").api_key_id == caller.key.pk


def test_a_run_that_has_ended_cannot_be_cancelled(caller: Caller) -> None:
    run = submit(caller.project)
    assert caller.post(f"runs/{run.pk}/cancel", {}).status == 200
    answer = caller.post(f"runs/{run.pk}/cancel")
    assert_problem(answer, 409)
    assert answer.body["title"] == "Run finished"


def test_cancelling_takes_no_fields(caller: Caller) -> None:
    run = submit(caller.project)
    answer = caller.post(f"runs/{run.pk}/cancel", {"reason": "none"})
    assert_problem(answer, 400)
    assert fields(answer) == ["reason"]
