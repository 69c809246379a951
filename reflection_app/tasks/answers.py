"""Tasks as REST tells them, each with its newest run."""

from collections import defaultdict
from collections.abc import Sequence
from typing import Annotated
from uuid import UUID

from pydantic import AwareDatetime, BeforeValidator, Field, JsonValue

from reflection_app.api.reading import Answer, Money, PageAnswer
from reflection_app.loops.task_spec import Execution, Limits, Mode, ModelRole, ReviewDemand
from reflection_app.runs.answers import RunAnswer, RunWithNext, run_answers, run_with_next, runs_to_show
from reflection_app.runs.models import AgentLease, Run
from reflection_app.tasks.models import Task, TaskFile


class LimitsAnswer(Answer):
    """Limits of the task: its own, else those of the project."""

    max_iterations: int
    token_budget: int
    time_budget_s: float
    cost_budget_usd: Money | None


class TaskAnswer(Answer):
    """One objective as submitted, and its newest run."""

    id: UUID
    external_id: str | None
    objective: str
    kind: str
    mode: Mode = Field(description="the requested loop; the run names the one that was chosen")
    agent: str
    execution: Execution
    output_schema: dict[str, JsonValue] | None
    requirements: dict[str, JsonValue] | None = Field(description="the minimum requirements, as submitted")
    phase: str = Field(description="the agent's phase in its pipeline, as named by the pipeline")
    tools: list[str] = Field(description="names of the tools that the task may use")
    tool_call: dict[str, JsonValue] | None
    files: list[str] = Field(description="paths of the files submitted with the task")
    chain_of_thought: bool
    review: ReviewDemand = Field(description="`required`: its runs wait for a reviewer, whose decision ends them")
    models: dict[ModelRole, str] = Field(
        validation_alias="models_by_role",
        description="models that the task chose, by role; other roles use the project's model, or the actor's if "
        "none is configured",
    )
    limits: Annotated[LimitsAnswer, BeforeValidator(Limits.model_validate)]
    metadata: dict[str, JsonValue]
    created_at: AwareDatetime
    run: RunAnswer | None = Field(description="the newest run, including forks, which have a `parent_id`")


class WorkAnswer(Answer):
    """A task whose next attempt is yours to make. Submit it with the token; extend the lease with heartbeats."""

    task: TaskAnswer
    run: RunWithNext = Field(description="the claimed run; `next` is the attempt that it requests")
    lease_token: UUID
    lease_until: AwareDatetime


class HoldAnswer(Answer):
    """The new end of the lease."""

    lease_until: AwareDatetime


class TaskPage(PageAnswer):
    results: list[TaskAnswer]


class BatchAnswer(Answer):
    """The tasks in the order submitted."""

    results: list[TaskAnswer]


def task_answers(tasks: Sequence[Task]) -> list[TaskAnswer]:
    """The answers of `tasks`, with three queries more for all of them together."""
    newest = Run.objects.filter(task__in=tasks).order_by("task_id", "-created_at", "-id").distinct("task_id")
    by_task = {answer.task_id: answer for answer in run_answers(list(runs_to_show(newest)))}
    files: dict[UUID, list[str]] = defaultdict(list)
    for task_id, path in TaskFile.objects.filter(task__in=tasks).values_list("task_id", "path"):
        files[task_id].append(path)
    return [TaskAnswer.from_row(task, run=by_task.get(task.pk), files=files[task.pk]) for task in tasks]


def submitted_answers(runs: Sequence[Run]) -> list[TaskAnswer]:
    """The answers of tasks just handed in, by their first runs; nothing is read again."""
    answered = zip(runs, run_answers(runs), strict=True)
    return [TaskAnswer.from_row(run.task, run=answer, files=sorted(run.spec["file_names"])) for run, answer in answered]


def work_answer(lease: AgentLease) -> WorkAnswer:
    """What the agent that holds this run is to do."""
    run = runs_to_show(Run.objects.filter(pk=lease.run_id)).get()
    return WorkAnswer(
        task=task_answers([run.task])[0], run=run_with_next(run), lease_token=lease.token, lease_until=lease.until
    )
