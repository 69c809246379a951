"""Changing what a task is known by, and deleting it with all that came of it."""

from typing import Annotated

from django.db import transaction
from django.utils.translation import gettext as _
from pydantic import Field, JsonValue

from reflection_app.core.audit import Actor, audit
from reflection_app.core.errors import NotFound, TaskInUse
from reflection_app.core.json_sizes import at_most
from reflection_app.loops.values import Value
from reflection_app.runs.models import Run, RunState
from reflection_app.sessions.models import Reflector, Transcript
from reflection_app.tasks.external_ids import kept_apart
from reflection_app.tasks.models import Task
from reflection_app.tasks.submission import LARGEST_METADATA, OTHER_CALLS
from reflection_app.teams.retention import take_tasks


class TaskChange(Value):
    """Changes to a task. Omitted fields stay unchanged. Its runs continue as they began."""

    external_id: Annotated[str, Field(min_length=1, max_length=200)] | None = Field(
        default=None, description="null removes it"
    )
    metadata: Annotated[dict[str, JsonValue], at_most(LARGEST_METADATA)] = Field(
        default_factory=dict, description="all metadata; keys that are not named are removed"
    )


@transaction.atomic
def change_task(task: Task, change: TaskChange, *, actor: Actor) -> Task:
    """The changed task; where nothing changes nothing is written.

    Raises NotFound where it was deleted meanwhile, ExternalIdTaken where another has its new name and each is wanted
    once.
    """
    locked = Task.objects.select_for_update().filter(pk=task.pk).first()
    if locked is None:
        raise NotFound(_("This task was deleted in the meantime."))
    wanted = change.model_dump(mode="json", exclude_unset=True)
    before = {name: getattr(locked, name) for name in wanted}
    after = {name: value for name, value in wanted.items() if before[name] != value}
    if after:
        for name, value in after.items():
            setattr(locked, name, value)
        # Those of sessions and reported failures are of another kind, and never kept apart.
        renames = "external_id" in after and locked.mode not in OTHER_CALLS
        with kept_apart(locked.project, locked.external_id if renames else None) as unique_external_id:
            if renames:
                locked.unique_external_id = unique_external_id
            locked.save(update_fields=[*after, "unique_external_id"])
        old = {name: before[name] for name in after}
        audit(locked.project_id, actor, "task.changed", target=locked, before=old, after=after)
    return locked


@transaction.atomic
def delete_task(task: Task, *, actor: Actor) -> None:
    """The task is gone, with its runs, their reviews, tickets and reports, and what looked back at them.

    What they counted for in the metrics stays. Raises TaskInUse while a run of it is under way, and of the loops that
    belong to a session or to another task; NotFound the second time.
    """
    if not Task.objects.select_for_update().filter(pk=task.pk).exists():
        raise NotFound(_("Task not found."))
    if Transcript.objects.filter(run__task=task).exists() or Reflector.objects.filter(fork__task=task).exists():
        raise TaskInUse(
            _(
                "This task belongs to a session or reflects on another task, and is deleted together "
                "with it. Nothing was deleted."
            )
        )
    ended = Task.objects.filter(pk=task.pk).exclude(
        pk__in=Run.objects.exclude(state=RunState.FINISHED).filter(task=task).values("task")
    )
    before = {"title": task.title, "external_id": task.external_id, "agent": task.agent, "kind": task.kind}
    if not take_tasks(task.project_id, ended, most=1):
        raise TaskInUse(
            _("A run of this task is in progress. Nothing was deleted. Cancel the run or wait until it ends.")
        )
    audit(task.project_id, actor, "task.deleted", target=task, before=before)
