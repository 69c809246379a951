"""Runs of an outside agent that was sent back with a rewind ticket."""

from typing import Any

from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import Ticket
from reflection_app.runs.advance import advance
from reflection_app.runs.handing_in import AttemptInput, hand_in_attempt
from reflection_app.runs.models import Run
from tests import given, when
from tests.runs.critiques import critique

SENT_BACK = {
    "attempt-1/critique": critique(40, issues=[{"description": "Three papers", "suggested_fix": "Find five"}]),
    "attempt-2/critique": critique(45),
    "attempt-3/critique": critique(90, approved=True),
}


def external_run(answers: dict[str, str] | None = None, *, project: Project | None = None, **task: Any) -> Run:
    """A run whose agent handed one attempt in and was sent back with a ticket."""
    project = project or given.project()
    project.review_policy = {"audit_share": 0}
    project.save(update_fields=["review_policy"])
    task = {"agent": "researcher", "first": "first", **task}
    first = task.pop("first")
    run = given.scripted_run(answers or SENT_BACK, project=project, execution="external", **task)
    advance(run.pk)
    return handed_in(run, first)


def handed_in(run: Run, content: str) -> Run:
    """The run after the agent handed its next attempt in and it was judged."""
    hand_in_attempt(run, AttemptInput(content=content), actor=Actor())
    when.advances(run)
    return run


def ticket_of(run: Run, attempt: int = 1) -> Ticket:
    return Ticket.objects.get(run=run, attempt__number=attempt)
