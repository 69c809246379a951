"""The metrics by plain Python over the rows, without any of the code that they are read with."""

from collections.abc import Iterable
from datetime import UTC
from decimal import Decimal
from typing import Any
from uuid import UUID

from reflection_app.core.models import Project
from reflection_app.metrics.definitions import Chosen
from reflection_app.runs.models import Run

SECOND_ATTEMPTS = {"external_loop", "actor_critic", "reflexion", "planning", "adaptive", "reflection_protocol"}
REFLECTING = {"critic", "self", "tester", "reflector"}
PERSON, TOOL = 6, 4


def runs_of(project: Project, chosen: Chosen) -> list[Run]:
    runs = []
    for run in Run.objects.filter(project=project, state="finished", is_scripted=chosen.scripted):
        day = run.finished_at.astimezone(UTC).date()  # type: ignore[union-attr]
        wanted = (chosen.agent or run.task.agent, chosen.mode or run.mode, chosen.kind or run.task.kind)
        is_chosen = wanted == (run.task.agent, run.mode, run.task.kind) and chosen.model in {"", model_of(run)}
        if chosen.since <= day <= chosen.until and is_chosen:
            runs.append(run)
    return runs


def model_of(run: Run) -> str:
    made = (attempt.step for attempt in run.attempts.order_by("number"))
    models = [step.model for step in made if step is not None and step.model]
    return min(models, key=lambda model: (-models.count(model), models.index(model))) if models else ""


def decisive_of(run: Run) -> dict[int, Any]:
    """Of each attempt the verdict by the strongest referee, the last of equals."""
    found: dict[int, Any] = {}
    for attempt in run.attempts.all():
        said = sorted(attempt.verdicts.all(), key=lambda one: (one.referee, one.created_at, one.pk))
        if said:
            found[attempt.number] = said[-1]
    return found


def first_of(run: Run, *, weakly: bool = False) -> bool | None:
    made, kept, first = run.attempts.count(), run.best_attempt, decisive_of(run).get(1)
    if not made:
        return None
    if first is not None and first.referee == PERSON:
        return bool(first.verdict == "PASS")
    if not weakly and run.outcome == "unverified" and (first is None or first.referee < TOOL):
        return None
    if first is None:
        return False if made > 1 else None
    return bool(first.verdict == "PASS" and kept is not None and kept.number == 1)


def succeeded(run: Run) -> bool:
    said = (
        run.best_attempt.verdicts.filter(referee=PERSON).order_by("created_at", "id").last()
        if run.best_attempt
        else None
    )
    return said.verdict == "PASS" if said else run.outcome == "succeeded"


def has_passed_lowered(run: Run) -> bool:
    said = run.best_attempt.verdicts.filter(verdict="PASS", lowered__isnull=False) if run.best_attempt else None
    return said is not None and said.exists()


def reflections_of(run: Run) -> list[int]:
    numbers = [attempt.number for attempt in run.attempts.all()]
    looked_at = {step.attempt_number for step in run.steps.filter(role="reflector", kind="generate", state="done")}
    return [number for number in numbers if number + 1 in numbers or number in looked_at]


def is_effective(run: Run, number: int) -> bool:
    before, after = decisive_of(run).get(number), decisive_of(run).get(number + 1)
    if after is None:
        return False
    return after.verdict == "PASS" or (before is not None and after.score > before.score)


