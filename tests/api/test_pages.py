import pytest
from django.utils import timezone

from reflection_app.tasks.models import Task
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


def ids(body: dict[str, list[dict[str, str]]]) -> list[str]:
    return [row["id"] for row in body["results"]]


def test_pages_lead_through_all_rows_newest_first_and_back(caller: Caller) -> None:
    runs = [str(given.submitted_run(caller.project).task_id) for _ in range(5)][::-1]

    first = caller.get("tasks", limit=2).body
    second = caller.get(first["next"]).body
    third = caller.get(second["next"]).body
    assert [ids(first), ids(second), ids(third)] == [runs[:2], runs[2:4], runs[4:]]
    assert first["previous"] is None
    assert third["next"] is None

    back = caller.get(third["previous"]).body
    assert ids(back) == runs[2:4]
    assert ids(caller.get(back["previous"]).body) == runs[:2]
    assert ids(caller.get(back["next"]).body) == runs[4:]


def test_rows_of_the_same_moment_are_neither_lost_nor_doubled(caller: Caller) -> None:
    for _ in range(7):
        given.submitted_run(caller.project)
    Task.objects.update(created_at=timezone.now())

    seen: list[str] = []
    address: str | None = "tasks?limit=3"
    while address:
        page = caller.get(address).body
        seen += ids(page)
        address = page["next"]
    assert len(seen) == len(set(seen)) == 7


def test_rows_that_come_meanwhile_shift_nothing(caller: Caller) -> None:
    runs = [str(given.submitted_run(caller.project).pk) for _ in range(4)][::-1]
    first = caller.get("runs", limit=2).body
    given.submitted_run(caller.project)
    assert ids(caller.get(first["next"]).body) == runs[2:]


def test_a_cursor_does_not_open_another_project(caller: Caller) -> None:
    for _ in range(3):
        given.submitted_run(caller.project)
    address = caller.get("runs", limit=1).body["next"]
    assert given.caller().get(address).body["results"] == []
