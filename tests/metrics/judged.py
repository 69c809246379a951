"""Runs with one verdict, as rows: what a policy is tried on."""

from datetime import timedelta
from decimal import Decimal
from typing import Any

from django.utils import timezone

from reflection_app.core.models import Project
from reflection_app.loops.task_spec import Mode
from reflection_app.loops.verdicts import Referee
from reflection_app.loops.verdicts import Verdict as VerdictName
from reflection_app.runs.models import Attempt, Run, Step, Verdict
from reflection_app.tasks.models import Task


def judged_run(
    project: Project,
    *,
    verdict: VerdictName = VerdictName.PASS,
    score: float = 80,
    confidence: float | None = 0.9,
    referee: Referee = Referee.CRITIC,
    mode: str = Mode.ACTOR_CRITIC,
    kind: str = "",
    agent: str = "",
    cost_usd: str = "0",
    **fields: Any,
) -> Verdict:
    """The verdict on the first attempt of a new run, whose answer cost so much."""
    task = Task.objects.create(project=project, objective="Write a letter.", kind=kind, agent=agent, mode=mode)
    run = Run.objects.create(project=project, task=task, mode=mode, spec={}, loop_version=1, cost_usd=Decimal(cost_usd))
    at = timezone.now() - timedelta(minutes=1)
    answer = Step.objects.create(
        run=run,
        seq=1,
        key="attempt-1/answer",
        kind="generate",
        request={},
        cost_usd=Decimal(cost_usd),
        started_at=at,
    )
    recorded = Step.objects.create(
        run=run, seq=2, key="attempt-1/verdict", kind="record_verdict", request={}, started_at=at
    )
    attempt = Attempt.objects.create(run=run, number=1, step=answer, content="Dear Sir")
    return Verdict.objects.create(
        attempt=attempt,
        step=recorded,
        referee=referee.value,
        verdict=verdict.value,
        score=score,
        confidence=confidence,
        **fields,
    )
