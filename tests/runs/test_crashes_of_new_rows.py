"""A worker killed after each commit writes each ticket, report, question, proposal, failure, fix and check once."""

import json
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from notebook_app.models import Entry
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.questions import Choice
from reflection_app.repairs.models import (
    AgentInstruction,
    CompletenessCheck,
    FixPair,
    Report,
    Supplement,
    Ticket,
    ToolFailure,
)
from reflection_app.runs import journal_writes
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Question, Run, RunState
from reflection_app.runs.resuming import AnswerInput, answer_question
from tests import given, when
from tests.adapters.outgoing.conftest import loopback
from tests.adapters.outgoing.server import RawServer, Reply
from tests.adapters.tools.making import http_tool
from tests.loops.completeness.scenes import checked, wanted
from tests.loops.tool_playing import call_text, plan_text
from tests.repairs.test_tool_failures_run import BUSY, FINE, FORBIDDEN, ODD, in_turn, time_passes
from tests.runs.critiques import critique
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out
from tests.runs.test_crashes_of_every_loop import check_its_events_are_whole, what_is_left

__all__ = ["loopback"]

pytestmark = [pytest.mark.django_db(transaction=True), pytest.mark.usefixtures("loopback")]

_numbers = count(1)
LOOK = call_text("lookup", city="Rome")
MORE_COMMITS_THAN_ANY = 60
MOST_PAUSES = 10
# A step that was begun before the crash is begun again.
TOLD_AGAIN = ("run.retried", "step.started")
REFLECTED = json.dumps({"surface_issue": "no door", "root_cause": "it did not look", "questions": ["Which door?"]})
WORD = json.dumps(
    {"error_type": "parameter_error", "root_cause": "Misspelt.", "severity": "low", "action": "Spell it."}
)


def planned(*steps: Any, **more: Any) -> str:
    pattern = {"pattern_name": "Haste", "symptoms": ["no look"], "prevention": "Look."}
    return json.dumps(
        {
            "repair_steps": list(steps),
            "remediation": "look first",
            "instruction": "Look before you answer.",
            "anti_pattern": pattern,
        }
        | more
    )


@dataclass(frozen=True)
class Story:
    """A task, what models and the tool answer, and what the run that nothing disturbs comes to."""

    task: dict[str, Any]
    answers: dict[str, str]
    replies: tuple[Reply, ...]
    written: dict[str, int]
    has_knowledge: bool = False


PROTOCOL: dict[str, Any] = {
    "mode": "reflection_protocol",
    "agent": "porter",
    "tools": ["lookup"],
    "limits": {"token_budget": 100_000},
}
STORIES = {
    "six steps with a tool that fails twice, a person and a model": Story(
        PROTOCOL,
        {
            "attempt-1/answer": "{}",
            "attempt-1/critique": critique(40),
            "attempt-1/reflect": REFLECTED,
            "attempt-1/plan": planned(
                {"action": "Look it up", "kind": "tool", "tool": "lookup"},
                {"action": "Ask the porter", "kind": "person"},
                "Write it",
            ),
            "attempt-1/repair-1/arguments": LOOK,
            "attempt-1/repair-3/work": "blue",
            "attempt-2/answer": "blue",
            "attempt-2/critique": critique(90, approved=True),
        },
        (BUSY, FORBIDDEN, FINE),
        {"tickets": 1, "reports": 1, "questions": 2, "failures": 2, "pairs": 1, "instructions": 1},
    ),
    "knowledge that a tool does not have": Story(
        PROTOCOL,
        {
            "attempt-1/answer": "I do not know the answer.",
            "attempt-1/critique": critique(35),
            "attempt-1/reflect": REFLECTED,
            "attempt-1/plan": planned("Write it"),
            "attempt-1/repair-1/arguments": LOOK,
            "attempt-1/repair-1/arguments-2": LOOK,
            "attempt-1/repair-2/work": "blue",
            "attempt-2/answer": "blue",
            "attempt-2/critique": critique(90, approved=True),
        },
        (FORBIDDEN, FINE),
        {"tickets": 1, "reports": 1, "questions": 1, "failures": 1, "pairs": 1, "entries": 3},
        has_knowledge=True,
    ),
    "a plan whose supplement fails and is called again": Story(
        {"tools": ["lookup"], "mode": "planning"},
        {
            "attempt-1/plan/make": plan_text(("1", "lookup", [])),
            "attempt-1/step-1/arguments": LOOK,
            "attempt-1/completeness": checked(wanted("Write up Milan, too", "", "lookup", quote="Write something")),
            "attempt-1/supplement/plan/make": plan_text(("s1", "lookup", ["1"])),
            "attempt-1/supplement/step-1/arguments": call_text("lookup", city="Milan"),
            "attempt-1/answer": "21 degrees",
            "attempt-1/critique": critique(90, approved=True),
        },
        (FINE, BUSY, FINE),
        {"checks": 1, "supplements": 1, "failures": 1, "pairs": 1},
    ),
    "a call that waits, is asked for, and is made otherwise by a model's word": Story(
        {"mode": "external_loop", "tool_call": json.loads(LOOK)},
        {
            "attempt-1/call/diagnose": WORD,
            "attempt-2/arguments": call_text("lookup", city="Roma"),
            "attempt-3/arguments": call_text("lookup", city="Roma"),
        },
        (ODD, FORBIDDEN, FINE),
        {"failures": 2, "questions": 1, "pairs": 1},
    ),
}


