"""Rewind tickets over REST, and the ticket beside the prompt of an outside agent."""

from typing import Any

import pytest

from reflection_app.core.models import Project, Scope
from reflection_app.repairs.models import Ticket
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.api.caller import Caller, assert_problem, fields, make_caller
from tests.api.stories import finished_run
from tests.factories import make_project
from tests.repairs.tickets import external_run, handed_in, ticket_of

pytestmark = pytest.mark.django_db(transaction=True)

OF_THE_SPECIFICATION = {
    "ticket_id",
    "timestamp",
    "target_agent",
    "target_phase",
    "verdict",
    "quality_score",
    "issues",
    "repair_plan",
    "context_needed",
}


@pytest.fixture
def run(caller: Caller) -> Run:
    return external_run(project=caller.project, phase="research")


def test_a_ticket_tells_what_is_wrong_and_what_to_do(caller: Caller, run: Run) -> None:
    ticket = ticket_of(run)
    told = caller.get(f"tickets/{ticket.ticket_id}").body
    assert told.keys() >= OF_THE_SPECIFICATION
    assert (told["verdict"], told["quality_score"], told["trigger"]) == ("REVISE", 40, "critic_evaluation")
    assert (told["target_agent"], told["target_phase"]) == ("researcher", "research")
    assert told["issues"][0] == {
        "category": "other",
        "severity": "medium",
        "description": "Three papers",
        "suggested_fix": "Find five",
        "path": "",
    }
    assert told["repair_plan"] == ["Find five"]
    assert told["context_needed"] == ["objective", "attempt 1"]
    assert (told["state"], told["run_id"], told["attempt"]) == ("open", str(run.pk), 1)
    assert (told["superseded_by"], told["reports"], told["started_at"], told["ended_at"]) == (None, [], None, None)


def test_the_ticket_stands_beside_the_prompt_to_continue_with(caller: Caller, run: Run) -> None:
    told = caller.get(f"runs/{run.pk}").body["next"]
    assert told["attempt"] == 2
    assert told["ticket"].keys() == OF_THE_SPECIFICATION | {"trigger"}
    assert told["ticket"]["ticket_id"] == ticket_of(run).ticket_id
    assert told["ticket"]["repair_plan"] == ["Find five"]
    answer = caller.post(f"runs/{run.pk}/attempts", {"content": "second"})
    assert answer.body["next"] is None
    advance(run.pk)
    assert caller.get(f"runs/{run.pk}").body["next"]["ticket"]["ticket_id"] == ticket_of(run, 2).ticket_id


def test_the_first_attempt_has_no_ticket(caller: Caller) -> None:
    from tests.runs.scripts import scripted_run

    fresh = scripted_run({}, project=caller.project, execution="external")
    advance(fresh.pk)
    assert caller.get(f"runs/{fresh.pk}").body["next"]["ticket"] is None


def test_the_list_is_filtered_and_paged(caller: Caller, run: Run) -> None:
    run = handed_in(run, "second")
    first, second = ticket_of(run).ticket_id, ticket_of(run, 2).ticket_id

    def listed(**query: Any) -> list[str]:
        return [one["ticket_id"] for one in caller.get("tickets", **query).body["results"]]

    assert listed() == [second, first]
    assert listed(state="open") == [second]
    assert listed(state="superseded") == [first]
    assert listed(agent="researcher", run=run.pk, trigger="critic_evaluation") == [second, first]
    assert listed(agent="somebody else") == []
    assert listed(trigger="persons_order") == []
    page = caller.get("tickets", limit=1).body
    assert [one["ticket_id"] for one in page["results"]] == [second]
    assert [one["ticket_id"] for one in caller.get(page["next"]).body["results"]] == [first]
    assert caller.get(f"tickets/{first}").body["superseded_by"] == second


@pytest.mark.parametrize(("name", "value"), [("state", "lost"), ("trigger", "mood"), ("run", "1"), ("nothing", "x")])
def test_a_filter_that_is_none_is_refused_by_name(caller: Caller, name: str, value: str) -> None:
    answer = caller.get("tickets", **{name: value})
    assert_problem(answer, 400)
    assert fields(answer) == [name]


def test_an_agent_takes_it_up_once(caller: Caller, run: Run) -> None:
    path = f"tickets/{ticket_of(run).ticket_id}/start"
    first = caller.post(path, idempotency_key="take-up")
    assert (first.status, first.body["state"]) == (200, "in_progress")
    assert first.body["started_at"] is not None
    again = caller.post(path, idempotency_key="take-up")
    assert (again.status, again.body) == (200, first.body)
    refused = caller.post(path)
    assert_problem(refused, 409)
    assert "in progress already" in refused.body["detail"]


def test_closing_needs_a_reason_and_cancels_the_run_that_waits(caller: Caller, run: Run) -> None:
    reviewer = make_caller(caller.project, [Scope.REVIEWS_WRITE])
    path = f"tickets/{ticket_of(run).ticket_id}/close"
    refused = reviewer.post(path, {"reason": " "})
    assert_problem(refused, 400)
    assert fields(refused) == ["reason"]
    closed = reviewer.post(path, {"reason": "The client withdrew it."})
    assert closed.status == 200
    assert (closed.body["run_cancelled"], closed.body["run_goes_on"]) == (True, None)
    assert (closed.body["ticket"]["state"], closed.body["ticket"]["closed_reason"]) == (
        "closed",
        "The client withdrew it.",
    )
    assert closed.body["ticket"]["ended_by"] == f"key {reviewer.key.name}"
    run.refresh_from_db()
    assert run.outcome == "cancelled"
    assert_problem(reviewer.post(path, {"reason": "Again."}), 409)
    assert_problem(make_caller(caller.project, [Scope.TASKS_WRITE]).post(path, {"reason": "x"}), 403)


def test_another_projects_tickets_are_not_there(caller: Caller) -> None:
    theirs: Project = make_project()
    ticket: Ticket = ticket_of(external_run(project=theirs))
    assert caller.get("tickets").body["results"] == []
    assert caller.get("tickets", run=ticket.run_id).body["results"] == []
    assert_problem(caller.get(f"tickets/{ticket.ticket_id}"), 404)
    assert_problem(caller.post(f"tickets/{ticket.ticket_id}/start"), 404)


def test_a_finished_run_is_ordered_again(caller: Caller) -> None:
    old = finished_run(caller.project)
    body = {"instructions": "Half as long.", "attempt": 1}
    assert_problem(make_caller(caller.project, [Scope.TASKS_WRITE]).post(f"runs/{old.pk}/redo", body), 403)
    caller = make_caller(caller.project, [Scope.REVIEWS_WRITE, Scope.RUNS_READ])
    redone = caller.post(f"runs/{old.pk}/redo", body, idempotency_key="redo")
    assert redone.status == 201
    told = redone.body
    assert (told["parent_id"], told["forked_from_step"], told["mode"]) == (str(old.pk), None, "reflection_protocol")
    assert (told["fork_note"], told["forked_by"]) == ("Half as long.", f"key {caller.key.name}")
    again = caller.post(f"runs/{old.pk}/redo", body, idempotency_key="redo")
    assert again.body["id"] == told["id"]
    assert caller.get(f"runs/{old.pk}").body["forks"] == [told["id"]]
    for refused, field in (({}, "instructions"), ({"instructions": "x", "attempt": 0}, "attempt")):
        answer = caller.post(f"runs/{old.pk}/redo", refused)
        assert_problem(answer, 400)
        assert fields(answer) == [field]
    assert_problem(caller.post(f"runs/{told['id']}/redo", {"instructions": "x"}), 409)
