"""Reviews of every kind, each made by the loop or the action that makes it in life."""

import json
from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.reviews.models import Review
from reflection_app.runs.advance import advance
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run, Verdict
from reflection_app.teams.tools import ToolInput, create_tool
from tests import given
from tests.loops.tool_playing import plan_text
from tests.runs.critiques import critique

UNSURE: dict[str, Any] = {"approved": True, "confidence": 0.2}
ISSUE = {"description": "No title", "suggested_fix": "Add one", "severity": "high", "category": "format"}
FIRST = "A text on tariffs.\n\nIt names three of them.\n\nThe end."
SECOND = "A text on tariffs.\n\nIt names seven of them.\n\nThe end."


def revised(name: str, *, first: str = FIRST, second: str = SECOND, **submission: Any) -> Review:
    """The review of a second attempt; the critic sent the first back."""
    answers = {
        "attempt-1/answer": first,
        "attempt-1/critique": critique(40, issues=[ISSUE]),
        "attempt-2/answer": second,
        "attempt-2/critique": critique(
            80, **UNSURE, issues=[ISSUE], feedback={"strengths": ["Short"], "weaknesses": ["Dry"], "suggestions": []}
        ),
    }
    return given.waiting_review(given.scripted_project(name, answers), **submission)


def rejected(name: str, **submission: Any) -> Review:
    """The director's: a REJECT that the run waits for."""
    answers = {"attempt-1/answer": FIRST, "attempt-1/critique": critique(10, issues=[ISSUE])}
    return given.waiting_review(given.scripted_project(name, answers), **submission)


def audited(name: str, *, reviewers: int = 1, verdict: str = "PASS") -> Review:
    """An audit, or a seat of one that several people judge blindly; its run has ended."""
    answers = {
        "attempt-1/answer": FIRST,
        "attempt-1/critique": critique(90, approved=True) if verdict == "PASS" else critique(10),
    }
    run = given.submitted_run(given.scripted_project(name, answers))
    # Answers that were written beforehand are not audited, so the run is told to be.
    run.spec["review_policy"] |= {"rules": [], "audit_share": 1, "audit_reviewers": reviewers}
    run.save(update_fields=["spec"])
    advance(run.pk)
    return Review.objects.filter(run=run).order_by("id")[0]


def seat(name: str, *, reviewers: int = 3) -> Review:
    """A seat of a panel that the run waits for."""
    policy = {"rules": [{"name": "All by three", "reviewers": reviewers}], "audit_share": 0}
    answers = {"attempt-1/answer": FIRST, "attempt-1/critique": critique(90, approved=True)}
    run = given.advanced_run(given.scripted_project(name, answers, review_policy=policy))
    return Review.objects.filter(run=run).order_by("id")[0]


def with_calls(name: str) -> Review:
    """The review of a plan's answer: one call worked, one failed until no try was left."""
    broken = json.dumps({"tool": "python", "arguments": {"code": "raise SystemExit('no such city')"}})
    answers = {
        "attempt-1/plan/make": plan_text(("count", "python", []), ("look", "python", [])),
        "attempt-1/step-1/arguments": json.dumps({"tool": "python", "arguments": {"code": "print(6 * 7)"}}),
        **{f"attempt-1/step-2/arguments{again}": broken for again in ("", "-2", "-2-anew", "-3", "-3-anew")},
        "attempt-1/answer": "There are 42 of them.",
        "attempt-1/critique": critique(80, **UNSURE),
    }
    project = given.scripted_project(name, answers, review_policy={"rules": [], "audit_share": 0})
    create_tool(project, ToolInput(name="python", kind="builtin", config={"name": "python"}), actor=Actor())
    run = given.advanced_run(
        project, mode="planning", tools=["python"], limits={"time_budget_s": 300, "max_iterations": 1}
    )
    return _asked_for(run)


def _asked_for(run: Run) -> Review:
    """A review of the run's newest verdict, as a person asks for one."""
    verdict = Verdict.objects.filter(attempt__run=run).latest("created_at", "id")
    return Review.objects.create(
        project=run.project,
        run=run,
        attempt=verdict.attempt,
        verdict=verdict,
        reason="asked_for",
        holds_run=False,
        note="Please look at the last line.",
        note_by_label="ada",
    )


def asked_about(name: str) -> Review:
    """What a person asked to be looked at: code of which one test passed and one failed."""
    project = given.scripted_project(name, {"attempt-1/answer": given.WRONG})
    return _asked_for(given.advanced_run(project, tests=given.TESTS, limits={"max_iterations": 1}))


def handed_in(name: str, **attempt: Any) -> Review:
    """The review of an outside agent's attempt."""
    project = given.scripted_project(name, {"attempt-1/critique": critique(80, **UNSURE, issues=[ISSUE])})
    run = given.advanced_run(project, execution="external", agent="researcher")
    hand_in_attempt(run, AttemptInput.model_validate({"content": FIRST, **attempt}), actor=Actor())
    advance(run.pk)
    return Review.objects.get(run=run)
