"""Tasks, runs and attempts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, TypedDict, Unpack
from uuid import UUID

from reflection_desk.answers import Attachment, Attempt, Event, HandedIn, Hold, Page, Run, Task, TaskBatch, Work
from reflection_desk.call import Call, delete, get, patch, post, upload

# Maximum of `wait_s`; the server accepts up to 60 s.
LONGEST_WAIT_S = 30.0


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


# Default of fields where None means removal.
UNCHANGED: Final = _Unchanged.UNCHANGED
type Unchanged = Literal[_Unchanged.UNCHANGED]
# Types of responses without a body.
WORK_OR_NONE: Any = Work | None
NOTHING: Any = type(None)


class TaskFields(TypedDict, total=False):
    """Optional fields of a task, as documented for `POST /tasks`. Fields of a newer server are accepted as well.

    `mode` is the loop, by default `adaptive`. `execution` is `managed`, where the server's models make the attempts, or
    `external`, where your agent does. `limits` has `max_iterations`, `token_budget`, `time_budget_s` and
    `cost_budget_usd`. `models` chooses a model by role.
    """

    mode: str | None
    kind: str | None
    agent: str | None
    external_id: str | None
    execution: str | None
    tests: Mapping[str, Any] | None
    output_schema: Mapping[str, Any] | None
    requirements: Mapping[str, Any] | None
    tools: Sequence[str] | None
    files: Sequence[Mapping[str, str]] | None
    review: str | None
    limits: Mapping[str, Any] | None
    models: Mapping[str, str] | None
    reflection: Mapping[str, Any] | None
    metadata: Mapping[str, Any] | None


def submit_task(objective: str, *, idempotency_key: str | None = None, **fields: Unpack[TaskFields]) -> Call[Task]:
    """Submit a task and return it with its first run, which starts at once.

    With `execution="external"` your agent makes the attempts: submit them with `hand_in_attempt`, or use `reflected` or
    `work_on`. With `review="required"` a reviewer's decision ends the run. Raises ExternalIdTaken if another task has
    this `external_id` and the project requires unique ones.
    """
    return post("tasks", Task, {"objective": objective, **fields}, idempotency_key=idempotency_key)


def submit_tasks(tasks: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Call[TaskBatch]:
    """Submit up to 500 tasks, each a dict of the fields of `submit_task`. If one is invalid, none is submitted."""
    return post("tasks/batch", TaskBatch, {"tasks": list(tasks)}, idempotency_key=idempotency_key)


def get_task(task_id: UUID | str) -> Call[Task]:
    """Return a task with its newest run. Raises NotFound."""
    return get(f"tasks/{task_id}", Task)


def change_task(
    task_id: UUID | str,
    *,
    external_id: str | Unchanged | None = UNCHANGED,
    metadata: Mapping[str, Any] | Unchanged = UNCHANGED,
) -> Call[Task]:
    """Change a task's external id or metadata and return the task. Omitted fields stay unchanged.

    An `external_id` of None removes it. `metadata` replaces all metadata.
    """
    given = {"external_id": external_id, "metadata": metadata}
    return patch(f"tasks/{task_id}", Task, {name: value for name, value in given.items() if value is not UNCHANGED})


def delete_task(task_id: UUID | str) -> Call[None]:
    """Delete a task with its runs and results. Raises Conflict while one of its runs is in progress.

    Needs the scope `admin`.
    """
    return delete(f"tasks/{task_id}")


class WorkFilters(TypedDict, total=False):
    """Filters of tasks and runs. For tasks, state, outcome, score and cost are those of the newest run.

    Times are datetimes with a time zone or ISO 8601. Scores are 0 to 100. `external_id` matches exactly.
    """

    external_id: str
    kind: str
    agent: str
    mode: str
    state: str
    outcome: str
    created_from: datetime | str
    created_before: datetime | str
    metadata_key: str
    metadata_value: str
    score_from: float
    score_below: float
    cost_from_usd: float
    cost_below_usd: float
    sort: str
    limit: int


class RunFilters(WorkFilters, total=False):
    """Filters of runs. `task` and `parent` are ids; `parent` selects the forks of that run."""

    task: UUID | str
    parent: UUID | str
    finished_from: datetime | str
    finished_before: datetime | str


def list_tasks(**filters: Unpack[WorkFilters]) -> Call[Page[Task]]:
    """Return a page of tasks. `sort` is `-created_at`, the default, or `created_at`."""
    return get("tasks", Page[Task], **filters)


def claim_task(
    *,
    agents: Sequence[str] | None = None,
    kinds: Sequence[str] | None = None,
    modes: Sequence[str] | None = None,
    holder: str | None = None,
    lease_s: float | None = None,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
) -> Call[Work | None]:
    """Claim a run that waits for an attempt, the oldest first. Returns None if there is none within `wait_s` seconds.

    Filter by `agents` and `kinds` of tasks and `modes` of runs. `holder` is a display name. The lease lasts `lease_s`
    seconds: extend it with `keep_run`, and submit the attempt with its `lease_token`. `work_on` does both. `wait_s` is
    at most 30.
    """
    body = {"agents": agents, "kinds": kinds, "modes": modes, "holder": holder, "lease_s": lease_s}
    wait_s = min(wait_s, LONGEST_WAIT_S)
    return post("tasks/claim", WORK_OR_NONE, body, idempotency_key=idempotency_key, wait_s=wait_s)


def keep_run(run_id: UUID | str, lease_token: UUID | str) -> Call[Hold]:
    """Extend the lease of a claimed run. Raises Conflict if the lease is lost or the run has ended."""
    return post(f"runs/{run_id}/heartbeat", Hold, {"lease_token": lease_token})


def release_run(run_id: UUID | str, lease_token: UUID | str, *, idempotency_key: str | None = None) -> Call[None]:
    """Release a claimed run for other agents. Raises Conflict if the lease is lost."""
    return post(f"runs/{run_id}/release", NOTHING, {"lease_token": lease_token}, idempotency_key=idempotency_key)


def get_run(run_id: UUID | str, *, wait_s: float = 0.0) -> Call[Run]:
    """Return a run. Raises NotFound.

    With `wait_s`, at most 30 seconds, the server responds once the run has finished or waits for a reviewer or agent.
    `wait_for_run` waits longer.
    """
    return get(f"runs/{run_id}", Run, wait_s=min(wait_s, LONGEST_WAIT_S))


def list_runs(**filters: Unpack[RunFilters]) -> Call[Page[Run]]:
    """Return a page of runs, newest first. `sort` is a field such as `-cost_usd` or `-finished_at`."""
    return get("runs", Page[Run], **filters)


def list_attempts(run_id: UUID | str, *, limit: int | None = None) -> Call[Page[Attempt]]:
    """Return a page of the run's attempts with their verdicts."""
    return get(f"runs/{run_id}/attempts", Page[Attempt], limit=limit)


