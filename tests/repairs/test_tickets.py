"""What people and agents do with a rewind ticket, and what its run does to it."""

import pytest

from reflection_app.core.audit import Actor, AuditEntry
from reflection_app.core.errors import InvalidInput, MakesItsOwn, TicketMovedOn
from reflection_app.repairs.models import Ticket, TicketState
from reflection_app.repairs.rows import end_tickets
from reflection_app.repairs.tickets import ClosingInput, close_ticket, start_ticket
from reflection_app.runs.advance import advance
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import Event
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt, next_attempt_of
from reflection_app.runs.models import Run, Step
from reflection_app.runs.resuming import cancel_run
from tests import given, then, when
from tests.api.caller import Caller
from tests.repairs.tickets import SENT_BACK, external_run, handed_in, ticket_of
from tests.reviews.test_reviews import together
from tests.runs.forking import forked
from tests.runs.test_protocol_pages import ANSWERS

pytestmark = pytest.mark.django_db


def protocol_run() -> Run:
    """Return a run of the six steps that succeeded."""
    project = given.scripted_project("six", ANSWERS)
    return given.advanced_run(project, mode="reflection_protocol", agent="academic-researcher")


def closing(reason: str = "Not worth it.") -> ClosingInput:
    return ClosingInput(reason=reason)


def test_the_agent_says_that_it_takes_the_ticket_up() -> None:
    run = external_run()
    key, _ = given.api_key(run.project, name="pipeline")
    started = start_ticket(ticket_of(run), actor=Actor(api_key=key))
    assert started.state == TicketState.IN_PROGRESS
    assert started.started_at is not None
    trail = AuditEntry.objects.get(action="ticket.started")
    assert (trail.actor_label, trail.target_id) == ("key pipeline", started.pk)
    assert Event.objects.get(run=run, type="ticket.started").payload == {
        "ticket": started.ticket_id,
        "by": "key pipeline",
    }


@pytest.mark.django_db(transaction=True)
def test_of_two_agents_at_once_one_takes_it_up() -> None:
    ticket = ticket_of(external_run())
    results = together(*[lambda: start_ticket(Ticket.objects.get(pk=ticket.pk), actor=Actor()) for _ in range(2)])
    assert sorted(type(result).__name__ for result in results) == ["Ticket", "TicketMovedOn"]
    assert AuditEntry.objects.filter(action="ticket.started").count() == 1


def test_a_run_that_repairs_itself_takes_its_tickets_up_itself() -> None:
    answers = SENT_BACK | {f"attempt-{number}/answer": f"text {number}" for number in (1, 2, 3)}
    run = given.scripted_run(answers, project=given.project(review_policy={"audit_share": 0}))
    advance(run.pk)
    with pytest.raises(MakesItsOwn):
        start_ticket(ticket_of(run, 2), actor=Actor())


def test_the_next_ticket_supersedes_and_the_accepted_attempt_resolves() -> None:
    run = handed_in(external_run(), "second")
    first, second = ticket_of(run), ticket_of(run, 2)
    assert (first.state, first.superseded_by) == (TicketState.SUPERSEDED, second)
    run = handed_in(run, "third")
    second.refresh_from_db()
    assert (run.outcome, second.state) == ("succeeded", TicketState.RESOLVED)
    assert second.resolved_by is not None
    assert second.resolved_by.number == 3
    assert second.ended_at is not None


def test_a_run_that_ends_otherwise_closes_its_ticket_with_the_reason() -> None:
    run = external_run()
    cancel_run(run, actor=Actor())
    ticket = ticket_of(run)
    assert (ticket.state, ticket.closed_reason) == (TicketState.CLOSED, "the run ended: cancelled")


def test_closing_cancels_the_run_that_waits_for_the_repair() -> None:
    run = external_run()
    closed = close_ticket(ticket_of(run), closing(), actor=Actor())
    run.refresh_from_db()
    assert (closed.ticket.state, closed.ticket.closed_reason, closed.run_goes_on) == ("closed", "Not worth it.", "")
    assert (run.outcome, closed.ticket.ended_by_label) == ("cancelled", "system")
    assert AuditEntry.objects.get(action="ticket.closed").after["run_cancelled"] is True


def test_closing_leaves_a_run_that_judges_a_later_attempt_and_says_why() -> None:
    run = external_run()
    hand_in_attempt(run, AttemptInput(content="second"), actor=Actor())
    closed = close_ticket(ticket_of(run), closing(), actor=Actor())
    run.refresh_from_db()
    assert not run.is_finished
    assert "Attempt 2 was made after the ticket" in closed.run_goes_on
    advance(run.pk)
    assert ticket_of(run).state == TicketState.CLOSED


