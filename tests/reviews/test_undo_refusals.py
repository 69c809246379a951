"""A decision that others know of, or have built on, stands, and says why and where a fork would begin."""

import json
from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.errors import NotFound, StillStands
from reflection_app.loops import catalogue
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.loops.task_spec import Mode
from reflection_app.repairs.instructions import InstructionDecision, InstructionInput, decide_instruction
from reflection_app.repairs.models import AgentInstruction, Report, Ticket
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.repairs.tickets import ClosingInput, close_ticket
from reflection_app.reviews.claiming import claim_review, lost, release_review, skip_review
from reflection_app.reviews.comments import CommentInput, add_comment
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import About, Comment, Review
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run, Step
from reflection_app.runs.resuming import cancel_run
from reflection_app.tasks.redo import RedoInput, redo_run
from reflection_app.teams.tools import add_builtin_tools
from tests import given
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer
from tests.adapters.tools.making import http_tool
from tests.loops.protocol.playing import PLAN
from tests.loops.tool_playing import call_text
from tests.repairs.test_tool_failures_run import FINE
from tests.reviews.test_undo_decision import (
    BAD,
    GOOD,
    PAPERS,
    SENT_BACK_WAITS,
    SIX_STEPS,
    UNSURE_REVISE,
    person,
    waiting,
)
from tests.reviews.undoing import claimed, comes_back, decide, gone_on, rows_of
from tests.runs.critiques import critique

__all__ = ["loopback"]

pytestmark = pytest.mark.django_db
PROTOCOL: dict[str, Any] = {
    "mode": "reflection_protocol",
    "agent": "porter",
    "limits": {"token_budget": 100_000},
    "requirements": PAPERS,
}


def decided(review: Review, decision: str, **said: Any) -> tuple[Review, Actor]:
    """The review, decided, and its run gone on as far as it goes."""
    actor = person(review)
    claimed(review, actor)
    done = decide(review, actor, decision, **said)
    gone_on(review.run)
    return done, actor


def reflected() -> tuple[Review, Actor]:
    """A decision from which a report, an instruction and a second attempt followed."""
    run = gone_on(given.scripted_run(SIX_STEPS, project=given.project(review_policy=SENT_BACK_WAITS), **PROTOCOL))
    return decided(Review.objects.get(run=run), "approve")


def refused(review: Review, actor: Actor, why: str) -> StillStands:
    """The refusal, which changed nothing."""
    before = rows_of(review.project)
    with pytest.raises(StillStands, match=why) as found:
        undo_decision(review, actor=actor)
    assert rows_of(review.project) == before
    return found.value


def test_a_later_decision_stands_until_it_is_taken_back_itself() -> None:
    answers = {"attempt-1/critique": BAD, "attempt-2/answer": "second", "attempt-2/critique": BAD}
    project = given.project(review_policy={"audit_share": 0})
    run = gone_on(given.scripted_run({"attempt-1/answer": "first", **answers}, project=project))
    first, actor = decided(Review.objects.get(run=run), "redo", instructions="Again.")
    second, other = decided(Review.objects.get(run=run, attempt__number=2), "close")
    refusal = refused(first, actor, f"{other.label} decided on attempt 2 afterwards. Undo that decision first")
    assert first.step is not None
    assert refusal.from_step == first.step.seq

    again = undo_decision(second, actor=other)
    refused(first, actor, f"{other.label} is reviewing the later attempt 2")
    assert again.lease_token is not None
    release_review(again, lease_token=again.lease_token, actor=other)
    undo_decision(first, actor=actor)
    assert run.reviews.count() == 1


def test_an_attempt_handed_in_since_and_none_before() -> None:
    project = given.project(review_policy={"audit_share": 0})
    answers = {"attempt-1/critique": UNSURE_REVISE, "attempt-2/critique": GOOD}
    run = gone_on(given.scripted_run(answers, project=project, execution="external"))
    hand_in_attempt(run, AttemptInput(content="first"), actor=Actor())
    gone_on(run)
    review = Review.objects.get(run=run)
    actor = person(review)
    comes_back(review, actor, "approve")
    decide(review, actor, "approve")
    gone_on(run)
    hand_in_attempt(run, AttemptInput(content="second"), actor=Actor())
    refused(Review.objects.get(pk=review.pk), actor, "The agent already submitted its next attempt.")


