"""Tasks, runs, attempts."""

from collections.abc import Mapping, Sequence
from typing import Any
from uuid import UUID

from reflection_desk.answers import Attempt, Event, HandedIn, Page, Run, Task, TaskBatch
from reflection_desk.call import Call, get, post

LONGEST_WAIT_S = 30.0


def submit_task(
    objective: str,
    *,
    mode: str | None = None,
    kind: str | None = None,
    agent: str | None = None,
    external_id: str | None = None,
    execution: str | None = None,
    tests: Mapping[str, Any] | None = None,
    output_schema: Mapping[str, Any] | None = None,
    requirements: Mapping[str, Any] | None = None,
    tools: Sequence[str] | None = None,
    files: Sequence[Mapping[str, str]] | None = None,
    limits: Mapping[str, Any] | None = None,
    reflection: Mapping[str, Any] | None = None,
    metadata: Mapping[str, Any] | None = None,
    idempotency_key: str | None = None,
    **more: Any,
) -> Call[Task]:
    """Hands in a task, whose first run begins at once. With `execution="external"` your agent makes the attempts."""
    body = {
        "objective": objective,
        "mode": mode,
        "kind": kind,
        "agent": agent,
        "external_id": external_id,
        "execution": execution,
        "tests": tests,
        "output_schema": output_schema,
        "requirements": requirements,
        "tools": tools,
        "files": files,
        "limits": limits,
        "reflection": reflection,
        "metadata": metadata,
        **more,
    }
    return post("tasks", Task, body, idempotency_key=idempotency_key)


def submit_tasks(tasks: Sequence[Mapping[str, Any]], *, idempotency_key: str | None = None) -> Call[TaskBatch]:
    """Hands in up to 500 tasks: all of them, or none where one cannot be read."""
    return post("tasks/batch", TaskBatch, {"tasks": list(tasks)}, idempotency_key=idempotency_key)


def get_task(task_id: UUID | str) -> Call[Task]:
    """The task with its newest run."""
    return get(f"tasks/{task_id}", Task)


def list_tasks(
    *, agent: str = "", external_id: str = "", kind: str = "", mode: str = "", limit: int | None = None
) -> Call[Page[Task]]:
    """Tasks, the newest first."""
    return get("tasks", Page[Task], agent=agent, external_id=external_id, kind=kind, mode=mode, limit=limit)


def get_run(run_id: UUID | str, *, wait_s: float = 0.0) -> Call[Run]:
    """The run. With `wait_s`, at most 30, the desk answers when it ends, waits for somebody, or time is up."""
    return get(f"runs/{run_id}", Run, wait_s=min(wait_s, LONGEST_WAIT_S))


def list_runs(
    *, task: UUID | str = "", state: str = "", outcome: str = "", mode: str = "", limit: int | None = None
) -> Call[Page[Run]]:
    """Runs, the newest first."""
    return get("runs", Page[Run], task=task, state=state, outcome=outcome, mode=mode, limit=limit)


def list_attempts(run_id: UUID | str, *, limit: int | None = None) -> Call[Page[Attempt]]:
    """The run's attempts with the verdicts on them."""
    return get(f"runs/{run_id}/attempts", Page[Attempt], limit=limit)


def list_events(run_id: UUID | str, *, after: int = 0, wait_s: float = 0.0) -> Call[Page[Event]]:
    """The run's events after that number. With `wait_s`, the desk answers as soon as there is one."""
    return get(f"runs/{run_id}/events", Page[Event], wait_s=min(wait_s, LONGEST_WAIT_S), after=after)


def hand_in_attempt(
    run_id: UUID | str,
    content: str,
    *,
    attempt: int | None = None,
    artifacts: Sequence[Mapping[str, Any]] | None = None,
    usage: Mapping[str, Any] | None = None,
    self_check: Mapping[str, Any] | None = None,
    repairs: Sequence[Mapping[str, Any]] | None = None,
    wait_s: float = 0.0,
    idempotency_key: str | None = None,
) -> Call[HandedIn]:
    """Your agent's next attempt. With `wait_s`, at most 30, the desk answers with what the loop says to it."""
    body = {
        "content": content,
        "attempt": attempt,
        "artifacts": artifacts,
        "usage": usage,
        "self_check": self_check,
        "repairs": repairs,
    }
    wait_s = min(wait_s, LONGEST_WAIT_S)
    return post(f"runs/{run_id}/attempts", HandedIn, body, idempotency_key=idempotency_key, wait_s=wait_s)


def cancel_run(run_id: UUID | str, *, idempotency_key: str | None = None) -> Call[Run]:
    """Ends the run; what it has so far stays."""
    return post(f"runs/{run_id}/cancel", Run, idempotency_key=idempotency_key)


def fork_run(
    run_id: UUID | str,
    *,
    from_step: int,
    result: Mapping[str, Any] | None = None,
    note: str | None = None,
    idempotency_key: str | None = None,
) -> Call[Run]:
    """A new run that keeps the steps before `from_step`, optionally with that step's result as it should have been."""
    body = {"from_step": from_step, "result": result, "note": note}
    return post(f"runs/{run_id}/fork", Run, body, idempotency_key=idempotency_key)