def list_events(run_id: UUID | str, *, after: int = 0, wait_s: float = 0.0) -> Call[Page[Event]]:
    """Return a page of the run's events with a `seq` greater than `after`.

    With `wait_s`, at most 30 seconds, the server waits for a new event. `events` iterates over all of them.
    """
    return get(f"runs/{run_id}/events", Page[Event], wait_s=min(wait_s, LONGEST_WAIT_S), after=after)


class AttemptFields(TypedDict, total=False):
    """Optional fields of an attempt.

    `usage` has the spent `prompt_tokens`, `completion_tokens`, `cost_usd` and the `model`; it counts against the run's
    limits. `self_check` is the agent's own assessment.
    """

    artifacts: Sequence[Mapping[str, Any]] | None
    usage: Mapping[str, Any] | None
    self_check: Mapping[str, Any] | None
    repairs: Sequence[Mapping[str, Any]] | None


def hand_in_attempt(
    run_id: UUID | str,
    content: str,
    *,
    attempt: int | None = None,
    attachments: Sequence[UUID | str] | None = None,
    lease_token: UUID | str | None = None,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
    **fields: Unpack[AttemptFields],
) -> Call[HandedIn]:
    """Submit the attempt that a run waits for. Returns the run and the next attempt that it requests.

    With `wait_s`, at most 30 seconds, the server waits until the attempt is judged; `next` is None before that.
    `attempt` is its number: with it, the attempt is accepted only once and only if it is the requested one.
    `attachments` are ids from `upload_attachment`. `lease_token` is required for a claimed run. Raises Conflict if the
    run does not wait for this attempt, or if another agent holds it.
    """
    files = [{"type": "attachment", "id": one} for one in attachments or ()]
    body = {
        "content": [content, *files] if files else content,
        "attempt": attempt,
        "lease_token": lease_token,
        **fields,
    }
    wait_s = min(wait_s, LONGEST_WAIT_S)
    return post(f"runs/{run_id}/attempts", HandedIn, body, idempotency_key=idempotency_key, wait_s=wait_s)


def upload_attachment(content: bytes, *, name: str) -> Call[Attachment]:
    """Upload an image, audio or other file for an attempt. An unused file is deleted after a day."""
    return upload("attachments", Attachment, content, name=name)


def cancel_run(run_id: UUID | str, *, idempotency_key: str | None = None) -> Call[Run]:
    """Cancel a run and return it. Its attempts and verdicts remain."""
    return post(f"runs/{run_id}/cancel", Run, idempotency_key=idempotency_key)


def fork_run(
    run_id: UUID | str,
    *,
    from_step: int,
    result: Mapping[str, Any] | None = None,
    models: Mapping[str, str] | None = None,
    note: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Run]:
    """Start a new run that copies the steps before `from_step`, and return it.

    `result` corrects the result of that step; omitted fields stay as recorded. `models` chooses a model by role from
    that step on, among those that the project allows. `note` is the reason, for people to read. Raises Conflict if the
    run cannot be forked.
    """
    body = {"from_step": from_step, "result": result, "models": models, "note": note}
    return post(f"runs/{run_id}/fork", Run, body, idempotency_key=idempotency_key)
