"""Failed calls of real tools: diagnosed, done again as the diagnosis says, and remembered where that worked."""

import threading
from collections.abc import Iterator
from datetime import timedelta
from itertools import count
from typing import Any

import pytest
from django.utils import timezone

from reflection_app.adapters.llm.scripted import register_script
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import FixPair, ToolFailure
from reflection_app.repairs.tool_failures import (
    FixOutcomeSubmission,
    ToolFailureSubmission,
    report_fix_outcome,
    report_tool_failure,
)
from reflection_app.runs import advance as advancing
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Run, RunState, Step, StepState
from tests import given, when
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, Reply, reply
from tests.adapters.tools.making import http_tool
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out

__all__ = ["loopback"]

pytestmark = [pytest.mark.django_db, pytest.mark.usefixtures("loopback")]

_numbers = count(1)
BUSY = reply(b"come back later", status="503 Service Unavailable", retry_after="50")
FORBIDDEN = reply(b"not for you", status="403 Forbidden")
ODD = reply(b"the flumph is in the wrong house", status="600 Odd")
FINE = reply(b"21 degrees")
ROME = {"tool": "lookup", "arguments": {"city": "Rome"}}
MORE_COMMITS_THAN_ANY = 20


@pytest.fixture
def project() -> Project:
    return given.project(f"failing-{next(_numbers)}", review_policy={"audit_share": 0})


def in_turn(*replies: Reply) -> Reply:
    """One reply after the other, the last one for ever."""
    left: Iterator[Reply] = iter(replies)
    lock, now = threading.Lock(), [replies[-1]]

    def answer(heard: Any, connection: Any) -> None:
        with lock:
            now[0] = next(left, now[0])
            chosen = now[0]
        chosen(heard, connection)

    return answer


def tool_run(project: Project, answers: dict[str, str] | None = None, **submission: Any) -> Run:
    submission.setdefault("tool_call", ROME)
    return given.scripted_run(answers or {}, project=project, mode="external_loop", **submission)


def advanced(run: Run) -> Run:
    when.advances(run)
    return run


def time_passes(run: Run, seconds: float) -> None:
    """As if the run had begun to wait so much earlier."""
    back = timedelta(seconds=seconds)
    for step in Step.objects.filter(run=run, state=StepState.WAITING):
        Step.objects.filter(pk=step.pk).update(started_at=step.started_at - back)
    Run.objects.filter(pk=run.pk, not_before__lte=timezone.now() + back).update(not_before=None)


def failure_of(run: Run, place: str = "attempt-1/call") -> ToolFailure:
    return ToolFailure.objects.get(run=run, place=place)


def test_a_busy_service_is_called_again_when_it_asked_for_and_not_before(project: Project) -> None:
    with RawServer(in_turn(BUSY, FINE)) as server:
        http_tool(project, f"{server.url}/weather")
        run = advanced(tool_run(project))
        assert (run.state, len(server.heard)) == (RunState.WAITING_TIME, 1)
        assert advance(run.pk) is None
        assert len(server.heard) == 1
        time_passes(run, 50)
        advanced(run)

    assert (run.outcome, run.llm_calls, len(server.heard), run.attempts_made) == ("succeeded", 0, 2, 2)
    assert run.active_s < 50
    failure = failure_of(run)
    assert (failure.error_type, failure.source, failure.worked) == ("external_service_error", "rule", True)
    assert failure.action is not None
    assert failure.action["retry_delay_seconds"] == 50
    pair = FixPair.objects.get(project=project)
    assert (pair.tool, pair.successes, pair.failures) == ("lookup", 1, 0)
    assert pair.action["remedy"] == "retry_later"


MODELS_WORD = """{"error_type": "parameter_error", "root_cause": "The city is misspelt.", "severity": "low",
 "action": "Spell the city as the service does.", "modified_params": {"city": "Roma", "key": "s3cret"},
 "fallback_tool": null, "retry_delay_seconds": null, "alternative": null}"""
ODD_CALL = {"tool": "lookup", "arguments": {"city": "Rome", "key": "s3cret"}}


def odd_run(project: Project, word: str = MODELS_WORD, **answers: str) -> Run:
    return tool_run(project, {"attempt-1/call/diagnose": word, **answers}, tool_call=ODD_CALL)