def figures_by_hand(project: Project, chosen: Chosen) -> dict[str, float | None]:
    """Every figure by name."""
    everything = runs_of(project, chosen)
    own = [run for run in everything if run.parent_id is None]
    runs = [run for run in own if run.mode in SECOND_ATTEMPTS]
    checking = [run for run in own if run in runs or run.mode == "completeness_check"]
    enabled = [run for run in runs if run.mode in SECOND_ATTEMPTS and run.spec["limits"]["max_iterations"] > 1]
    failed_first = [run for run in enabled if first_of(run, weakly=True) is False]
    told = [run for run in runs if first_of(run) is not None]
    attempted = [run for run in runs if run.attempts.exists()]
    attempts = sum(run.attempts.count() for run in attempted)
    wins = [run for run in attempted if succeeded(run)]
    about = [step for run in runs for step in run.steps.filter(attempt_number__isnull=False)]
    reflections = [(run, number) for run in runs for number in reflections_of(run)]
    scores = [[decisive_of(run)[number].score for number in sorted(decisive_of(run))] for run in runs]
    twice = [of_run for of_run in scores if len(of_run) > 1]
    checks = [list(run.completeness_checks.all()) for run in checking if run.completeness_checks.exists()]
    said = [check.state for of_run in checks for check in of_run if check.state != "unchecked"]
    carrying = [checked for checked in checks if checked[0].run.mode != "completeness_check"]
    carried = [check.state for of_run in carrying for check in of_run if check.state != "unchecked"]
    tried = sum(max(check.attempted or 0 for check in of_run) for of_run in checks)
    worked = sum(max(check.succeeded or 0 for check in of_run) for of_run in checks)
    tokens = sum(step.prompt_tokens + step.completion_tokens for step in about if step.role in REFLECTING)
    cost = float(sum(run.cost_usd for run in everything))
    counted_cost = float(sum(run.cost_usd for run in runs))
    return {
        "runs": len(runs),
        "success_rate": mean(succeeded(run) for run in runs),
        "reflection_enabled_tasks": len({run.task_id for run in enabled}),
        "success_rate_without_reflection": mean(first_of(run) is True for run in enabled),
        "success_rate_with_reflection": mean(succeeded(run) for run in enabled),
        "improvement_rate": mean(succeeded(run) for run in failed_first),
        "success_on_first_try": mean(first_of(run) is True for run in told),
        "total_reasoning_attempts": attempts,
        "avg_iterations_per_task": mean(run.attempts.count() for run in attempted),
        "avg_iterations_to_success": mean(run.attempts.count() for run in wins),
        "avg_latency_per_iteration_ms": ratio(sum(1000 * step.duration_s for step in about), attempts),
        "avg_tokens_per_reflection": ratio(tokens, len(reflections)),
        "reflection_effectiveness": mean(is_effective(run, number) for run, number in reflections),
        "over_correction_rate": mean(of_run[-1] < max(of_run) for of_run in twice),
        "passed_lowered_rate": mean(has_passed_lowered(run) for run in runs if succeeded(run)),
        "found_incomplete": mean(state in {"incomplete", "completed_by_supplement"} for state in said),
        "completed_by_supplement": mean(state == "completed_by_supplement" for state in carried if state != "complete"),
        "supplements_per_task": mean(sum(check.supplements.count() for check in of_run) for of_run in checks),
        "exec_used": sum(any(check.used for check in of_run) for of_run in checks),
        "exec_attempted": tried,
        "exec_succeeded": worked,
        "exec_success_rate": ratio(worked, tried),
        "tokens": sum(run.prompt_tokens + run.completion_tokens for run in everything),
        "cost_usd": cost,
        "cost_usd_per_success": ratio(counted_cost, sum(succeeded(run) for run in runs)),
    }


def dearest_by_hand(project: Project, chosen: Chosen) -> list[tuple[str, Decimal]]:
    """Ids of tasks with what all their runs cost, the dearest first."""
    spent: dict[UUID, tuple[Decimal, int]] = {}
    for run in runs_of(project, chosen):
        cost, tokens = spent.get(run.task_id, (Decimal(0), 0))
        spent[run.task_id] = (cost + run.cost_usd, tokens + run.prompt_tokens)
    in_order = sorted(spent.items(), key=lambda one: (-one[1][0], -one[1][1], one[0]))
    return [(str(task), cost) for task, (cost, _) in in_order]


def mean(values: Iterable[float]) -> float | None:
    numbers = list(values)
    return ratio(sum(numbers), len(numbers))


def ratio(part: float, whole: float) -> float | None:
    return part / whole if whole else None
