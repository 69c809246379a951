import pytest
from django.utils import timezone

from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.lease import claim
from reflection_app.runs.models import Attempt, Run, RunState, Step
from tests import given, then
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db


def test_events_are_numbered_without_gaps_and_tell_the_story() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    advance(run.pk)

    events = list(Event.objects.filter(run=run).order_by("seq"))
    assert [event.seq for event in events] == list(range(1, len(events) + 1))
    assert [event.type for event in events] == [
        "run.created",
        "step.started",
        "step.finished",
        "step.started",
        "step.finished",
        "step.finished",
        "run.finished",
    ]


def test_a_message_delivered_twice_does_nothing_the_second_time() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    advance(run.pk)
    before = Event.objects.filter(run=run).count()

    assert advance(run.pk) is None
    assert Event.objects.filter(run=run).count() == before


def test_a_run_that_waits_for_a_reviewer_holds_no_lease() -> None:
    run = given.scripted_run({"attempt-1/answer": "text", "attempt-1/critique": critique(10)})
    advance(run.pk)

    run.refresh_from_db()
    assert (run.state, run.waiting_for, run.lease_token) == (RunState.WAITING_REVIEW, "rejected", None)
    review = Review.objects.get(run=run)
    assert (review.state, review.holds_run, review.verdict.verdict) == ("waiting", True, "REJECT")
    assert advance(run.pk) is None
    assert Review.objects.filter(run=run).count() == 1


def test_a_script_that_runs_out_fails_the_run_and_keeps_what_there_was() -> None:
    run = given.code_run({"attempt-1/answer": given.WRONG})
    advance(run.pk)

    then.run_ended(run, "failed")
    assert "attempt-2/answer" in run.error
    assert run.best_attempt is not None
    assert run.best_attempt.number == 1


def test_a_journal_that_does_not_match_the_loop_fails_the_run_with_a_clear_message() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    Step.objects.create(
        run=run, seq=1, key="something/else", kind="generate", state="done", request={}, started_at=timezone.now()
    )
    advance(run.pk)

    then.run_ended(run, "failed")
    assert "fork the run" in run.error


def test_a_run_of_another_version_of_the_loops_fails_cleanly() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    Run.objects.filter(pk=run.pk).update(loop_version=0)
    advance(run.pk)

    then.run_ended(run, "failed")
    assert "version 0" in run.error


def test_text_that_the_database_cannot_keep_is_shown_as_replaced() -> None:
    run = given.scripted_run({"attempt-1/answer": "a\x00b\ud800c", "attempt-1/critique": critique(90, approved=True)})
    advance(run.pk)

    assert Attempt.objects.get(run=run).content == "a\N{REPLACEMENT CHARACTER}b\N{REPLACEMENT CHARACTER}c"


def test_only_one_of_two_claims_gets_the_run() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    assert claim(run.pk) is not None
    assert claim(run.pk) is None
