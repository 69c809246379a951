"""Completeness over REST, by the client, over MCP and in events: checks, what recurs, figures."""

from datetime import timedelta
from urllib.parse import quote

import pytest
from django.utils import timezone

from reflection_app.repairs.models import CompletenessCheck
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run
from tests import given, then
from tests.loops.completeness.scenes import call_of, checked
from tests.repairs.completeness import reading_project, supplemented
from tests.repairs.test_recurring import FIRST, lacked

pytestmark = pytest.mark.django_db(transaction=True)

COMPLETE = {"attempt-1/completeness": checked(analysis="都有了")}


def test_checks_are_listed_with_what_came_of_them_and_narrowed_by_state_kind_time_and_run() -> None:
    project = reading_project()
    agent = given.caller(project)
    done = supplemented(project)
    complete = supplemented(project, COMPLETE, kind="another")
    listed = agent.get("completeness/checks").body["results"]
    assert [(one["run_id"], one["kind"], one["state"]) for one in listed] == [
        (str(complete.pk), "another", "complete"),
        (str(done.pk), "compare", "completed_by_supplement"),
    ]
    [missing] = listed[1]["supplements"]
    assert (missing["operation"], missing["attempted"], missing["succeeded"]) == (FIRST, True, True)

    def narrowed(**by: str) -> list[str]:
        query = "&".join(f"{name}={quote(value)}" for name, value in by.items())
        return [one["run_id"] for one in agent.get(f"completeness/checks?{query}").body["results"]]

    assert narrowed(state="complete") == narrowed(kind="another") == narrowed(run_id=str(complete.pk))
    assert narrowed(state="complete") == [str(complete.pk)]
    assert narrowed(kind="") == narrowed(state="unchecked") == []
    CompletenessCheck.objects.filter(run=done).update(created_at=timezone.now() - timedelta(days=2))
    assert narrowed(since=(timezone.now() - timedelta(days=1)).isoformat()) == [str(complete.pk)]
    then.refused(agent.get("completeness/checks?since=yesterday"), 400)
    assert given.caller(reading_project()).get("completeness/checks").body["results"] == []


def test_what_recurs_is_listed_once_with_what_came_of_it() -> None:
    project = reading_project()
    agent = given.caller(project)
    for _ in range(2):
        lacked(project, FIRST)
    [one] = agent.get("completeness/recurring").body["results"]
    assert (one["operation"], one["runs"], one["attempted"], one["succeeded"]) == (FIRST, 2, 2, 2)
    assert one["tokens"] > 0
    listed = agent.get("completeness/checks").body["results"]
    assert {check["supplements"][0]["recurring_as"] for check in listed} == {one["source"]}
    assert agent.get("completeness/recurring?kind=another").body["results"] == []
    assert agent.get("completeness/recurring?kind=compare").body["results"] == [one]


def test_events_say_that_something_was_missing_and_that_it_was_done() -> None:
    project = reading_project()
    done = supplemented(project)
    again = supplemented(project, {"attempt-1/supplement/step-1/arguments": call_of("read_file", path="一.txt")})
    complete = supplemented(project, COMPLETE)

    def told(run: Run) -> dict[str, object]:
        return dict(Event.objects.filter(run=run, type__startswith="completeness.").values_list("type", "payload"))

    incomplete = {"attempt": 1, "missing": 1, "supplements": 1}
    assert told(done) == {
        "completeness.incomplete": incomplete,
        "completeness.completed": {"attempt": 1, "supplements": 1},
    }
    assert told(again) == {"completeness.incomplete": incomplete}, "reading the same again completes nothing"
    assert told(complete) == {}