def test_where_no_rule_fits_a_models_parameters_are_called_with_and_only_the_changed_one_is_remembered(
    project: Project,
) -> None:
    with RawServer(in_turn(ODD, FINE, ODD, FINE)) as server:
        http_tool(project, f"{server.url}/weather", parameters={"type": "object"})
        run = advanced(odd_run(project))
        again = advanced(tool_run(project, tool_call=ODD_CALL))

    assert (run.outcome, run.llm_calls, failure_of(run).source) == ("succeeded", 1, "model")
    assert [step.request["arguments"]["city"] for step in Step.objects.filter(run=run, kind="call_tool")] == [
        "Rome",
        "Roma",
    ]
    pair = FixPair.objects.get(project=project)
    assert pair.action["modified_params"] == {"city": "Roma"}
    assert pair.fix == "Spell the city as the service does."
    assert (again.outcome, again.llm_calls, failure_of(again).source) == ("succeeded", 0, "fix_pair")
    assert pair.successes == 2


@pytest.mark.exhaustive("kills after every commit")
@pytest.mark.parametrize("commits", range(1, MORE_COMMITS_THAN_ANY))
def test_a_worker_killed_after_any_commit_tells_each_failure_and_each_fix_once(
    commits: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    calls = counted_calls(monkeypatch)
    with RawServer(in_turn(ODD, FINE)) as server:
        http_tool(project, f"{server.url}/weather", parameters={"type": "object"})
        run = odd_run(project)
        with monkeypatch.context() as patched:
            killing_after(commits, patched, journal_writes, "_commit_once")
            try:
                advance(run.pk)
            except Killed:
                let_lease_run_out(run)
                assert take_back_expired() in ([run.pk], [])
        advanced(run)

    check_it_was_told_once(run)
    assert calls == ["attempt-1/call/diagnose"]
    assert len(server.heard) == 2


@pytest.mark.parametrize("effects", [1, 2, 3])
def test_a_worker_killed_between_a_call_and_its_record_makes_that_call_alone_again(
    effects: int, project: Project, monkeypatch: pytest.MonkeyPatch
) -> None:
    replies = {1: (ODD, ODD, FINE), 2: (ODD, FINE), 3: (ODD, FINE, FINE)}[effects]
    with RawServer(in_turn(*replies)) as server:
        http_tool(project, f"{server.url}/weather", parameters={"type": "object"})
        run = odd_run(project)
        with monkeypatch.context() as patched:
            killing_after(effects, patched, advancing, "perform")
            with pytest.raises(Killed):
                advance(run.pk)
        let_lease_run_out(run)
        assert take_back_expired() == [run.pk]
        advanced(run)

    check_it_was_told_once(run)
    assert len(server.heard) == len(replies)


def check_it_was_told_once(run: Run) -> None:
    assert (run.outcome, run.attempts_made) == ("succeeded", 2)
    assert ToolFailure.objects.filter(run=run).count() == 1
    assert FixPair.objects.get(project=run.project).successes == 1
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
    assert Event.objects.filter(run=run, type="tool_failure.diagnosed").count() == 1


def test_a_fork_tells_nothing_of_its_parents_failure(project: Project) -> None:
    with RawServer(in_turn(ODD, FINE, FINE)) as server:
        http_tool(project, f"{server.url}/weather", parameters={"type": "object"})
        run = advanced(odd_run(project))
        second_call = Step.objects.get(run=run, key="attempt-2/call").seq
        fork = advanced(fork_run(run, ForkInput(from_step=second_call), actor=Actor()))

    assert (fork.outcome, len(server.heard)) == ("succeeded", 3)
    assert not ToolFailure.objects.filter(run=fork).exists()
    assert FixPair.objects.get(project=project).successes == 1


def test_a_reported_failure_that_no_rule_knows_is_filled_in_by_its_run_and_learned_from(project: Project) -> None:
    sent = ToolFailureSubmission(tool="lookup", params={"city": "Rome"}, error_message="the flumph is wrong")
    row = report_tool_failure(project, sent, actor=Actor())
    assert row.run is not None
    model = register_script(f"diagnoser-{next(_numbers)}", {"reported/diagnose": MODELS_WORD})
    Run.objects.filter(pk=row.run.pk).update(spec=row.run.spec | {"models": {"default": model}})
    run = advanced(row.run)

    assert (run.outcome, run.attempts_made, run.error) == ("succeeded", 0, "")
    row = ToolFailure.objects.get(project=project)
    assert (row.error_type, row.source, row.root_cause) == ("parameter_error", "model", "The city is misspelt.")
    report_fix_outcome(row, FixOutcomeSubmission(worked=True), actor=Actor())
    again = report_tool_failure(project, sent, actor=Actor())
    assert (again.run, again.source) == (None, "fix_pair")
    assert again.action is not None
    assert again.action["modified_params"]["city"] == "Roma"
