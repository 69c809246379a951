"""Runs with figures of many kinds, written as rows, so that the pages of metrics have something to show."""

import random
from datetime import UTC, datetime, timedelta
from typing import Any

from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.metrics.models import RunFigure, RunSpend
from reflection_app.reviews.models import Review, ReviewState
from reflection_app.runs.models import Run, RunState, spec_as_json
from tests import given

AGENTS = ("checkout-agent", "", "docs-writer")
MODES = ("external_loop", "actor_critic", "reflexion", "planning")
MODELS = ("openai/gpt-4.1-mini", "anthropic/claude-haiku")
KINDS = ("code_generation", "creative_writing", "reasoning")
FAILURES = ("test:wrong_answer", "issue:correctness", "issue:format", "tool:parameter_error", "class:3.3.2")


def fill(project: Project, *, runs: int, days: int = 40, seed: int = 11, **fields: Any) -> list[RunFigure]:
    """Finished runs of the last days, each with its figures; the last day is today."""
    chance = random.Random(seed)
    first = given.submitted_run(project)
    now = datetime.now(UTC).replace(hour=0, minute=0, second=1, microsecond=0)
    made = [_run(project, first, now - timedelta(days=chance.randrange(days))) for _ in range(runs)]
    Run.objects.bulk_create(made)
    figures = [_figure(run, chance) for run in made]
    for figure in figures:
        for name, value in fields.items():
            setattr(figure, name, value)
    RunFigure.objects.bulk_create(figures)
    RunSpend.objects.bulk_create([spend for figure in figures for spend in _spend(figure, chance)])
    return figures


def decide(project: Project, *, reviews: int, days: int = 20, seed: int = 7) -> None:
    """Copies of one review, most of them decided by several people in the last days."""
    chance = random.Random(seed)
    kept = given.waiting_review(given.unsure_project("sample"))
    kept.run.project_id = kept.run.task.project_id = project.pk
    kept.run.task.save()
    kept.run.save()
    now = timezone.now()
    made, opened = [], []
    for _ in range(reviews):
        decided = now - timedelta(days=chance.random() * days)
        is_open = chance.random() < 0.2
        row = Review(
            project=project,
            run=kept.run,
            attempt=kept.attempt,
            verdict=kept.verdict,
            reason=chance.choice(("audit", "low_confidence", "rejected")),
            holds_run=False,
        )
        if not is_open:
            row.state = ReviewState.DECIDED
            row.decision = chance.choice(("approve", "approve", "overrule"))
            row.decided_at = decided
            row.decided_by_label = chance.choice(("Ann", "Bo", "陈晨"))
        opened.append(decided - timedelta(hours=chance.expovariate(0.2)))
        made.append(row)
    for row, created_at in zip(Review.objects.bulk_create(made), opened, strict=True):
        Review.objects.filter(pk=row.pk).update(created_at=created_at)


def _run(project: Project, first: Run, at: datetime) -> Run:
    return Run(
        project=project,
        task=first.task,
        mode="actor_critic",
        spec=spec_as_json(first.get_spec()),
        loop_version=1,
        state=RunState.FINISHED,
        outcome="succeeded",
        finished_at=at,
        attempts_made=1,
    )


def _figure(run: Run, chance: random.Random) -> RunFigure:
    at = run.finished_at
    assert at is not None
    attempts = chance.choice((1, 1, 1, 2, 2, 3, 4))
    at_once = attempts == 1 and chance.random() < 0.8
    succeeded = at_once or (attempts > 1 and chance.random() < 0.7)
    checked = chance.random() < 0.3
    incomplete = checked and chance.random() < 0.4
    return RunFigure(
        project=run.project,
        run=run,
        task=run.task,
        finished_at=at,
        finished_on=at.date(),
        is_counted=True,
        outcome="succeeded" if succeeded else chance.choice(("exhausted", "unverified", "failed", "timed_out")),
        failures=[] if at_once else chance.sample(FAILURES, k=chance.randint(1, 2)),
        agent=chance.choice(AGENTS),
        mode=chance.choice(MODES),
        model=chance.choice(MODELS),
        kind=chance.choice(KINDS),
        runs=1,
        succeeded=int(succeeded),
        enabled=1,
        enabled_first_succeeded=int(at_once),
        enabled_first_failed=int(not at_once),
        enabled_succeeded=int(succeeded),
        improved=int(succeeded and not at_once),
        told=1,
        first_succeeded=int(at_once),
        attempted=1,
        attempts=attempts,
        attempted_succeeded=int(succeeded),
        attempts_to_success=attempts if succeeded else 0,
        cycle_ms=attempts * chance.randint(900, 20_000),
        reflections=attempts - 1,
        effective=int(attempts > 1 and succeeded),
        reflection_tokens=(attempts - 1) * 700,
        scored_twice=int(attempts > 1),
        over_corrected=int(attempts > 1 and chance.random() < 0.1),
        checked=int(checked),
        checks_complete=int(checked and not incomplete),
        checks_incomplete=int(incomplete),
        supplements=2 * int(incomplete),
        exec_used=int(incomplete),
        exec_attempted=4 * int(incomplete),
        exec_succeeded=3 * int(incomplete),
        prompt_tokens=1500 * attempts,
        completion_tokens=400 * attempts,
        cost_usd="0.0042",
        counted_cost_usd="0.0042",
        llm_calls=2 * attempts,
    )


def _spend(figure: RunFigure, chance: random.Random) -> list[RunSpend]:
    roles = (("actor", figure.model), ("critic", MODELS[0]), ("reflector", MODELS[1]))
    return [
        RunSpend(
            figure=figure,
            role=role,
            spent_on=model,
            calls=1,
            prompt_tokens=chance.randint(300, 1500),
            completion_tokens=chance.randint(50, 500),
            cost_usd="0.0014",
        )
        for role, model in roles
    ]