def a_project(story: Story, url: str) -> Project:
    project = given.project(f"rows-{next(_numbers)}", review_policy={"audit_share": 0, "unsettled_waits": False})
    http_tool(project, url)
    if story.has_knowledge:
        project.knowledge_tool = "lookup"
        project.save()
    return project


def rows_of(run: Run) -> dict[str, Any]:
    """What followed from the run, as far as neither names nor clocks tell it apart from another one's."""
    mine = {"project": run.project_id}
    return {
        "tickets": list(
            Ticket.objects.filter(**mine).values_list("trigger", "state", "attempt__number").order_by("created_at")
        ),
        "reports": [
            (row.error_type, row.revised_attempt and row.revised_attempt.number, row.content["repair_actions"])
            for row in Report.objects.filter(**mine).order_by("created_at")
        ],
        "questions": list(
            Question.objects.filter(**mine).values_list("kind", "state", "choice").order_by("created_at")
        ),
        "failures": list(
            ToolFailure.objects.filter(**mine).values_list("place", "error_type", "source", "worked").order_by("place")
        ),
        "pairs": list(
            FixPair.objects.filter(**mine).values_list("signature", "successes", "failures").order_by("digest")
        ),
        "instructions": list(AgentInstruction.objects.filter(**mine).values_list("text", "state")),
        "entries": list(
            Entry.objects.filter(project_id=run.project_id).values_list("kind", "name", "content").order_by("name")
        ),
        "checks": list(CompletenessCheck.objects.filter(**mine).values_list("state", "used", "attempted", "succeeded")),
        "supplements": list(
            Supplement.objects.filter(**mine).values_list("operation", "attempted", "succeeded", "tokens")
        ),
        "events": sorted(Event.objects.filter(run=run).exclude(type__in=TOLD_AGAIN).values_list("type", flat=True)),
    }


def go_on(run: Run) -> None:
    """Whatever it waits for comes: the time, or the person."""
    if run.state == RunState.WAITING_TIME:
        time_passes(run, 600)
    for question in Question.objects.filter(run=run, state="open"):
        choice = Choice.ANSWER if "answer" in question.choices else Choice.TRY_AGAIN
        answer_question(
            question, AnswerInput(choice=choice, text="blue" if choice is Choice.ANSWER else ""), actor=Actor()
        )


def driven(run: Run) -> Run:
    for _ in range(MOST_PAUSES):
        when.advances(run)
        if run.is_finished:
            break
        go_on(run)
    return run


@contextmanager
def begun(story: Story) -> Iterator[tuple[Run, Callable[[], int]]]:
    with RawServer(in_turn(*story.replies)) as server:
        project = a_project(story, f"{server.url}/weather")
        yield given.scripted_run(story.answers, project=project, **story.task), lambda: len(server.heard)


@pytest.mark.exhaustive("kills after every commit")
@pytest.mark.parametrize("name", STORIES)
def test_rows_are_written_once_whichever_commit_the_worker_dies_after(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    story, calls = STORIES[name], counted_calls(monkeypatch)
    with begun(story) as (run, heard):
        driven(run)
        assert run.outcome == "succeeded", run.error
        left, rows, expected_calls, expected_heard = what_is_left(run), rows_of(run), list(calls), heard()
    assert {kind: len(rows[kind]) for kind in story.written} == story.written

    for commits in range(1, MORE_COMMITS_THAN_ANY):
        calls.clear()
        with begun(story) as (run, heard):
            was_killed = False
            with monkeypatch.context() as patched:
                killing_after(commits, patched, journal_writes, "_commit_once")
                try:
                    driven(run)
                except Killed:
                    was_killed = True
            if not was_killed:
                break
            let_lease_run_out(run)
            take_back_expired()
            run.refresh_from_db()
            if not run.is_finished:
                go_on(run)
            driven(run)
            told = f"killed after commit {commits}"
            assert what_is_left(run) == left, told
            assert rows_of(run) == rows, told
            assert (calls, heard()) == (expected_calls, expected_heard), told
            check_its_events_are_whole(run)
    assert len(expected_calls) < commits < MORE_COMMITS_THAN_ANY
