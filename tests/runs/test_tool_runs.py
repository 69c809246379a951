"""Runs that call tools: real ones, in the sandbox and over HTTP, with a scripted model that chooses the arguments."""

import json
from itertools import count
from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.errors import InvalidInput
from reflection_app.core.models import Project
from reflection_app.runs import advance as advancing
from reflection_app.runs import journal_writes, tool_calling
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Attempt, Run, Step, StepState, Verdict
from reflection_app.teams.tools import ToolInput, create_tool
from tests import given, when
from tests.adapters.outgoing.conftest import loopback
from tests.loops.completeness.scenes import checked
from tests.loops.tool_playing import call_text, plan_text
from tests.runs.critiques import critique
from tests.runs.forking import advanced
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out

__all__ = ["loopback"]

pytestmark = pytest.mark.django_db

_numbers = count(1)
SUM = call_text("python", code="print(sum(range(101)))")
FILES = [{"path": "notes/trip.txt", "content": "We fly to Rome.\nThree days.\n"}]


@pytest.fixture
def project() -> Project:
    """A project with the built-in tools, whose runs draw no audits."""
    project = given.project(f"tooled-{next(_numbers)}", review_policy={"audit_share": 0})
    for name in ("python", "read_file"):
        create_tool(project, ToolInput(name=name, kind="builtin", config={"name": name}), actor=Actor())
    return project


def test_a_call_that_came_with_the_task_is_made_without_any_model(project: Project) -> None:
    call = {"tool": "python", "arguments": {"code": "print(6 * 7)"}}
    run = advanced(given.scripted_run({}, project=project, mode="external_loop", tool_call=call))

    assert (run.outcome, run.llm_calls, run.error) == ("succeeded", 0, "")
    assert run.best_attempt is not None
    kept = json.loads(run.best_attempt.content)
    assert kept["arguments"] == {"code": "print(6 * 7)"}
    assert kept["result"].strip() == "42"
    assert [step.kind for step in Step.objects.filter(run=run)] == ["call_tool", "keep_attempt", "record_verdict"]


def test_planning_is_refused_for_an_outside_agent_whose_calls_go_to_the_tool_loop_instead(project: Project) -> None:
    with pytest.raises(InvalidInput) as refused:
        given.scripted_run({}, project=project, mode="planning", tools=["python"], execution="external")
    assert [error["field"] for error in refused.value.errors] == ["execution"]

    run = given.scripted_run({}, project=project, tools=["python"], execution="external")
    assert (run.mode, given.scripted_run({}, project=project, tools=["python"]).mode) == ("external_loop", "planning")
    assert (advanced(run).state, run.waiting_for) == ("waiting_agent", "attempt 1")


PLAN = plan_text(("read", "read_file", []), ("count", "python", []), ("tell", None, ["read", "count"]))
PLANNED = {
    "attempt-1/plan/make": plan_text(("read", "read_file", ["count"]), ("count", "python", ["read"])),
    "attempt-1/plan/revise-1": PLAN,
    "attempt-1/step-1/arguments": call_text("read_file", path="trip.txt"),
    "attempt-1/step-1/arguments-2": call_text("read_file", path="notes/trip.txt"),
    "attempt-1/step-2/arguments": SUM,
    "attempt-1/step-3/answer": "Rome, three days, 5050.",
    "attempt-1/completeness": checked(analysis="Both questions are answered."),
    "attempt-1/answer": "You fly to Rome for three days; the sum is 5050.",
    "attempt-1/critique": critique(90, approved=True),
}


def planned_run(project: Project, answers: dict[str, str] | None = None) -> Run:
    return given.scripted_run(
        PLANNED if answers is None else answers,
        project=project,
        objective="Tell where we fly, and the sum of 1 to 100.",
        mode="planning",
        tools=["read_file", "python"],
        files=FILES,
    )


def test_a_plan_is_revised_carried_out_with_real_tools_and_answered(project: Project) -> None:
    run = advanced(planned_run(project))

    assert (run.outcome, run.error, run.attempts_made) == ("succeeded", "", 1)
    versions = [step.result or {} for step in Step.objects.filter(run=run, kind="record_plan")]
    assert [[issue["fault"] for issue in version["issues"]] for version in versions] == [["cycle"], []]
    told = Step.objects.get(run=run, key="attempt-1/step-3/answer").request["messages"][-1]["content"]
    assert "We fly to Rome." in told
    assert "5050" in told
    outcomes = [step.result or {} for step in Step.objects.filter(run=run, kind="record_plan_step")]
    assert [outcome["state"] for outcome in outcomes] == ["done", "done", "done"]
    assert "notes/trip.txt" in Step.objects.get(run=run, key="attempt-1/plan/make").request["messages"][-1]["content"]


def called(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The keys of all tool calls from now on, in order."""
    calls: list[str] = []
    call_tool = tool_calling.call_tool

    def counted(effect: Any, **kwargs: Any) -> Any:
        calls.append(effect.key)
        return call_tool(effect, **kwargs)

    monkeypatch.setattr("reflection_app.runs.performing.call_tool", counted)
    return calls


@pytest.fixture
def whole(project: Project) -> Run:
    return planned_run(project)


def check_it_ended_once(run: Run) -> None:
    let_lease_run_out(run)
    assert take_back_expired() == [run.pk]
    when.advances(run)
    assert (run.outcome, run.attempts_made, run.failures) == ("succeeded", 1, 0)
    assert Attempt.objects.filter(run=run).count() == 1
    assert Verdict.objects.filter(attempt__run=run).count() == 2
    assert not Step.objects.filter(run=run).exclude(state=StepState.DONE).exists()
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


STEPS = [*PLANNED]
CALLS = ["attempt-1/step-1/call", "attempt-1/step-1/call-2", "attempt-1/step-2/call"]


# Nine answers and three calls each have a start of their own, written with the end of what came before.
@pytest.mark.exhaustive("kills after every commit")
@pytest.mark.parametrize("commits", range(1, len(STEPS) + len(CALLS) + 1))
def test_a_planned_run_killed_after_any_commit_ends_the_same_with_nothing_done_twice(
    commits: int, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, calls = counted_calls(monkeypatch), called(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(commits, patched, journal_writes, "_commit_once")
        with pytest.raises(Killed):
            advance(whole.pk)
    check_it_ended_once(whole)
    assert (sorted(answers), sorted(calls)) == (sorted(STEPS), sorted(CALLS))


@pytest.mark.exhaustive("kills after every commit")
@pytest.mark.parametrize("effects", range(1, len(STEPS) + len(CALLS) + 1))
def test_a_planned_run_killed_before_a_result_is_kept_repeats_that_effect_alone(
    effects: int, whole: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    answers, calls = counted_calls(monkeypatch), called(monkeypatch)
    with monkeypatch.context() as patched:
        killing_after(effects, patched, advancing, "perform")
        with pytest.raises(Killed):
            advance(whole.pk)
    check_it_ended_once(whole)
    assert set(answers) | set(calls) == {*STEPS, *CALLS}
    assert len(answers) + len(calls) == len(STEPS) + len(CALLS) + 1
