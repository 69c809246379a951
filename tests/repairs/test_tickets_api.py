"""Rewind tickets over REST, and the ticket beside the prompt of an outside agent."""

import pytest

from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run
from tests.api.caller import Caller
from tests.repairs.tickets import external_run, ticket_of

pytestmark = pytest.mark.django_db

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
