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


def test_the_journal_tells_each_step_with_what_it_cost(caller: Caller, run: Run) -> None:
    steps = caller.get(f"runs/{run.pk}/steps").body["results"]

    assert [step["seq"] for step in steps] == list(range(1, len(steps) + 1))
    first = steps[0]
    assert (first["key"], first["kind"], first["state"]) == ("attempt-1/answer", "generate", "done")
    assert (first["role"], first["attempt"], first["error"]) == ("actor", 1, None)
    assert first["model"].startswith("scripted/")
    assert first["prompt_tokens"] > 0
    assert first["cost_usd"] == "0.00000000"
    assert first["result"]["text"] == "first"
    assert first["request"]["messages"][0]["role"] == "system"
    assert first["started_at"] <= first["finished_at"]
    assert {step["kind"] for step in steps} == {"generate", "record_verdict", "issue_ticket"}


def test_attempts_carry_every_verdict_on_them(caller: Caller, run: Run) -> None:
    attempts = caller.get(f"runs/{run.pk}/attempts").body["results"]

    assert [(attempt["number"], attempt["content"]) for attempt in attempts] == [(1, "first"), (2, "second")]
    (verdict,) = attempts[0]["verdicts"]
    assert (verdict["referee"], verdict["verdict"], verdict["score"]) == ("critic", "REVISE", 40.0)
    assert (verdict["confidence"], verdict["issues"], verdict["tests"]) == (0.9, [], None)
    assert verdict["feedback"] == {"strengths": [], "weaknesses": [], "suggestions": []}


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