def test_a_cancelled_run() -> None:
    review, actor = decided_and_queued()
    cancel_run(review.run, actor=actor)
    refused(review, actor, "The run was canceled afterwards.")


def decided_and_queued() -> tuple[Review, Actor]:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    return decide(review, actor, "redo", instructions="Again."), actor


def test_a_run_ordered_again_since() -> None:
    review, actor = decided(waiting(BAD), "accept", reason="Good.")
    redo_run(review.run, RedoInput(instructions="Half as long."), actor=actor)
    refused(review, actor, f"{actor.label} ordered a redo of the run afterwards.")


def test_a_run_forked_from_a_step_that_would_go_and_from_none_that_stays() -> None:
    review, actor = decided(waiting(BAD), "redo", instructions="Again.")
    assert review.step is not None
    fork_run(review.run, ForkInput(from_step=review.step.seq), actor=actor)
    before = Review.objects.get(pk=review.pk)
    fork_run(review.run, ForkInput(from_step=review.step.seq + 2), actor=actor)
    refused(before, actor, f"{actor.label} forked the run from a later step.")
    Run.objects.filter(parent=review.run, forked_from_step=review.step.seq + 2).delete()
    assert undo_decision(review, actor=actor).state == "claimed"


def test_a_corrected_class() -> None:
    review, actor = reflected()
    report = Report.objects.get(run=review.run)
    correct_class(report, CorrectionInput(type=ErrorClass.MODEL_CAPABILITY, reason="I read it"), actor=actor)
    refused(review, actor, f"{actor.label} corrected the error class afterwards.")


@pytest.mark.parametrize("decision", [InstructionDecision.ACCEPT, InstructionDecision.DECLINE])
def test_an_instruction_that_was_decided_on(decision: InstructionDecision) -> None:
    review, actor = reflected()
    decide_instruction(AgentInstruction.objects.get(), InstructionInput(decision=decision), actor=actor)
    refused(review, actor, f"{actor.label} already decided on the resulting instruction.")


def test_an_entry_that_the_notebook_has_taken_up() -> None:
    project = given.project(review_policy=SENT_BACK_WAITS)
    issue = {"category": "completeness", "severity": "high", "description": "two papers are missing from the list"}
    answers = SIX_STEPS | {"attempt-1/answer": "draft", "attempt-1/critique": critique(40, issues=[issue])}
    task = {name: value for name, value in PROTOCOL.items() if name != "requirements"}
    for _ in range(2):
        # The first run's was another class of error, and so another pattern by its words.
        Entry.objects.all().delete()
        run = gone_on(given.scripted_run(answers, project=project, **task))
        review, actor = decided(Review.objects.get(run=run), "approve")
    Entry.objects.update(state="approved")
    refused(review, actor, "The resulting notebook entry “")

    # Known by its words alone, it was counted there as well.
    Entry.objects.filter(kind="lesson").delete()
    Entry.objects.update(state="proposed", source="imported by a person")
    run = gone_on(given.scripted_run(answers, project=project, **task))
    review, actor = decided(Review.objects.get(run=run), "approve")
    assert Entry.objects.get(kind="anti_pattern").occurrences == 2
    Entry.objects.update(state="approved")
    refused(review, actor, "The resulting notebook entry “")


def test_a_closed_ticket() -> None:
    project = given.project(review_policy={"audit_share": 0})
    run = gone_on(given.scripted_run({"attempt-1/critique": UNSURE_REVISE}, project=project, execution="external"))
    hand_in_attempt(run, AttemptInput(content="first"), actor=Actor())
    gone_on(run)
    review, actor = decided(Review.objects.get(run=run), "approve")
    hand = Ticket.objects.get(run=run)
    close_ticket(hand, ClosingInput(reason="No use."), actor=actor)
    refused(review, actor, "The run was canceled afterwards.")


def test_a_loop_that_was_changed(monkeypatch: pytest.MonkeyPatch) -> None:
    review, actor = decided(waiting(BAD), "accept", reason="Good.")
    monkeypatch.setitem(catalogue.VERSIONS, Mode(review.run.spec["mode"]), 99)
    refused(review, actor, "The review loop changed after this run started, so the run cannot resume from there.")


