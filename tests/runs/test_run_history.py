import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.runs.models import Run
from tests import given
from tests.api.caller import Caller

pytestmark = pytest.mark.django_db


@pytest.fixture(scope="module")
def caller(module_transaction: None) -> Caller:
    return given.caller()


@pytest.fixture(scope="module")
def run(caller: Caller) -> Run:
    """A finished run, the same for all tests."""
    return given.finished_run(caller.project)


def test_events_after_a_number_come_in_order(caller: Caller, run: Run) -> None:
    events = caller.get(f"runs/{run.pk}/events").body["results"]
    assert [event["seq"] for event in events] == list(range(1, len(events) + 1))
    assert (events[0]["type"], events[-1]["type"]) == ("run.created", "run.finished")
    assert events[-1]["payload"] == {"outcome": "succeeded", "best_attempt": 2}

    later = caller.get(f"runs/{run.pk}/events", after=3, limit=2).body
    assert later["results"] == events[3:5]
    assert caller.get(later["next"]).body["results"] == events[5:7]
    assert caller.get(f"runs/{run.pk}/events", after=len(events)).body["results"] == []


@pytest.mark.parametrize("part", ["steps", "attempts", "events"])
def test_a_history_takes_few_queries(
    caller: Caller, run: Run, part: str, django_assert_max_num_queries: DjangoAssertNumQueries
) -> None:
    caller.get("runs")
    with django_assert_max_num_queries(7):
        caller.get(f"runs/{run.pk}/{part}")
