"""A worker killed after each commit of each loop in turn: the run ends as it would have, and no call is made again."""

import json
from dataclasses import dataclass
from itertools import count
from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.runs import journal_writes
from reflection_app.runs.advance import advance
from reflection_app.runs.events import Event
from reflection_app.runs.jobs import take_back_expired
from reflection_app.runs.models import Attempt, Run, RunState, Step, Verdict
from reflection_app.teams.tools import ToolInput, create_tool
from tests import given
from tests.loops.completeness.scenes import checked, wanted
from tests.loops.tool_playing import call_text, plan_text
from tests.runs.critiques import critique
from tests.runs.test_crashes import Killed, counted_calls, killing_after, let_lease_run_out

pytestmark = pytest.mark.django_db(transaction=True)

_numbers = count(1)
FILES = [{"path": "notes.txt", "content": "The door is blue."}]
READ = call_text("read_file", path="notes.txt")
ASSERTS = "```python\n" + "\n".join(f"assert f({n}) == {n + 1}" for n in (1, 5, 6, 7, 8)) + "\n```"
MORE_COMMITS_THAN_ANY = 30


def opinion(ok: bool) -> str:
    return json.dumps({"is_satisfactory": ok, "issues": ["short"], "confidence": 0.9})


@dataclass(frozen=True)
class Story:
    task: dict[str, Any]
    answers: dict[str, str]
    outcome: str


STORIES = {
    "actor_critic": Story(
        {"mode": "actor_critic"},
        {
            "attempt-1/answer": "a",
            "attempt-1/critique": critique(40),
            "attempt-2/answer": "b",
            "attempt-2/critique": critique(90, approved=True),
        },
        "succeeded",
    ),
    "reflexion": Story(
        {"mode": "reflexion"},
        {
            "attempt-1/answer": "a",
            "attempt-1/self-evaluation": opinion(False),
            "attempt-1/reflection": '{"issues": ["x"], "root_causes": [], "suggestions": ["y"]}',
            "attempt-2/answer": "b",
            "attempt-2/self-evaluation": opinion(True),
        },
        "succeeded",
    ),
    "data": Story(
        {"output_schema": {"type": "object", "required": ["city"]}},
        {"attempt-1/answer": "{}", "attempt-2/answer": '{"city": "Bern"}'},
        "succeeded",
    ),
    "adaptive code with generated tests": Story(
        {"objective": "def f(x: int) -> int: the next number", "kind": ""},
        {
            "classify": '{"task_kind": "code_generation"}',
            "tests/write": ASSERTS,
            "attempt-1/answer": given.WRONG,
            "attempt-2/answer": given.RIGHT,
        },
        "unverified",
    ),
    "tool": Story(
        {"mode": "external_loop", "tools": ["read_file"], "files": FILES},
        {"attempt-1/arguments": call_text("read_file", path="note.txt"), "attempt-2/arguments": READ},
        "succeeded",
    ),
    "the six steps": Story(
        {
            "mode": "reflection_protocol",
            "requirements": {"required_fields": ["door"]},
            "agent": "porter",
            "tools": ["read_file"],
            "files": FILES,
            "limits": {"token_budget": 100_000},
        },
        {
            "attempt-1/answer": "{}",
            "attempt-1/critique": critique(40),
            "attempt-1/reflect": json.dumps({"surface_issue": "no door", "root_cause": "it did not look"}),
            "attempt-1/plan": json.dumps(
                {
                    "repair_steps": [{"action": "Read the notes", "kind": "tool", "tool": "read_file"}, "Write it"],
                    "remediation": "look first",
                    "instruction": "Read the notes before you answer.",
                }
            ),
            "attempt-1/repair-1/arguments": READ,
            "attempt-1/repair-2/work": '{"door": "blue"}',
            "attempt-2/answer": '{"door": "blue"}',
            "attempt-2/critique": critique(90, approved=True),
        },
        "succeeded",
    ),
    "planning": Story(
        {"tools": ["read_file"], "files": FILES},
        {
            "attempt-1/plan/make": plan_text(("1", "read_file", [])),
            "attempt-1/step-1/arguments": READ,
            "attempt-1/completeness": checked(wanted("Read the door's notes once more", "to be sure", "read_file")),
            "attempt-1/supplement/plan/make": plan_text(("s1", "read_file", ["1"])),
            "attempt-1/supplement/step-1/arguments": READ,
            "attempt-1/answer": "The door is blue.",
            "attempt-1/critique": critique(90, approved=True),
        },
        "succeeded",
    ),
}


def a_project() -> Project:
    """One without a past: what a run remembers changes the next one."""
    policy = {"audit_share": 0, "unsettled_waits": False}
    project = given.project(f"crashing-{next(_numbers)}", review_policy=policy)
    create_tool(project, ToolInput(name="read_file", kind="builtin", config={"name": "read_file"}), actor=Actor())
    return project


def what_is_left(run: Run) -> dict[str, Any]:
    """All that a crash must not change."""
    run.refresh_from_db()
    verdicts = Verdict.objects.filter(attempt__run=run).order_by("step__seq")
    return {
        "outcome": run.outcome,
        "mode": run.mode,
        "best": run.best_attempt and run.best_attempt.number,
        "calls": run.llm_calls,
        "attempts": list(Attempt.objects.filter(run=run).values_list("number", "content")),
        "verdicts": list(verdicts.values_list("attempt__number", "referee", "verdict", "score")),
        "steps": list(Step.objects.filter(run=run).values_list("seq", "key", "kind", "state")),
    }


def check_its_events_are_whole(run: Run) -> None:
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))


@pytest.mark.exhaustive("kills after every commit")
@pytest.mark.parametrize("name", STORIES)
def test_any_loop_killed_after_any_commit_ends_the_same_with_no_call_made_twice(
    name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    story = STORIES[name]
    calls = counted_calls(monkeypatch)

    def begun() -> Run:
        calls.clear()
        return given.scripted_run(story.answers, project=a_project(), **story.task)

    undisturbed = begun()
    advance(undisturbed.pk)
    expected, expected_calls = what_is_left(undisturbed), list(calls)
    assert expected["outcome"] == story.outcome, undisturbed.error

    for commits in range(1, MORE_COMMITS_THAN_ANY):
        run = begun()
        with monkeypatch.context() as patched:
            killing_after(commits, patched, journal_writes, "_commit_once")
            try:
                advance(run.pk)
            except Killed:
                let_lease_run_out(run)
        if run.state == RunState.FINISHED or not take_back_expired():
            break
        advance(run.pk)
        assert what_is_left(run) == expected, f"killed after commit {commits}"
        assert calls == expected_calls, f"killed after commit {commits}"
        check_its_events_are_whole(run)
    assert commits > len(expected_calls), "fewer commits than calls cannot be"