def with_a_tool(tool: str, **arguments: str) -> dict[str, str]:
    plan = PLAN | {"repair_steps": [{"action": "Look it up", "kind": "tool", "tool": tool}]}
    return SIX_STEPS | {
        "attempt-1/plan": json.dumps(plan),
        "attempt-1/repair-1/arguments": call_text(tool, **arguments),
    }


@pytest.mark.usefixtures("loopback")
def test_a_tool_of_the_outside_that_was_called() -> None:
    project = given.project(review_policy=SENT_BACK_WAITS)
    with RawServer(FINE) as server:
        http_tool(project, server.url)
        run = gone_on(
            given.scripted_run(with_a_tool("lookup", city="Rome"), project=project, tools=["lookup"], **PROTOCOL)
        )
        review, actor = decided(Review.objects.get(run=run), "approve")
    assert Step.objects.filter(run=run, kind="call_tool").exists(), str(list(run.steps.values_list("key", "error")))
    refused(review, actor, "tool lookup was called afterwards")


def test_a_built_in_tool_is_none_of_the_outside() -> None:
    project = given.project(review_policy=SENT_BACK_WAITS)
    names = [tool.name for tool in add_builtin_tools(project, actor=Actor())]
    assert "python" in names
    run = gone_on(
        given.scripted_run(with_a_tool("python", code="print(1)"), project=project, tools=["python"], **PROTOCOL)
    )
    review, actor = decided(Review.objects.get(run=run), "approve")
    assert Step.objects.filter(run=run, kind="call_tool").exists(), str(list(run.steps.values_list("key", "error")))
    assert undo_decision(review, actor=actor).state == "claimed"


def test_what_was_decided_before_this_was_kept_stands() -> None:
    """Rows from before decisions could be taken back do not know after which event everything followed from them."""
    review, actor = decided(waiting(BAD), "accept", reason="Enough.")
    Review.objects.filter(pk=review.pk).update(decided_seq=None)
    refused(review, actor, "The decision was made before undo was supported.")


# Beside people who are at work on what came of the decision: nothing is taken from under their hands.


def two_rejected() -> tuple[Review, Actor, Review]:
    """A review that was sent back, who did, and the review of the next attempt, which is open."""
    answers = {"attempt-1/answer": "a", "attempt-1/critique": BAD, "attempt-2/answer": "b", "attempt-2/critique": BAD}
    run = gone_on(given.scripted_run(answers, project=given.project(review_policy={"audit_share": 0})))
    first, actor = decided(Review.objects.get(run=run), "redo", instructions="Again.")
    return first, actor, Review.objects.get(run=run, attempt__number=2)


def test_what_somebody_is_judging_now_is_not_taken_away() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    claim_review(second, actor=other)
    with pytest.raises(StillStands, match=f"{other.label} is reviewing the later attempt 2"):
        undo_decision(first, actor=actor)
    decide(second, other, "accept", reason="Enough.")


@pytest.mark.parametrize("holder", ["nobody", "oneself", "somebody whose hold ran out"])
def test_it_is_taken_back_where_nobody_else_is_at_work(holder: str) -> None:
    first, actor, second = two_rejected()
    if holder != "nobody":
        claim_review(second, actor=actor if holder == "oneself" else person(second))
    if holder == "somebody whose hold ran out":
        Review.objects.filter(pk=second.pk).update(lease_until=timezone.now() - timedelta(seconds=1))
    undo_decision(first, actor=actor)
    assert not Review.objects.filter(pk=second.pk).exists()


def test_a_review_that_somebody_has_commented_on_stays() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    add_comment(second.project, About.REVIEW, second.pk, CommentInput(text="Look at the dates."), actor=other)
    with pytest.raises(StillStands, match=f"{other.label} commented on attempt 2"):
        undo_decision(first, actor=actor)
    Comment.objects.update(text="", deleted_at=timezone.now())
    undo_decision(first, actor=actor)


def test_who_comes_a_moment_too_late_is_told_that_it_is_gone() -> None:
    first, actor, second = two_rejected()
    other = person(second)
    undo_decision(first, actor=actor)
    with pytest.raises(NotFound, match="not found"):
        claim_review(second, actor=other)
    with pytest.raises(NotFound, match="not found"):
        skip_review(second, actor=other)
    with pytest.raises(NotFound, match="not found"):
        undo_decision(second, actor=other)
    assert isinstance(lost(second), NotFound)