def test_closing_without_a_reason_is_refused() -> None:
    run = external_run()
    with pytest.raises(InvalidInput) as refused:
        close_ticket(ticket_of(run), closing("  \n"), actor=Actor())
    assert refused.value.errors[0]["field"] == "reason"
    assert ticket_of(run).is_open


@pytest.mark.django_db(transaction=True)
def test_of_two_who_close_at_once_one_does() -> None:
    ticket = ticket_of(external_run())
    results = together(
        *[lambda: close_ticket(Ticket.objects.get(pk=ticket.pk), closing(), actor=Actor()) for _ in range(2)]
    )
    assert sorted(type(result).__name__ for result in results) == ["Closed", "TicketMovedOn"]
    assert AuditEntry.objects.filter(action="ticket.closed").count() == 1


def test_an_ended_ticket_says_what_became_of_it() -> None:
    run = handed_in(external_run(), "second")
    with pytest.raises(TicketMovedOn, match=f"superseded by {ticket_of(run, 2).ticket_id}"):
        start_ticket(ticket_of(run), actor=Actor())
    with pytest.raises(TicketMovedOn, match="superseded"):
        close_ticket(ticket_of(run), closing(), actor=Actor())


def test_a_fork_leaves_the_parents_ticket_and_has_it_beside_its_prompt() -> None:
    run = external_run()
    asked = Step.objects.get(run=run, key="attempt-2/answer")
    before = Ticket.objects.filter(run=run).values().get()
    handed_in(run, "second")
    fork = forked(run, asked.seq)
    when.advances(fork)
    told = next_attempt_of(fork)
    assert told is not None
    assert told.ticket is not None
    assert told.ticket.ticket_id == before["ticket_id"]
    assert not Ticket.objects.filter(run=fork).exists()
    handed_in(fork, "another second")
    own = Ticket.objects.get(run=fork)
    assert own.ticket_id != before["ticket_id"]
    assert ticket_of(run).superseded_by == ticket_of(run, 2)


def test_the_first_of_the_six_steps_takes_the_ticket_up_and_the_accepted_attempt_resolves_it() -> None:
    run = protocol_run()
    ticket = ticket_of(run)
    assert (ticket.state, ticket.resolved_by and ticket.resolved_by.number) == (TicketState.RESOLVED, 2)
    assert ticket.started_at is not None
    assert ticket.ended_at is not None
    assert ticket.created_at <= ticket.started_at <= ticket.ended_at
    told = list(Event.objects.filter(run=run, type__startswith="ticket.").values_list("type", "payload__ticket"))
    assert told == [(f"ticket.{what}", ticket.ticket_id) for what in ("issued", "started", "ended")]


def test_a_fork_within_the_six_steps_leaves_the_parents_ticket_as_it_was() -> None:
    run = protocol_run()
    before = Ticket.objects.filter(run=run).values().get()
    fork = forked(run, Step.objects.get(run=run, key="attempt-1/plan").seq)
    advance(fork.pk)
    then.run_succeeded(fork)
    assert Ticket.objects.filter(run=run).values().get() == before
    assert not Ticket.objects.filter(run=fork).exists()


def test_a_ticket_is_not_resolved_where_an_attempt_from_before_it_is_kept() -> None:
    run = handed_in(external_run(), "second")
    run.best_attempt = run.attempts.get(number=1)
    batch = Batch()
    end_tickets(run, batch, outcome="succeeded")
    batch.write()
    run.save()
    ticket = ticket_of(run, 2)
    assert (ticket.state, ticket.resolved_by) == (TicketState.CLOSED, None)
    assert ticket.closed_reason == "an attempt from before the ticket was accepted"


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
    told = caller.get(f"tickets/{ticket_of(run).ticket_id}").body
    assert told.keys() >= OF_THE_SPECIFICATION
    assert (told["verdict"], told["quality_score"], told["trigger"]) == ("REVISE", 40, "critic_evaluation")
    assert (told["target_agent"], told["target_phase"]) == ("researcher", "research")
    assert told["repair_plan"] == ["Find five"]
    assert told["context_needed"] == ["objective", "attempt 1"]


def test_the_ticket_stands_beside_the_prompt_to_continue_with(caller: Caller, run: Run) -> None:
    told = caller.get(f"runs/{run.pk}").body["next"]
    assert told["attempt"] == 2
    assert told["ticket"].keys() == OF_THE_SPECIFICATION | {"trigger"}
    answer = caller.post(f"runs/{run.pk}/attempts", {"content": "second"})
    assert answer.body["next"] is None
    advance(run.pk)
    assert caller.get(f"runs/{run.pk}").body["next"]["ticket"]["ticket_id"] == ticket_of(run, 2).ticket_id
