"""What a journal does when the database refuses it, for a moment or for good."""

from typing import Any

import pytest
from django.db import DataError, OperationalError, connection
from django.utils import timezone

from reflection_app.adapters.llm.scripted import ScriptedAnswer, register_script
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import MOST_DEATHS, take_back_expired
from reflection_app.runs.lease import claim
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict
from tests import given, then
from tests.runs.critiques import critique
from tests.runs.test_crashes import let_lease_run_out

pytestmark = pytest.mark.django_db(transaction=True)


def failing_once(error: Exception, *, at: int, after: bool = False) -> Any:
    """A write that raises at its `at`-th call, before or after it has been done."""
    write, calls = journal_writes._commit_once, [0]

    def once(*args: Any, **kwargs: Any) -> None:
        calls[0] += 1
        if calls[0] == at and not after:
            raise error
        write(*args, **kwargs)
        if calls[0] == at:
            raise error

    return once


@pytest.mark.parametrize("at", [1, 2, 3])
@pytest.mark.parametrize("after", [False, True])
def test_a_database_away_for_a_moment_costs_no_answer_and_doubles_nothing(
    at: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    lost = OperationalError("the connection is lost")
    monkeypatch.setattr(journal_writes, "_commit_once", failing_once(lost, at=at, after=after))
    advance(run.pk)

    run.refresh_from_db()
    assert (run.outcome, run.llm_calls, run.attempts_made, run.failures) == ("succeeded", 1, 1, 0)
    assert Attempt.objects.filter(run=run).count() == 1
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


def test_a_result_that_the_database_refuses_fails_the_run_once_with_what_it_cost(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    monkeypatch.setattr(journal_writes, "_commit_once", failing_once(DataError("invalid byte"), at=2))
    assert advance(run.pk) is None

    run.refresh_from_db()
    assert (run.outcome, run.llm_calls) == ("failed", 1)
    assert "cannot be stored" in run.error
    assert run.total_tokens > 0
    assert Step.objects.get(run=run, seq=1).state == StepState.FAILED


def test_a_loop_that_ends_before_its_journal_does_is_a_mismatch() -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    advance(run.pk)
    Run.objects.filter(pk=run.pk).update(state=RunState.QUEUED, outcome=None)
    Step.objects.create(
        run=run, seq=4, key="attempt-2/answer", kind="generate", state="done", request={}, started_at=timezone.now()
    )
    advance(run.pk)

    then.run_ended(run, "failed")
    assert "its journal goes on" in run.error


def test_a_verdict_that_no_longer_parses_keeps_neither_its_run_nor_others_from_the_sweep() -> None:
    broken, other = (
        given.scripted_run({"attempt-1/answer": "x", "attempt-1/critique": critique(10)}) for _ in range(2)
    )
    for run in (broken, other):
        advance(run.pk)
    Verdict.objects.filter(attempt__run=broken).update(issues=[{"severity": "unheard of"}])
    Run.objects.update(state=RunState.QUEUED)
    Run.objects.filter(pk=broken.pk).update(worker_deaths=MOST_DEATHS - 1)
    for run in (broken, other):
        assert claim(run.pk)
        let_lease_run_out(run)

    assert take_back_expired() == [other.pk]
    assert Run.objects.get(pk=broken.pk).outcome == "failed"


def test_costs_are_kept_with_all_their_places_rounded_up() -> None:
    model = register_script(
        "costly",
        {"attempt-1/answer": ScriptedAnswer(text="x", cost_usd="0.000099995001")},
    )
    run = given.scripted_run({}, limits={"cost_budget_usd": "0.0001"})
    run.spec["models"] = {"default": model}
    run.save()
    advance(run.pk)

    run.refresh_from_db()
    assert str(run.cost_usd) == "0.00010000"
    assert run.outcome == "over_budget"


def test_a_person_who_accepted_an_earlier_attempt_in_an_audit_is_heard_when_the_run_ends() -> None:
    answers = {
        "attempt-1/answer": "first",
        "attempt-1/critique": critique(45),
        "attempt-2/answer": "second",
        "attempt-2/critique": critique(10),
    }
    run = given.scripted_run(answers)
    advance(run.pk)
    first = Attempt.objects.get(run=run, number=1)
    Verdict.objects.create(attempt=first, referee=6, verdict=VerdictName.PASS, score=95)
    Run.objects.filter(pk=run.pk).update(state=RunState.RUNNING, failures=2)
    let_lease_run_out(run)
    take_back_expired()

    run.refresh_from_db()
    assert run.best_attempt == first
    connection.close()


def test_a_database_that_stays_away_for_longer_loses_no_answer_either(monkeypatch: pytest.MonkeyPatch) -> None:
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    write, calls = journal_writes._commit_once, [0]

    def away(*args: Any, **kwargs: Any) -> None:
        calls[0] += 1
        if 2 <= calls[0] <= 5:
            raise OperationalError("the connection is lost")
        write(*args, **kwargs)

    monkeypatch.setattr(journal_writes, "WAITS_S", (0.0, 0.0, 0.0))
    monkeypatch.setattr(journal_writes, "_commit_once", away)
    assert advance(run.pk) == 5.0
    Run.objects.filter(pk=run.pk).update(not_before=None)
    advance(run.pk)

    run.refresh_from_db()
    assert (run.outcome, run.llm_calls, Step.objects.get(run=run, seq=1).tries) == ("succeeded", 1, 1)


def test_a_database_that_goes_away_with_its_answer_is_charged_and_told_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """The last write before the outage was made, and nobody heard of it until the run was taken up again."""
    run = given.code_run({"attempt-1/answer": given.RIGHT})
    write, is_written, writes, looks = journal_writes._commit_once, journal_writes.is_written, [0], [0]
    lost = OperationalError("the connection is lost")

    def written_and_lost(*args: Any, **kwargs: Any) -> None:
        writes[0] += 1
        write(*args, **kwargs)
        if writes[0] == 2:
            raise lost

    def away(changes: Any) -> bool:
        looks[0] += 1
        if looks[0] <= 3:
            raise lost
        return is_written(changes)

    monkeypatch.setattr(journal_writes, "WAITS_S", (0.0, 0.0, 0.0))
    monkeypatch.setattr(journal_writes, "_commit_once", written_and_lost)
    monkeypatch.setattr(journal_writes, "is_written", away)
    assert advance(run.pk) == 5.0
    Run.objects.filter(pk=run.pk).update(not_before=None)
    advance(run.pk)

    run.refresh_from_db()
    assert (run.outcome, run.llm_calls, run.attempts_made) == ("succeeded", 1, 1)
    assert run.total_tokens == sum(step.prompt_tokens + step.completion_tokens for step in Step.objects.all())
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
