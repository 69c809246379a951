"""Undo over REST, and what counts as having told an agent or a pipeline of a decision."""

from typing import Any

import pytest
from pytest_django.fixtures import DjangoAssertNumQueries

from reflection_app.core.models import Scope
from reflection_app.repairs.models import Report, Ticket
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, RunState
from tests import given, then
from tests.api.caller import Answer, Caller
from tests.repairs.tickets import handed_in
from tests.reviews.test_undo_decision import BAD, SIX_STEPS, UNSURE_REVISE, waiting
from tests.reviews.undoing import rows_of

pytestmark = pytest.mark.django_db


@pytest.fixture
def reviewer(caller: Caller) -> Caller:
    """A program that only reviews."""
    return given.caller(caller.project, [Scope.REVIEWS_WRITE])


def decide(reviewer: Caller, review: Review, decision: str = "redo", **said: Any) -> None:
    if decision == "redo":
        said = {"instructions": "Again.", **said}
    token = reviewer.post("reviews/claim", {"review_id": str(review.pk)}).body["lease_token"]
    answer = reviewer.post(f"reviews/{review.pk}/decision", {"lease_token": token, "decision": decision, **said})
    assert answer.status == 200, answer.body
    advance(review.run_id)


def undo(caller: Caller, review: Review) -> Answer:
    return caller.post(f"reviews/{review.pk}/undo")


ROUTES = (
    "runs/{run}",
    "runs",
    "runs/{run}/events",
    "runs/{run}/steps",
    "runs/{run}/attempts",
    "runs/{run}/graph",
    "tickets",
    "tickets/{ticket}",
    "reports",
    "reports/{report}",
    "reports/{report}/document",
    "reviews",
    "reviews/{review}",
    "tasks",
    "tasks/{task}",
)


@pytest.mark.exhaustive("every way in which an outcome is told")
@pytest.mark.parametrize("route", ROUTES)
def test_whatever_way_a_pipeline_was_told_the_decision_stands(caller: Caller, reviewer: Caller, route: str) -> None:
    task: dict[str, Any] = {"mode": "reflection_protocol", "limits": {"token_budget": 100_000}}
    run = given.scripted_run(SIX_STEPS | {"attempt-1/critique": BAD}, project=caller.project, **task)
    advance(run.pk)
    review = Review.objects.get(run=run)
    decide(reviewer, review)
    names = {
        "run": review.run_id,
        "review": review.pk,
        "task": review.run.task_id,
        "ticket": Ticket.objects.get(run=review.run).ticket_id,
        "report": Report.objects.get(run=review.run).reflection_id,
    }
    assert caller.get(route.format(**names)).status == 200
    refused = undo(reviewer, review)
    then.refused(refused, 409)
    assert refused.body["title"] == "Cannot be undone"
    assert "already notified" in refused.body["detail"]
    assert Review.objects.get(pk=review.pk).state == "decided"


def test_what_was_told_before_the_decision_does_not_count(caller: Caller, reviewer: Caller) -> None:
    review = waiting(BAD, project=caller.project)
    for route in (f"runs/{review.run_id}", "runs", "reviews", "tasks"):
        assert caller.get(route).status == 200
    decide(reviewer, review)
    assert undo(reviewer, review).status == 200


def test_nor_does_what_a_program_that_only_reviews_sees_or_another_projects(caller: Caller, reviewer: Caller) -> None:
    review = waiting(BAD, project=caller.project)
    stranger = given.caller()
    decide(reviewer, review)
    assert reviewer.get("reviews").status == reviewer.get(f"reviews/{review.pk}").status == 200
    assert stranger.get("runs").status == 200
    assert stranger.get(f"runs/{review.run_id}").status == 404
    assert undo(reviewer, review).status == 200


def test_an_agent_is_told_when_it_asks_and_not_before(caller: Caller, reviewer: Caller) -> None:
    caller.project.review_policy = {"audit_share": 0}
    caller.project.save()
    run = given.scripted_run({"attempt-1/critique": UNSURE_REVISE}, project=caller.project, execution="external")
    advance(run.pk)
    answer = caller.post(f"runs/{run.pk}/attempts", {"content": "first"})
    assert answer.status == 202
    advance(run.pk)
    review = Review.objects.get(run=run)
    before = rows_of(caller.project)
    decide(reviewer, review, "approve")
    assert undo(reviewer, review).status == 200
    assert reviewer.post(f"reviews/{review.pk}/release", {"lease_token": _token(review)}).status == 200
    assert rows_of(caller.project) == before

    decide(reviewer, review, "approve")
    assert caller.get(f"runs/{run.pk}").body["next"]["ticket"]["ticket_id"]
    assert "The agent or pipeline was already notified." in undo(reviewer, review).body["detail"]
    handed_in(run, "second")


def _token(review: Review) -> str:
    return str(Review.objects.get(pk=review.pk).lease_token)


def test_a_replayed_answer_tells_as_well(caller: Caller, reviewer: Caller) -> None:
    review = waiting(BAD, project=caller.project)
    review.run.refresh_from_db()
    assert review.run.state == RunState.WAITING_REVIEW
    cancelled = given.caller(caller.project, [Scope.TASKS_WRITE])
    decide(reviewer, review, "close")
    then.refused(cancelled.post(f"runs/{review.run_id}/cancel"), 409)
    assert undo(reviewer, review).status == 200


def test_telling_the_same_again_writes_nothing(
    caller: Caller, reviewer: Caller, django_assert_num_queries: DjangoAssertNumQueries
) -> None:
    review = waiting(BAD, project=caller.project)
    decide(reviewer, review)
    caller.get(f"runs/{review.run_id}")
    told = Run.objects.get(pk=review.run_id)
    assert told.told_seq == told.last_event_seq
    xmin = _xmin(review.run_id)
    caller.get(f"runs/{review.run_id}")
    caller.get("runs")
    assert _xmin(review.run_id) == xmin, "the row was written again"


def test_nothing_is_written_while_nothing_could_be_undone(caller: Caller) -> None:
    review = waiting(BAD, project=caller.project)
    xmin = _xmin(review.run_id)
    caller.get(f"runs/{review.run_id}")
    assert _xmin(review.run_id) == xmin
    assert Run.objects.get(pk=review.run_id).told_seq == 0


def _xmin(run_id: Any) -> str:
    return str(Run.objects.extra(select={"xmin": "xmin"}).values_list("xmin", flat=True).get(pk=run_id))
