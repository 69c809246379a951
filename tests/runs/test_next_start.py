"""A normal iteration's hint reaches the next start of the same agent on the same kind of task."""

import json
from typing import Any

import pytest

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.loops.protocol.error_classes import ErrorClass
from reflection_app.repairs.models import Report
from reflection_app.repairs.reports import CorrectionInput, correct_class
from reflection_app.runs.advance import advance
from reflection_app.runs.models import Run, Step
from tests import given
from tests.loops.protocol.playing import PLAN, REFLECTION
from tests.runs.critiques import critique

pytestmark = pytest.mark.django_db

AGENT = "academic-researcher"
HINT = "先列出会议，再检索。"


def iterated(project: Project, *, hint: str = HINT, last: str = critique(90, approved=True), **task: Any) -> Run:
    """A run whose first answer was whole and not good enough."""
    answers = {
        "attempt-1/answer": "a plain answer",
        "attempt-1/critique": critique(60),
        "attempt-1/reflect": json.dumps(REFLECTION),
        "attempt-1/plan": json.dumps(PLAN | {"hint": hint}),
        "attempt-2/answer": "a better answer",
        "attempt-2/critique": last,
    }
    sent = {"mode": "reflection_protocol", "agent": AGENT, "limits": {"token_budget": 200_000, "max_iterations": 2}}
    run = given.scripted_run(answers, project=project, **(sent | task))
    advance(run.pk)
    return Run.objects.get(pk=run.pk)


def asked(run: Run, key: str) -> str:
    request = Step.objects.get(run=run, key=key).request
    assert request is not None
    return str(request["messages"][-1]["content"])


def test_the_next_run_of_the_agent_is_told_the_hint_as_a_note_with_its_first_attempt(project: Project) -> None:
    first = iterated(project)
    assert Report.objects.get(run=first).error_type == ErrorClass.NORMAL_ITERATION
    assert HINT not in asked(first, "attempt-1/answer")
    second = iterated(project)
    assert f"- {HINT}" in asked(second, "attempt-1/answer")
    assert "notes and no orders" in asked(second, "attempt-1/answer")
    assert "notes and no orders" not in asked(second, "attempt-2/answer")


def test_an_outside_agent_is_told_it_in_its_first_prompt(project: Project) -> None:
    iterated(project)
    run = given.submitted_run(project, mode="reflection_protocol", agent=AGENT, execution="external")
    advance(run.pk)
    assert HINT in asked(run, "attempt-1/answer")


def test_a_run_that_came_to_nothing_and_a_class_that_a_person_took_back_leave_no_hint(project: Project) -> None:
    iterated(project, last=critique(60))
    assert given.submitted_run(project, mode="reflection_protocol", agent=AGENT).get_spec().hints == ()
    report = Report.objects.get(run=iterated(project))
    assert given.submitted_run(project, mode="reflection_protocol", agent=AGENT).get_spec().hints == (HINT,)
    told = CorrectionInput.model_validate({"type": "3.3.2", "reason": "It went in the wrong direction."})
    correct_class(report, told, actor=Actor())
    assert given.submitted_run(project, mode="reflection_protocol", agent=AGENT).get_spec().hints == ()


def test_the_newest_three_are_told_each_once_and_shortened(project: Project) -> None:
    for hint in ("one", "two", "three", "two", "x" * 5_000):
        iterated(project, hint=hint)
    hints = given.submitted_run(project, mode="reflection_protocol", agent=AGENT).get_spec().hints
    assert hints == ("x" * 1_000, "two", "three")
