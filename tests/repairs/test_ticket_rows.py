"""The life of tickets as runs go on: begun by the six steps, resolved, closed, and left alone by forks."""

import pytest

from reflection_app.repairs.models import Ticket, TicketState
from reflection_app.repairs.rows import end_tickets
from reflection_app.runs.advance import advance
from reflection_app.runs.batch import Batch
from reflection_app.runs.events import Event
from reflection_app.runs.models import Run, Step
from reflection_app.runs.recorded_steps import graph_of_run
from tests.repairs.tickets import external_run, handed_in, ticket_of
from tests.runs.forking import forked
from tests.runs.test_protocol_pages import protocol_run

pytestmark = pytest.mark.django_db


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
    fork.refresh_from_db()
    assert fork.outcome == "succeeded", fork.error
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


def test_the_graph_tells_the_ticket_as_the_way_back_and_each_step_in_words() -> None:
    run = protocol_run()
    graph, _ = graph_of_run(Run.objects.select_related("best_attempt").get(pk=run.pk))
    labels = [node.label for node in graph.nodes]
    for label in ("Reflection", "Classified", "Repair plan", "Repair step 1", "Repair step 2"):
        assert labels.count(label) == 1, labels
    assert not {"Ticket", "Explore", "Kept", "Report"} & set(labels)
    second = next(node.id for node in graph.nodes if node.label == "Attempt 2")
    assert [edge.kind.value for edge in graph.edges if edge.target == second and edge.kind.value != "fixed"] == [
        "rewound"
    ]
    classified = next(node for node in graph.nodes if node.label == "Classified")
    assert classified.detail.startswith("3.3.")
