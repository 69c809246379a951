"""Undo beside a worker, a crash and other people: nothing is doubled, nothing is half taken back."""

import threading
from typing import Any

import pytest
from django.db import connection

from reflection_app.adapters.llm import scripted
from reflection_app.core.audit import AuditEntry
from reflection_app.core.errors import ActionError
from reflection_app.repairs.models import Ticket
from reflection_app.reviews import deciding
from reflection_app.reviews.deciding import undo_decision
from reflection_app.reviews.models import Review
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Attempt, Run, RunState, Step
from tests.pace import PATIENCE_S
from tests.reviews.test_races import check_it_is_consistent
from tests.reviews.test_reviews import together
from tests.reviews.test_undo_decision import BAD, person, waiting
from tests.reviews.undoing import check_events, claimed, decide, gone_on, rows_of
from tests.runs.test_crashes import Killed, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db(transaction=True)


class HeldBack:
    """A model that begins its answer to one step, and gives it when it is let go."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, key: str) -> None:
        self.asked, self.let_go = threading.Event(), threading.Event()
        answer = scripted.answer_from_script

        def held_back(request: Any, *args: Any, **kwargs: Any) -> Any:
            if request.key == key and not self.asked.is_set():
                self.asked.set()
                assert self.let_go.wait(PATIENCE_S)
            return answer(request, *args, **kwargs)

        monkeypatch.setattr("reflection_app.adapters.llm.gateway.answer_from_script", held_back)


def test_a_worker_in_the_middle_of_a_call_is_refused_its_write(monkeypatch: pytest.MonkeyPatch) -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    before = rows_of(review.project)
    decide(review, actor, "redo", instructions="Again.")
    model = HeldBack(monkeypatch, "attempt-2/answer")
    worker = threading.Thread(target=advance, args=(review.run_id,))
    worker.start()
    assert model.asked.wait(PATIENCE_S)
    spent = Run.objects.get(pk=review.run_id).llm_calls

    undo_decision(review, actor=actor)
    assert rows_of(review.project) == before
    decide(review, actor, "redo", instructions="Otherwise.")
    model.let_go.set()
    worker.join()
    run = Run.objects.get(pk=review.run_id)
    assert (run.state, run.llm_calls) == (RunState.QUEUED, spent + 1), "the late answer was paid for, and not kept"
    assert Attempt.objects.filter(run=run).count() == 1

    gone_on(run)
    assert (run.outcome, run.attempts_made) == ("succeeded", 2)
    assert Ticket.objects.get(run=run).issues[0]["suggested_fix"] == "Otherwise."
    check_it_is_consistent(run)


@pytest.mark.parametrize("commits", [1, 2, 3])
def test_after_a_worker_was_killed_the_sweep_finds_nothing_to_take_back(
    commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    before = rows_of(review.project)
    decide(review, actor, "redo", instructions="Again.")
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        with pytest.raises(Killed):
            advance(review.run_id)
    undo_decision(review, actor=actor)
    assert rows_of(review.project) == before
    let_lease_run_out(review.run)
    assert take_back_expired() == []
    decide(review, actor, "redo", instructions="Again.")
    assert gone_on(review.run).outcome == "succeeded"
    check_it_is_consistent(review.run)


@pytest.mark.parametrize("place", ["take_back", "hold_again", "audit"])
def test_a_crash_in_between_leaves_the_decision_whole(place: str, monkeypatch: pytest.MonkeyPatch) -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    decide(review, actor, "redo", instructions="Again.")
    gone_on(review.run)
    decided = rows_of(review.project)
    with monkeypatch.context() as patched:
        killing_after(1, patched, deciding, place)
        with pytest.raises(Killed):
            undo_decision(review, actor=actor)
    assert rows_of(review.project) == decided
    check_events(review.run)
    assert undo_decision(review, actor=actor).state == "claimed"


@pytest.mark.parametrize("_", range(6))
def test_undo_while_the_run_goes_on(_: int) -> None:
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    before = rows_of(review.project)
    decide(review, actor, "redo", instructions="Again.")
    together(
        lambda: advance(review.run_id),
        lambda: undo_decision(Review.objects.get(pk=review.pk), actor=actor),
        lambda: advance(review.run_id),
    )
    advance(review.run_id)
    assert rows_of(review.project) == before
    check_it_is_consistent(review.run)
    decide(review, actor, "redo", instructions="Again.")
    assert gone_on(review.run).outcome == "succeeded"
    steps = list(Step.objects.filter(run=review.run).values_list("seq", flat=True))
    assert steps == list(range(1, len(steps) + 1))


@pytest.mark.parametrize("_", range(4))
def test_undo_and_a_new_decision_at_once_with_two_workers(_: int) -> None:
    """However they fall, there is one decision in force, or none, and the rows fit it."""
    review = waiting(BAD)
    actor = person(review)
    claimed(review, actor)
    decide(review, actor, "redo", instructions="Again.")

    def undo_and_decide() -> object:
        try:
            undo_decision(Review.objects.get(pk=review.pk), actor=actor)
            return decide(review, actor, "accept", reason="Enough.")
        except ActionError as error:
            return error

    together(undo_and_decide, undo_and_decide, *[lambda: advance(review.run_id)] * 2)
    run = gone_on(review.run)
    check_it_is_consistent(run)
    decided = AuditEntry.objects.filter(action="review.decided").count()
    undone = AuditEntry.objects.filter(action="review.undone").count()
    now = Review.objects.get(pk=review.pk)
    assert decided - undone == (now.state == "decided")
    assert run.is_finished == (now.state == "decided")
    connection.close()
