"""Many reviews that wait, written at once: what a run's own way would take minutes for."""

from typing import Any

from django.db import transaction
from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.attempt_effects import ReviewReason
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Outcome
from reflection_app.reviews.models import Review
from reflection_app.runs.models import Attempt, Run, RunState, Step, StepState, Verdict
from reflection_app.tasks.models import Task
from tests import given

AGENTS = ("porter", "writer", "")


def waiting_rows(project: Project, many: int, *, audits_every: int = 0) -> list[Review]:
    """As many open reviews, each of a run of its own that waits for it; every nth is an audit, whose run has ended."""
    now, like = timezone.now(), _like(project)
    tasks = [
        Task(project=project, objective=f"Write text {number}.", kind="creative_writing", mode="actor_critic",
             agent=AGENTS[number % len(AGENTS)], limits=like.task.limits)
        for number in range(many)
    ]  # fmt: skip
    audited = [bool(audits_every) and number % audits_every == 0 for number in range(many)]
    runs = [
        Run(project=project, task=task, mode=Mode.ACTOR_CRITIC.value, spec=like.spec, loop_version=like.loop_version,
            attempts_made=1, started_at=now, last_event_seq=0, **_state(is_audit))
        for task, is_audit in zip(tasks, audited, strict=True)
    ]  # fmt: skip
    made = [_step(run, 1, "attempt-1/answer", kind="generate", state=StepState.DONE) for run in runs]
    asked = [_step(run, 2, "attempt-1/review", kind="ask_reviewer", state=StepState.WAITING) for run in runs]
    attempts = [Attempt(run=run, number=1, step=step, content="A text.") for run, step in zip(runs, made, strict=True)]
    verdicts = [
        Verdict(attempt=attempt, referee=2, verdict="REJECT", score=number % 30, confidence=(number % 10) / 10)
        for number, attempt in enumerate(attempts)
    ]
    reviews = [
        Review(project=project, run=run, attempt=attempt, verdict=verdict, step=step, holds_run=not is_audit,
               reason=(ReviewReason.AUDIT if is_audit else ReviewReason.REJECTED).value)
        for run, attempt, verdict, step, is_audit in zip(runs, attempts, verdicts, asked, audited, strict=True)
    ]  # fmt: skip
    Task.objects.bulk_create(tasks)
    Run.objects.bulk_create(runs)
    Step.objects.bulk_create(made + asked)
    Attempt.objects.bulk_create(attempts)
    Verdict.objects.bulk_create(verdicts)
    return Review.objects.bulk_create(reviews)


@transaction.atomic
def _like(project: Project) -> Run:
    """A run that was really handed in, whose specification the others share; gone before any worker can see it."""
    run = given.submitted_run(project, mode="actor_critic")
    run.task.delete()
    return run


def _state(is_audit: bool) -> dict[str, Any]:
    if is_audit:
        return {"state": RunState.FINISHED, "outcome": Outcome.SUCCEEDED.value}
    return {"state": RunState.WAITING_REVIEW, "waiting_for": "review"}


def _step(run: Run, seq: int, key: str, *, kind: str, state: StepState) -> Step:
    return Step(
        run=run, seq=seq, key=key, kind=kind, state=state, attempt_number=1, request={}, started_at=timezone.now()
    )
