"""A task that requires a review, over REST: its run waits, makes attempts, and ends once, by a person's decision."""

from typing import Any

import pytest

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Run
from reflection_app.tasks.redo import RedoInput, redo_run
from reflection_app.teams.models import Delivery
from tests import given, then
from tests.adapters.outgoing.conftest import loopback
from tests.api.caller import Caller
from tests.metrics.settled import let_settle
from tests.runs.critiques import critique
from tests.teams.webhooks import make_webhook

__all__ = ["loopback"]

pytestmark = pytest.mark.django_db

GOOD = {f"attempt-{number}/critique": critique(90, approved=True) for number in (1, 2)}


@pytest.fixture
def project() -> Project:
    return given.project(
        review_policy={"audit_share": 1},
        models_by_role={"default": register_script("required-review", GOOD)},
    )


@pytest.fixture
def caller(project: Project) -> Caller:
    return given.caller(project, ["tasks:write", "runs:read"])


def submitted(caller: Caller, **fields: Any) -> Run:
    body = {"objective": "Write a haiku.", "mode": "actor_critic", "execution": "external", "review": "required"}
    answer = caller.post("tasks", body | fields)
    assert answer.status == 201, answer.body
    run = Run.objects.get(pk=answer.body["run"]["id"])
    advance(run.pk)
    return run


def hand_in(caller: Caller, run: Run, content: str) -> dict[str, Any]:
    assert caller.post(f"runs/{run.pk}/attempts", {"content": content}).status in {200, 201, 202}
    advance(run.pk)
    body: dict[str, Any] = caller.get(f"runs/{run.pk}").body
    return body


def decide(run: Run, **said: Any) -> Review:
    """The run's open review, decided by a member; the run goes on."""
    review = Review.objects.get(run=run, state="waiting")
    actor = Actor(user=given.member(run.project))
    held = claim_review(review, actor=actor)
    decided = decide_review(held, DecisionInput.model_validate({"lease_token": held.lease_token, **said}), actor=actor)
    advance(run.pk)
    return decided


def finished(run: Run) -> list[str]:
    return list(Event.objects.filter(run=run, type=EventType.RUN_FINISHED).values_list("payload__outcome", flat=True))


@pytest.mark.usefixtures("loopback")
def test_a_run_waits_goes_on_with_what_was_sent_back_and_ends_once_by_the_decision(
    project: Project, caller: Caller
) -> None:
    make_webhook(project, "http://127.0.0.1:9/hook")
    run = submitted(caller)
    told = hand_in(caller, run, "one")
    assert (told["state"], told["outcome"], told["waiting_for"]) == ("waiting_review", None, "required")

    decide(run, decision="overrule", verdict="REVISE", score=40, reason="Name the season.")
    told = caller.get(f"runs/{run.pk}").body
    assert (told["state"], told["next"]["attempt"], told["next"]["verdict"]["score"]) == ("waiting_agent", 2, 40)
    assert "Name the season." in told["next"]["prompt"]
    assert finished(run) == []

    assert hand_in(caller, run, "two")["state"] == "waiting_review"
    decided = decide(run, decision="approve")
    told = caller.get(f"runs/{run.pk}").body
    assert (told["outcome"], told["best_attempt"]["number"], told["best_attempt"]["referee"]) == (
        "succeeded",
        2,
        "person",
    )
    assert Run.objects.count() == 1
    assert finished(run) == ["succeeded"]
    assert Delivery.objects.count() == 1
    # No audit was drawn as well.
    assert list(Review.objects.order_by("created_at").values_list("reason", flat=True)) == ["required", "required"]

    let_settle()
    [row] = given.caller(project, ["admin"]).get("datasets/runs", scripted="true").body["results"]
    assert (row["outcome"], row["answer"], row["answer_referee"]) == ("succeeded", "two", "person")
    assert [(one["verdict"], one["by"]) for one in row["decisions"]][-1] == ("PASS", decided.decided_by_label)
    assert [one["verdict"] for one in row["decisions"]] == ["REVISE", "PASS"]


def test_an_undone_decision_makes_the_run_wait_again(project: Project, caller: Caller) -> None:
    run = submitted(caller)
    hand_in(caller, run, "one")
    decided = decide(run, decision="overrule", verdict="REJECT", reason="No.")
    then.run_ended(run, "rejected")
    assert decided.decided_by is not None
    undo_decision(decided, actor=Actor(user=decided.decided_by))
    again = Run.objects.get(pk=run.pk)
    assert (again.state, again.outcome, again.waiting_for) == ("waiting_review", None, "required")


def test_the_demand_is_stored_returned_and_inherited(project: Project, caller: Caller) -> None:
    run = submitted(caller)
    assert caller.get(f"tasks/{run.task_id}").body["review"] == "required"
    hand_in(caller, run, "one")
    decide(run, decision="approve")
    run.refresh_from_db()
    actor = Actor(user=given.member(project))
    assert fork_run(run, ForkInput(from_step=2), actor=actor).get_spec().requires_review
    assert redo_run(run, RedoInput(instructions="Shorter."), actor=actor).get_spec().requires_review
