"""Runs and tasks are narrowed and sorted by what pipelines know of them."""

import json
from base64 import urlsafe_b64encode
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from typing import Any
from uuid import uuid4

import pytest

from reflection_app.core.models import Project
from reflection_app.runs.models import Run, RunState
from reflection_app.tasks.models import Task
from tests import given, then
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db
DAY = datetime(2026, 3, 1, tzinfo=UTC)


def made(project: Project, number: int, *, cost: str = "0", **submission: Any) -> Run:
    """A run, and its task, of the `number`-th of March."""
    run = given.submitted_run(project, **submission)
    at = DAY + timedelta(days=number - 1)
    Run.objects.filter(pk=run.pk).update(created_at=at, cost_usd=Decimal(cost))
    Task.objects.filter(pk=run.task_id).update(created_at=at)
    return run


def runs_found(caller: Caller, **query: Any) -> list[str]:
    return [run["id"] for run in caller.get("runs", **query).body["results"]]


def tasks_found(caller: Caller, **query: Any) -> list[str]:
    return [task["id"] for task in caller.get("tasks", **query).body["results"]]


FITTING: list[dict[str, str]] = [
    {"external_id": "poem-1"},
    {"kind": "refunds"},
    {"agent": "writer"},
    {"created_from": "2026-03-02T01:00:00+01:00", "created_before": "2026-03-02T02:00:00+01:00"},
    {"metadata_key": "team", "metadata_value": "blue"},
    {"metadata_key": "tries", "metadata_value": "2"},
    {"metadata_key": "urgent", "metadata_value": "true"},
    {"cost_from_usd": "0.10", "cost_below_usd": "0.5"},
    {"state": "waiting_agent"},
]


def test_of_three_the_one_that_fits_is_found(caller: Caller) -> None:
    known = {"team": "blue", "tries": 2, "urgent": True}
    made(caller.project, 1, cost="0.09", metadata={"tries": 3, "urgent": False})
    wanted = made(caller.project, 2, cost="0.10", external_id="poem-1", kind="refunds", agent="writer", metadata=known)
    made(caller.project, 3, cost="0.5", metadata={"tries": "two"})
    Run.objects.filter(pk=wanted.pk).update(state=RunState.WAITING_AGENT)
    for query in FITTING:
        assert runs_found(caller, **query) == [str(wanted.pk)], query
        assert tasks_found(caller, **query) == [str(wanted.task_id)], query
    assert runs_found(given.caller(given.project()), **FITTING[0]) == []


def test_by_how_it_ended_and_how_well(caller: Caller) -> None:
    ended, waits = given.finished_run(caller.project), given.submitted_run(caller.project)
    for query in ({"outcome": "succeeded"}, {"score_from": 90}, {"score_from": 80, "score_below": 90.5}):
        assert runs_found(caller, **query) == [str(ended.pk)]
        assert tasks_found(caller, **query) == [str(ended.task_id)]
    assert runs_found(caller, score_below=90) == tasks_found(caller, outcome="failed") == []
    assert ended.finished_at is not None
    assert runs_found(caller, finished_from=ended.finished_at.isoformat()) == [str(ended.pk)]
    assert runs_found(caller, finished_before=ended.finished_at.isoformat()) == []
    assert runs_found(caller, state="queued") == [str(waits.pk)]


def test_a_task_is_found_by_its_newest_run_alone(caller: Caller) -> None:
    ended = given.finished_run(caller.project)
    assert tasks_found(caller, state="finished") == [str(ended.task_id)]
    forked = caller.post(f"runs/{ended.pk}/fork", {"from_step": 1})
    assert forked.status == 201
    assert tasks_found(caller, state="finished") == []
    assert tasks_found(caller, state="queued") == [str(ended.task_id)]


@pytest.mark.parametrize(
    ("sort", "order"),
    [("created_at", [1, 2, 3]), ("-created_at", [3, 2, 1]), ("cost_usd", [2, 1, 3]), ("-cost_usd", [3, 1, 2])],
)
def test_a_sorted_list_goes_on_page_by_page(caller: Caller, sort: str, order: list[int]) -> None:
    runs = [made(caller.project, number, cost=cost) for number, cost in ((1, "0.2"), (2, "0.1"), (3, "12"))]
    wanted = [str(runs[number - 1].pk) for number in order]
    first = caller.get("runs", sort=sort, limit=2).body
    second = caller.get(first["next"]).body
    assert [run["id"] for page in (first, second) for run in page["results"]] == wanted
    assert second["next"] is None
    assert [run["id"] for run in caller.get(second["previous"]).body["results"]] == wanted[:2]
    if sort.endswith("created_at"):
        assert tasks_found(caller, sort=sort) == [str(runs[number - 1].task_id) for number in order]


def test_sorted_by_their_end_only_those_that_ended_are_listed(caller: Caller) -> None:
    ended = [given.finished_run(caller.project) for _ in range(2)]
    given.submitted_run(caller.project)
    assert runs_found(caller, sort="-finished_at") == [str(run.pk) for run in reversed(ended)]


@pytest.mark.parametrize(
    "query",
    [
        {"sort": "spec"},
        {"metadata_value": "blue"},
        {"created_from": "2026-03-02T00:00:00"},
        {"cost_from_usd": "1e-20000"},
        {"cost_below_usd": "0.000000001"},
    ],
)
def test_what_is_no_filter_is_refused(caller: Caller, query: dict[str, str]) -> None:
    for path in ("runs", "tasks"):
        then.refused(caller.get(path, **query), 400)


@pytest.mark.parametrize("cost", ["1e999999", "1e-999999", "1e20000"])
def test_a_cursor_at_a_cost_that_no_run_can_have_is_refused(caller: Caller, cost: str) -> None:
    position = json.dumps([cost, str(uuid4())])
    cursor = urlsafe_b64encode(f">{position}".encode()).decode().rstrip("=")
    then.refused(caller.get("runs", sort="cost_usd", cursor=cursor), 400)
