"""Runs to fork, and what of a run a fork must leave alone."""

from typing import Any

from django.core import serializers

from reflection_app.core.audit import Actor
from reflection_app.reviews.models import Review
from reflection_app.runs.events import Event, EventType
from reflection_app.runs.fork_input import ForkInput
from reflection_app.runs.forks import fork_run
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from tests import given, when
from tests.runs.critiques import critique

TWICE = {
    "attempt-1/answer": "first",
    "attempt-1/critique": critique(40),
    "attempt-2/answer": "second",
    "attempt-2/critique": critique(90, approved=True),
    "attempt-3/answer": "third",
    "attempt-3/critique": critique(95, approved=True),
}


def text_run(answers: dict[str, str] = TWICE, **submission: Any) -> Run:
    """A run as far as it goes by itself, without audits."""
    project = given.project(review_policy={"audit_share": 0})
    submission.setdefault("mode", "actor_critic")
    return advanced(given.scripted_run(answers, project=project, **submission))


def advanced(run: Run) -> Run:
    when.advances(run)
    return run


def forked(run: Run, from_step: int, *, actor: Actor | None = None, **wanted: Any) -> Run:
    return fork_run(run, ForkInput(from_step=from_step, **wanted), actor=actor or Actor())


def step_of(run: Run, key: str) -> Step:
    return Step.objects.get(run=run, key=key)


def everything_of(run: Run) -> list[str]:
    """All rows of the run but for what tells of its forks."""
    rows = [
        *Step.objects.filter(run=run),
        *Attempt.objects.filter(run=run),
        *Verdict.objects.filter(attempt__run=run),
        *Review.objects.filter(run=run).order_by("id"),
        *Event.objects.filter(run=run).exclude(type=EventType.RUN_FORKED),
    ]
    own = Run.objects.filter(pk=run.pk).values().get() | {"last_event_seq": 0}
    return [str(own), serializers.serialize("json", rows)]


def kept(run: Run) -> tuple[Any, ...]:
    best = run.best_attempt
    verdicts = Verdict.objects.filter(attempt__run=run).values_list("attempt__number", "verdict", "score", "referee")
    attempts = Attempt.objects.filter(run=run).values_list("number", "content")
    return run.outcome, best and best.number, list(attempts), list(verdicts)
