"""Tasks, runs, attempts."""

from collections.abc import Mapping, Sequence
from datetime import datetime
from enum import Enum
from typing import Any, Final, Literal, TypedDict, Unpack
from uuid import UUID

from reflection_desk.answers import Attachment, Attempt, Event, HandedIn, Hold, Page, Run, Task, TaskBatch, Work
from reflection_desk.call import Call, delete, get, patch, post, upload

LONGEST_WAIT_S = 30.0


class _Unchanged(Enum):
    UNCHANGED = "unchanged"


# Left out of a change; None takes a thing away.
UNCHANGED: Final = _Unchanged.UNCHANGED
type Unchanged = Literal[_Unchanged.UNCHANGED]
# Answers that may be none.
WORK_OR_NONE: Any = Work | None
NOTHING: Any = type(None)


class TaskFields(TypedDict, total=False):
    """What may be said of a task besides its objective; fields that a newer server takes may be given as well."""

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
    """Submit a task; its first run starts at once. With `execution="external"` your agent makes the attempts.

    With `review="required"` the run waits for a reviewer before it ends, and ends by that decision.
    """
    return post("tasks", Task, {"objective": objective, **fields}, idempotency_key=idempotency_key)


def submit_tasks(tasks: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Call[TaskBatch]:
    """Hands in up to 500 tasks: all of them, or none where one cannot be read."""
    return post("tasks/batch", TaskBatch, {"tasks": list(tasks)}, idempotency_key=idempotency_key)


def get_task(task_id: UUID | str) -> Call[Task]:
    """The task with its newest run."""
    return get(f"tasks/{task_id}", Task)


def change_task(
    task_id: UUID | str,
    *,
    external_id: str | Unchanged | None = UNCHANGED,
    metadata: Mapping[str, Any] | Unchanged = UNCHANGED,
) -> Call[Task]:
    """Gives a task another name, or other metadata; what is left out stays. An `external_id` of None takes it away."""
    given = {"external_id": external_id, "metadata": metadata}
    return patch(f"tasks/{task_id}", Task, {name: value for name, value in given.items() if value is not UNCHANGED})


def delete_task(task_id: UUID | str) -> Call[None]:
    """Deletes a task with its runs and all that came of them; refused while one is under way."""
    return delete(f"tasks/{task_id}")


class WorkFilters(TypedDict, total=False):
    """What tasks and runs are looked for by; of a task, its newest run's state, outcome, score and cost."""

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
    task: UUID | str
    parent: UUID | str
    finished_from: datetime | str
    finished_before: datetime | str


def list_tasks(**filters: Unpack[WorkFilters]) -> Call[Page[Task]]:
    """Tasks, the newest first unless `sort` says otherwise: `-created_at`, `created_at`."""
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
    """The next attempt that such an agent is to make, held for it; None where there is none within `wait_s`.

    Hand it in with its `lease_token`, and hold it longer by `keep_run`; `work_on` does both.
    """
    body = {"agents": agents, "kinds": kinds, "modes": modes, "holder": holder, "lease_s": lease_s}
    wait_s = min(wait_s, LONGEST_WAIT_S)
    return post("tasks/claim", WORK_OR_NONE, body, idempotency_key=idempotency_key, wait_s=wait_s)


def keep_run(run_id: UUID | str, lease_token: UUID | str) -> Call[Hold]:
    """Holds a claimed run longer. Raises Conflict where it is another's by now."""
    return post(f"runs/{run_id}/heartbeat", Hold, {"lease_token": lease_token})


def release_run(run_id: UUID | str, lease_token: UUID | str, *, idempotency_key: str | None = None) -> Call[None]:
    """Gives a claimed run back, for the next agent that asks."""
    return post(f"runs/{run_id}/release", NOTHING, {"lease_token": lease_token}, idempotency_key=idempotency_key)


def get_run(run_id: UUID | str, *, wait_s: float = 0.0) -> Call[Run]:
    """The run. With `wait_s`, at most 30, the desk answers when it ends, waits for somebody, or time is up."""
    return get(f"runs/{run_id}", Run, wait_s=min(wait_s, LONGEST_WAIT_S))


def list_runs(**filters: Unpack[RunFilters]) -> Call[Page[Run]]:
    """Runs, the newest first unless `sort` says otherwise, such as `-cost_usd` or `-finished_at`."""
    return get("runs", Page[Run], **filters)


def list_attempts(run_id: UUID | str, *, limit: int | None = None) -> Call[Page[Attempt]]:
    """The run's attempts with the verdicts on them."""
    return get(f"runs/{run_id}/attempts", Page[Attempt], limit=limit)


def list_events(run_id: UUID | str, *, after: int = 0, wait_s: float = 0.0) -> Call[Page[Event]]:
    """The run's events after that number. With `wait_s`, the desk answers as soon as there is one."""
    return get(f"runs/{run_id}/events", Page[Event], wait_s=min(wait_s, LONGEST_WAIT_S), after=after)


class AttemptFields(TypedDict, total=False):
    """What may be said of an attempt besides its content."""

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
    """Your agent's next attempt. With `wait_s`, at most 30, the desk answers with what the loop says to it.

    `attachments` are the ids of files that were uploaded before.
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
    """Keeps a picture, a sound or another file for an attempt that is handed in within a day."""
    return upload("attachments", Attachment, content, name=name)


def cancel_run(run_id: UUID | str, *, idempotency_key: str | None = None) -> Call[Run]:
    """Ends the run; what it has so far stays."""
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
    """A new run that keeps the steps before `from_step`, optionally with that step's result as it should have been.

    From there on it has `models`, by role, of those that the project lets its tasks choose.
    """
    body = {"from_step": from_step, "result": result, "models": models, "note": note}
    return post(f"runs/{run_id}/fork", Run, body, idempotency_key=idempotency_key)
