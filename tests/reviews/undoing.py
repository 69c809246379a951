"""All rows of a project, to be compared before a decision and after it was taken back."""

from typing import Any

from django.db.models import Model

from notebook_app.models import Entry, EntryVersion, Evidence
from reflection_app.core.audit import Actor
from reflection_app.core.models import Project
from reflection_app.repairs.models import (
    AgentInstruction,
    CompletenessCheck,
    FixPair,
    Report,
    Supplement,
    Ticket,
    ToolFailure,
)
from reflection_app.reviews.claiming import claim_review
from reflection_app.reviews.deciding import decide_review, undo_decision
from reflection_app.reviews.decisions import DecisionInput
from reflection_app.reviews.models import Panel, Review
from reflection_app.runs.events import Event
from reflection_app.runs.models import Attempt, Question, Run, Step, Verdict
from tests import when

BY_PROJECT: tuple[tuple[type[Model], str], ...] = (
    (Run, "project_id"),
    (Step, "run__project_id"),
    (Attempt, "run__project_id"),
    (Verdict, "attempt__run__project_id"),
    (Review, "project_id"),
    (Panel, "project_id"),
    (Ticket, "project_id"),
    (Report, "project_id"),
    (Question, "project_id"),
    (CompletenessCheck, "project_id"),
    (Supplement, "project_id"),
    (ToolFailure, "project_id"),
    (FixPair, "project_id"),
    (AgentInstruction, "project_id"),
    (Entry, "project_id"),
    (EntryVersion, "entry__project_id"),
    (Evidence, "project_id"),
)
# What was spent stays, events only grow, and a hold is a new one.
MOVES_ON = {"last_event_seq", "lease_token", "lease_until", "updated_at", "told_seq"}
SPENT = {"prompt_tokens", "completion_tokens", "cost_usd", "llm_calls", "active_s"}


def rows_of(project: Project) -> dict[str, list[dict[str, Any]]]:
    """Every row of the project that a run can write, but for what rightly moves on."""
    return {model.__name__: _rows(model, {where: project.pk}) for model, where in BY_PROJECT}


def _rows(model: type[Model], where: dict[str, Any]) -> list[dict[str, Any]]:
    left_out = MOVES_ON | (SPENT if model is Run else set())
    rows = model._default_manager.filter(**where).order_by("pk").values()
    return [{name: value for name, value in row.items() if name not in left_out} for row in rows]


def check_events(run: Run) -> None:
    """The events of the run are numbered without a gap, and its row knows the last of them."""
    seqs = list(Event.objects.filter(run=run).values_list("seq", flat=True))
    assert seqs == list(range(1, len(seqs) + 1))
    assert Run.objects.get(pk=run.pk).last_event_seq == len(seqs)


def claimed(review: Review, actor: Actor) -> Review:
    """The review as `actor` holds it, read afresh."""
    claim_review(review, actor=actor)
    return Review.objects.get(pk=review.pk)


def decide(review: Review, actor: Actor, decision: str, **said: Any) -> Review:
    """The review decided by `actor`, who holds it; its run has not moved yet."""
    held = Review.objects.get(pk=review.pk)
    told = DecisionInput.model_validate({"lease_token": held.lease_token, "decision": decision, **said})
    return decide_review(held, told, actor=actor)


def comes_back(review: Review, actor: Actor, decision: str, *, moves: bool = True, **said: Any) -> None:
    """Decides, lets the run go on unless not `moves`, and takes it back: every row is as before."""
    claimed(review, actor)
    before = rows_of(review.project)
    decide(review, actor, decision, **said)
    if moves:
        gone_on(review.run)
    undo_decision(review, actor=actor)
    assert rows_of(review.project) == before


def gone_on(run: Run) -> Run:
    """The run after it went as far as it goes by itself."""
    when.advances(run)
    return run
