"""Runs that reflect on sessions: killed, raced and left waiting."""

import threading
from typing import Any

import pytest
from django.db import OperationalError, transaction

from reflection_app.core.audit import Actor
from reflection_app.core.errors import TurnsConflict
from reflection_app.runs import journal_writes, performing
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Run, RunState, Step
from reflection_app.runs.resuming import cancel_run
from reflection_app.sessions.models import Transcript, TranscriptTurn
from reflection_app.sessions.recording import (
    TranscriptSubmission,
    TurnsInput,
    add_turns,
    end_transcript,
    open_transcript,
    reflections_of,
    session_state,
)
from tests import when
from tests.notebook.at_once import at_once
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out
from tests.sessions.recorded import INLINE, turns, watched_project

pytestmark = pytest.mark.django_db(transaction=True)


def opened(messages: list[dict[str, Any]] | None = None, **submission: Any) -> Transcript:
    given = {"messages": messages or [], "reflection": INLINE, **submission}
    return open_transcript(watched_project(), TranscriptSubmission.model_validate(given), actor=Actor())


def post(transcript: Transcript, *said: str, after: int | None = None) -> None:
    add_turns(transcript, TurnsInput.model_validate({"messages": turns(*said), "after": after}), actor=Actor())


def run_of(transcript: Transcript) -> Run:
    return Run.objects.get(transcript=transcript)


def check_it_is_unbroken(transcript: Transcript, *, reflected_on: list[int]) -> None:
    run = run_of(transcript)
    assert [kept.turn for kept in reflections_of(run)] == reflected_on
    assert [kept.number for kept in reflections_of(run)] == list(range(1, len(reflected_on) + 1))
    made = list(TranscriptTurn.objects.filter(transcript=transcript).values_list("seq", flat=True))
    assert made == list(range(1, len(made) + 1))
    events = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert events == list(range(1, len(events) + 1))
    steps = list(Step.objects.filter(run=run).values_list("seq", flat=True))
    assert steps == list(range(1, len(steps) + 1))


def test_a_session_that_waits_holds_nothing_and_is_woken_only_when_it_is_due() -> None:
    transcript = opened(turns("a"))
    run = run_of(transcript)
    when.advances(run)
    assert (run.state, run.waiting_for, run.lease_token) == (RunState.WAITING_AGENT, "turn 5", None)
    post(transcript, "b", "c", "d")
    assert run_of(transcript).state == RunState.WAITING_AGENT
    post(transcript, "e")
    assert run_of(transcript).state == RunState.QUEUED
    assert session_state(transcript).is_pending
    advance(run.pk)
    assert run_of(transcript).state == RunState.WAITING_AGENT
    check_it_is_unbroken(transcript, reflected_on=[5])


def test_turns_that_come_while_the_run_is_about_to_wait_are_not_missed(monkeypatch: pytest.MonkeyPatch) -> None:
    transcript, looks = opened(turns(*"abcd")), list[int]()
    look = performing.turns_for

    def looked(*args: Any, **kwargs: Any) -> Any:
        found = look(*args, **kwargs)
        looks.append(1)
        if len(looks) == 1:
            post(transcript, "e")
        return found

    monkeypatch.setattr(performing, "turns_for", looked)
    advance(run_of(transcript).pk)
    check_it_is_unbroken(transcript, reflected_on=[5])
    assert run_of(transcript).state == RunState.WAITING_AGENT


def test_turns_that_come_while_the_write_of_the_waiting_is_repeated_are_not_missed(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    transcript, write, writes = opened(turns(*"abcd")), journal_writes._commit_once, list[int]()

    def taken_back(*args: Any, **kwargs: Any) -> None:
        writes.append(1)
        if len(writes) > 1:
            write(*args, **kwargs)
            return
        try:
            with transaction.atomic():
                write(*args, **kwargs)
                raise OperationalError("the connection is lost")
        finally:
            post(transcript, "e")

    monkeypatch.setattr(journal_writes, "_commit_once", taken_back)
    advance(run_of(transcript).pk)
    check_it_is_unbroken(transcript, reflected_on=[5])
    assert run_of(transcript).state == RunState.WAITING_AGENT


@pytest.mark.parametrize("commits", [1, 2, 3, 4])
def test_a_worker_killed_between_commits_makes_no_reflection_twice(
    commits: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    transcript = opened(turns(*"abcde"))
    run = run_of(transcript)
    calls = counted_calls(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        try:
            advance(run.pk)
            post(transcript, *"fghij")
            advance(run.pk)
        except Killed:
            let_lease_run_out(run)
            take_back_expired()
    if TranscriptTurn.objects.count() == 5:
        post(transcript, *"fghij", after=5)
    advance(run.pk)
    end_transcript(transcript, actor=Actor())
    advance(run.pk)

    run.refresh_from_db()
    assert (run.state, run.outcome) == (RunState.FINISHED, "unverified")
    assert len(calls) == len(set(calls)) == run.llm_calls
    check_it_is_unbroken(transcript, reflected_on=[kept.turn for kept in reflections_of(run)])
    assert reflections_of(run)[-1].turn == 10


def test_two_posters_at_once_are_numbered_without_gaps() -> None:
    transcript = opened()
    advance(run_of(transcript).pk)
    together = threading.Barrier(4)

    def send(name: str) -> None:
        together.wait()
        for number in range(10):
            post(transcript, f"{name} {number}")

    at_once(send, "abcd", threads=4)
    advance(run_of(transcript).pk)
    assert TranscriptTurn.objects.count() == 40
    check_it_is_unbroken(transcript, reflected_on=[40])


def test_of_two_posters_who_go_on_from_the_same_turn_one_wins() -> None:
    transcript = opened(turns("a"))
    together, refused = threading.Barrier(2), list[str]()

    def send(text: str) -> None:
        together.wait()
        try:
            post(transcript, text, after=1)
        except TurnsConflict as conflict:
            refused.append(str(conflict))

    at_once(send, "bc", threads=2)
    assert TranscriptTurn.objects.count() == 2
    assert refused == ["The session has 2 turns, not 1. Nothing was added. Continue after the last turn."]


def test_very_many_turns_are_taken_in_portions_and_long_ones_shortened() -> None:
    transcript = opened(turns(*["x" * 20_000] * 150), ended=True)
    advance(run_of(transcript).pk)
    check_it_is_unbroken(transcript, reflected_on=[100, 150])
    waited = Step.objects.get(run__transcript=transcript, key="turns-1")
    assert waited.result is not None
    assert max(len(turn["content"]) for turn in waited.result["turns"]) < 8_100
    assert run_of(transcript).outcome == "unverified"


def test_a_cancelled_run_leaves_the_session_to_be_recorded() -> None:
    transcript = opened(turns("a"))
    cancel_run(run_of(transcript), actor=Actor())
    post(transcript, *"bcdef")
    state = session_state(transcript)
    assert (state.transcript.turns_made, state.is_pending) == (6, False)
    assert "ended as cancelled" in state.note
